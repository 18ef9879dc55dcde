"""The orders that the sources take, over a unix socket: JSON in, JSON out."""

import datetime
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from aiohttp import web

from firstlight import errors
from firstlight.lab.sources import (
    chart_repositories,
    control_messages,
    declarations,
    oci_artifacts,
    push_webhooks,
    source_names,
)
from firstlight.lab.sources.declarations import SealedAccess
from firstlight.lab.sources.git_repositories import RefUpdate
from firstlight.lab.sources.source_services import SourceServices

T = TypeVar("T", bound=control_messages.ControlRequest)
LIMIT = 512 << 20
"""Bytes of a wish."""


class SourcesControl:
    """The requests, and what each means."""

    def __init__(self, world: SourceServices) -> None:
        self._world = world

    def app(self) -> web.Application:
        """What listens."""
        app = web.Application(middlewares=[_answer_for_errors], client_max_size=LIMIT)
        app.router.add_get("/status", self._get_status)
        app.router.add_get("/git", self._get_git)
        app.router.add_get("/git/deliveries", self._get_deliveries)
        app.router.add_get("/registry", self._get_registry)
        app.router.add_get("/charts", self._get_charts)
        app.router.add_get("/faults", self._get_faults)
        app.router.add_delete("/faults", self._delete_faults)
        app.router.add_delete("/faults/{fault}", self._delete_faults)
        app.router.add_post("/git/create", _wish(control_messages.CreateGit, self._create_git))
        app.router.add_post("/git/delete", _wish(control_messages.RepositoryRequest, self._delete_git))
        app.router.add_post("/git/webhooks", _wish(control_messages.SetWebhooks, self._set_webhooks))
        app.router.add_post("/git/commit", _wish(control_messages.CommitRequest, self._commit))
        app.router.add_post("/git/tag", _wish(control_messages.TagRequest, self._tag))
        app.router.add_post("/registry/access", _wish(control_messages.SetAccess, self._set_oci_access))
        app.router.add_post("/registry/access/clear", _wish(control_messages.RepositoryRequest, self._clear_oci_access))
        app.router.add_post("/registry/delete", _wish(control_messages.RepositoryRequest, self._delete_oci))
        app.router.add_post("/registry/chart", _wish(control_messages.PushChart, self._push_oci_chart))
        app.router.add_post("/registry/artifact", _wish(control_messages.PushArtifact, self._push_artifact))
        app.router.add_post("/charts/create", _wish(control_messages.CreateCharts, self._create_charts))
        app.router.add_post("/charts/delete", _wish(control_messages.RepositoryRequest, self._delete_charts))
        app.router.add_post("/charts/push", _wish(control_messages.PushChart, self._push_chart))
        app.router.add_post("/faults", _wish(control_messages.FaultRequest, self._add_fault))
        return app

    async def _get_status(self, request: web.Request) -> web.Response:
        world = self._world
        return _json(
            control_messages.SourcesStatus(
                os.getpid(), world.address, world.git_url(""), world.registry_host, world.charts_url("")
            )
        )

    # -- Git

    async def _get_git(self, request: web.Request) -> web.Response:
        found = [await self._git(name) for name in sorted(self._world.declared.git)]
        return _json(control_messages.GitRepositoryList(tuple(found)))

    async def _git(self, name: str) -> control_messages.GitRepository:
        repositories = self._world.repositories
        known = repositories.get(name)
        return control_messages.GitRepository(
            name, self._world.git_url(name) + ".git", known.branch, repositories.exists(name), _who(known.access),
            tuple(each.url for each in known.webhooks), await repositories.refs(name),
        )  # fmt: skip

    async def _create_git(self, wish: control_messages.CreateGit) -> control_messages.ControlAnswer:
        name = self._world.repositories.declare(wish.name, _sealed(wish.access), branch=wish.branch)
        if not wish.on_push:
            await self._world.repositories.make(name)
        return await self._git(name)

    async def _delete_git(self, wish: control_messages.RepositoryRequest) -> control_messages.ControlAnswer:
        self._world.repositories.delete(source_names.git_name(wish.name))
        return control_messages.ControlAnswer()

    async def _set_webhooks(self, wish: control_messages.SetWebhooks) -> control_messages.ControlAnswer:
        name = source_names.git_name(wish.name)
        known = self._world.repositories.get(name)
        for each in wish.webhooks:
            push_webhooks.check_webhook(each)
        self._world.declared.git[name] = msgspec.structs.replace(known, webhooks=wish.webhooks)
        self._world.declared.save()
        return control_messages.ControlAnswer()

    async def _get_deliveries(self, request: web.Request) -> web.Response:
        return _json(control_messages.DeliveryList(self._world.webhooks.log()))

    async def _commit(self, wish: control_messages.CommitRequest) -> control_messages.ControlAnswer:
        name = await self._made(wish.name)
        moved = await self._world.commits.commit(
            name, wish.files, branch=wish.branch, message=wish.message, replace=wish.replace
        )
        return await self._moved(name, moved)

    async def _tag(self, wish: control_messages.TagRequest) -> control_messages.ControlAnswer:
        name = await self._made(wish.name)
        return await self._moved(name, await self._world.commits.tag(name, wish.tag, wish.target))

    async def _made(self, name: str) -> str:
        name = source_names.git_name(name)
        self._world.repositories.get(name)
        await self._world.repositories.make(name)
        return name

    async def _moved(self, name: str, update: RefUpdate) -> control_messages.MovedRef:
        is_changed = update.before != update.after
        if is_changed:
            await self._world.notify(name, (update,), "")
        return control_messages.MovedRef(update.ref, update.before, update.after, is_changed)

    # -- the registry

    async def _get_registry(self, request: web.Request) -> web.Response:
        store, declared = self._world.store, self._world.declared
        found = []
        for name in store.repositories():
            tags = {tag: stored.digest for tag in store.tags(name) if (stored := store.manifest(name, tag)) is not None}
            found.append(control_messages.OciRepository(name, _who(declared.oci(name)), tags))
        rules = {prefix: _who(sealed) for prefix, sealed in sorted(declared.registry.items())}
        return _json(control_messages.OciRepositoryList(tuple(found), rules))

    async def _set_oci_access(self, wish: control_messages.SetAccess) -> control_messages.ControlAnswer:
        prefix = source_names.oci_name(wish.name) if wish.name else ""
        self._world.declared.registry[prefix] = declarations.seal(wish.access)
        self._world.declared.save()
        return control_messages.ControlAnswer()

    async def _clear_oci_access(self, wish: control_messages.RepositoryRequest) -> control_messages.ControlAnswer:
        if self._world.declared.registry.pop(wish.name, None) is None:
            raise errors.UsageError(f"nothing is said of who may use {wish.name!r}")
        self._world.declared.save()
        return control_messages.ControlAnswer()

    async def _delete_oci(self, wish: control_messages.RepositoryRequest) -> control_messages.ControlAnswer:
        if not self._world.store.delete_repository(source_names.oci_name(wish.name)):
            raise errors.UsageError(f"no repository {wish.name!r} in the registry")
        return control_messages.ControlAnswer()

    async def _push_oci_chart(self, wish: control_messages.PushChart) -> control_messages.ControlAnswer:
        try:
            metadata = chart_repositories.chart_metadata(wish.archive)
        except chart_repositories.NotAChartError as error:
            raise errors.UsageError(f"this is no chart: {error}") from error
        name = source_names.oci_name(f"{wish.name}/{metadata['name']}" if wish.name else metadata["name"])
        tag = oci_artifacts.helm_tag(metadata["version"])
        there = self._world.store.manifest(name, tag)
        if there is not None and not wish.force:
            layers = oci_artifacts.parse_manifest(there.content, there.media_type).layers
            if [each.digest for each in layers] == [oci_artifacts.content_digest(wish.archive)]:
                return control_messages.PushedArtifact(name, self._oci_url(name, tag), tag, there.digest)
            raise errors.UsageError(f"{name} has {tag} already, with other content")
        return self._store(name, (tag,), oci_artifacts.helm_artifact(wish.archive, metadata, created=_now()))

    async def _push_artifact(self, wish: control_messages.PushArtifact) -> control_messages.ControlAnswer:
        name = source_names.oci_name(wish.name)
        tags = tuple(source_names.tag_name(tag) for tag in wish.tags)
        if not tags:
            raise errors.UsageError("an artifact needs a tag")
        for path in wish.files:
            source_names.file_path(path)
        made = oci_artifacts.flux_artifact(
            wish.files, created=wish.created or _now(), source=wish.source, revision=wish.revision,
            annotations=wish.annotations,
        )  # fmt: skip
        return self._store(name, tags, made)

    def _store(
        self, name: str, tags: tuple[str, ...], made: oci_artifacts.OciArtifact
    ) -> control_messages.PushedArtifact:
        for content in (made.config, made.layer):
            self._world.store.add_blob(name, content)
        for tag in tags:
            digest = self._world.store.put_manifest(name, made.manifest, oci_artifacts.OCI_MANIFEST, tag=tag)
        return control_messages.PushedArtifact(name, self._oci_url(name, tags[0]), tags[0], digest)

    def _oci_url(self, name: str, tag: str) -> str:
        return f"oci://{self._world.registry_host}/{name}:{tag}"

    # -- Helm repositories

    async def _get_charts(self, request: web.Request) -> web.Response:
        return _json(
            control_messages.ChartRepositoryList(
                tuple(self._charts(name) for name in sorted(self._world.declared.charts))
            )
        )

    def _charts(self, name: str) -> control_messages.ChartRepository:
        who = _who(self._world.declared.charts[name])
        return control_messages.ChartRepository(
            name, self._world.charts_url(name), who, self._world.charts.charts(name)
        )

    async def _create_charts(self, wish: control_messages.CreateCharts) -> control_messages.ControlAnswer:
        self._world.charts.make(wish.name, _sealed(wish.access))
        return self._charts(wish.name)

    async def _delete_charts(self, wish: control_messages.RepositoryRequest) -> control_messages.ControlAnswer:
        self._world.charts.delete(wish.name)
        self._world.indexes.forget(self._world.charts.path(wish.name))
        return control_messages.ControlAnswer()

    async def _push_chart(self, wish: control_messages.PushChart) -> control_messages.ControlAnswer:
        chart, version = self._world.charts.add(wish.name, wish.archive, force=wish.force)
        url = f"{self._world.charts_url(wish.name)}/{chart}-{version}.tgz"
        return control_messages.PushedArtifact(wish.name, url, version, oci_artifacts.content_digest(wish.archive))

    # -- faults

    async def _get_faults(self, request: web.Request) -> web.Response:
        return _json(control_messages.FaultList(self._world.faults.active()))

    async def _add_fault(self, wish: control_messages.FaultRequest) -> msgspec.Struct:
        if not 0 <= wish.seconds <= 86400:
            raise errors.UsageError("a fault lasts between 0 and 86400 seconds")
        named = wish.repository.removesuffix(".git") if wish.server == "git" else wish.repository
        return self._world.faults.add(wish.kind, wish.server, repository=named.strip("/"), seconds=wish.seconds)

    async def _delete_faults(self, request: web.Request) -> web.Response:
        name = request.match_info.get("fault", "")
        if name and all(each.id != name for each in self._world.faults.active()):
            raise errors.UsageError(f"no fault {name!r} is in force")
        self._world.faults.clear(name)
        return _json(control_messages.ControlAnswer())


def _wish(
    kind: type[T], grant: Callable[[T], Awaitable[msgspec.Struct]]
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        return _json(await grant(msgspec.json.decode(await request.read(), type=kind)))

    return handle


@web.middleware
async def _answer_for_errors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    try:
        return await handler(request)
    except errors.UsageError as error:
        return _refused(400, f"{error.message}. {error.hint}" if error.hint else error.message)
    except msgspec.MsgspecError as error:
        return _refused(400, f"this cannot be understood: {error}")
    except (errors.FirstlightError, OSError) as error:
        return _refused(500, str(error))


def _sealed(given: declarations.Access | None) -> SealedAccess | None:
    return None if given is None else declarations.seal(given)


def _who(sealed: SealedAccess) -> control_messages.AccessSummary:
    users: dict[str, declarations.Level] = {}
    for each in sealed.seals:
        users[each.user] = "write" if users.get(each.user) == "write" else each.level
    return control_messages.AccessSummary(sealed.anonymous, users)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _json(value: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


def _refused(code: int, message: str) -> web.Response:
    return web.Response(status=code, body=msgspec.json.encode({"error": message}), content_type="application/json")

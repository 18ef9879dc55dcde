"""Objects applied as their final owner; what is equal already is not written."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import enum
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import helm as clients_helm
from firstlight.clients import kube
from firstlight.engines import engine_marks
from firstlight.engines.adapter import EngineMark
from firstlight.execute import lease
from firstlight.execute.apply import helm_storage, object_survey
from firstlight.execute.apply.helm_storage import HelmRevision
from firstlight.execute.apply.object_survey import ObjectDifference, survey
from firstlight.execute.apply.server_side_apply import apply
from firstlight.execute.world import PendingChange, World
from firstlight.model import flux_names, helm_names, work
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.observe.live_objects import observe_objects
from firstlight.ownership import claims


async def look_apply(task: work.Apply, world: World, step: str) -> PendingChange | None:
    """What of the objects is missing or differs.

    Raises:
        errors.Refused: Somebody else owns a field, or a live CRD would be downgraded.
        errors.ClientError: The API does not answer.
    """
    found = await survey(task.objects, world.kube, manager=task.manager, managers=task.managers, once=task.once)
    changes = writable(found, world, step)
    object_survey.check_refusals(changes)
    if not changes:
        return None

    async def perform() -> None:
        await apply(changes, world.kube, tell=lambda text: world.tell(step, text))

    return PendingChange(writes=tuple(each.sentence for each in changes), perform=perform)


def writable(found: list[ObjectDifference], world: World, step: str) -> list[ObjectDifference]:
    """Differences without those of an engine, which are told of instead."""
    for each in found:
        if each.left:
            world.tell(step, each.left)
    return [each for each in found if each.mark is None]


# Helm releases installed by Helm itself, and the plain objects beside them.
#
# Whether there is anything to do is found without Helm: the release is deployed, from the same chart with the same
# values, and its objects are as Helm left them. A release that an engine has taken over, or an object of which, is only
# read: Helm would write over it, and delete what the new chart does not have.


_HELM_RELEASE = (flux_names.HELM_API, flux_names.HELM_RELEASE)


class _What(enum.Enum):
    INSTALL = "install"
    UPGRADE = "upgrade"
    REPAIR = "repair"


@dataclasses.dataclass(frozen=True, slots=True)
class _Todo:
    release: work.Installation
    what: _What
    why: str = ""
    kept: HelmRevision | None = None

    @property
    def title(self) -> str:
        return f"{self.release.namespace}/{self.release.name}"

    @property
    def writes(self) -> list[str]:
        chart = f"release {self.title}, version {self.release.version}"
        if self.what == _What.INSTALL:
            return [f"install the {chart}"]
        if self.what == _What.UPGRADE or self.kept is None:
            return [f"upgrade the {chart}: {self.why}"]
        lost = f"remove revision {self.kept.revision} of release {self.title}, which was left {self.kept.status}"
        return [lost, f"{'upgrade' if self.kept.revision > 1 else 'install'} the {chart}"]


async def look_install(task: work.Install, world: World, step: str) -> PendingChange | None:
    """What of the releases and of the objects beside them is missing or differs.

    Raises:
        errors.Refused: Somebody else is at work on a release, or owns a field.
        errors.ClientError: The API does not answer.
    """
    owned = await _helm_releases(world.kube) if task.releases else ()
    found = await asyncio.gather(*(_judge(each, task, owned, world, step) for each in task.releases))
    todo = [each for each in found if each is not None]
    differences = await survey(task.beside, world.kube, manager=task.manager, managers=task.managers)
    beside = writable(differences, world, step)
    object_survey.check_refusals(beside)
    if not todo and not beside:
        return None

    async def perform() -> None:
        def tell(text: str) -> None:
            world.tell(step, text)

        before = [each for each in beside if object_survey.is_early(each)]
        await apply(before, world.kube, tell=tell)
        for each in todo:
            # An engine may have taken it since, and nothing keeps Helm from writing over that or deleting it.
            now = await _judge(each.release, task, await _helm_releases(world.kube), world, step)
            if now is not None:
                await _perform(now, world, step)
        await apply([each for each in beside if each not in before], world.kube, tell=tell)

    writes = [*(text for each in todo for text in each.writes), *(each.sentence for each in beside)]
    return PendingChange(writes=tuple(writes), perform=perform)


async def _helm_releases(client: kube.Client) -> Sequence[Mapping[str, Any]]:
    try:
        return (await client.list(*_HELM_RELEASE)).items
    except kube.UnknownKind:
        return ()


async def _judge(
    release: work.Installation, task: work.Install, owned: Sequence[Mapping[str, Any]], world: World, step: str
) -> _Todo | None:
    """What is to be done for a release; what an engine has of it, or all of it, is only read."""
    name, namespace = release.name, release.namespace
    kept = await helm_storage.last(world.kube, name, namespace)
    mark = engine_marks.release_of(owned, name=name, namespace=namespace, is_kept=task.is_kept)
    if mark is None:
        todo = await _wanted(release, kept, world, step)
        if todo is None:
            return None
        mark = await adopter(release, kept, task, world.kube)
        if mark is None:
            return todo
    elif kept is not None and kept.status == "deployed" and _is_same(release, kept):
        return None
    differs = f"the release {namespace}/{name} differs from the repo"
    world.tell(step, f"{differs}; it is left to {mark.engine}: {mark.owner}")
    return None


async def _wanted(release: work.Installation, kept: HelmRevision | None, world: World, step: str) -> _Todo | None:
    title = f"{release.namespace}/{release.name}"
    if kept is None:
        return _Todo(release, _What.INSTALL)
    if kept.is_pending:
        return _Todo(release, _What.REPAIR, kept=_repairable(release, kept, run=world.run))
    if kept.status == "uninstalled":
        selector = f"{helm_names.RELEASE_SECRET_SELECTOR},name={release.name}"
        forget = f"kubectl delete secret -n {release.namespace} -l {selector} forgets it"
        raise errors.Refused(
            f"the release {title} was uninstalled by somebody who kept its history", hint=f"was that meant? {forget}"
        )
    if kept.status != "deployed":
        return _Todo(release, _What.UPGRADE, f"it is {kept.status}", kept)
    if release.once:
        return None
    if not _is_same(release, kept):
        return _Todo(release, _What.UPGRADE, _difference(release, kept), kept)
    return await _drifted(release, kept, world, step)


async def _drifted(release: work.Installation, kept: HelmRevision, world: World, step: str) -> _Todo | None:
    """Whether the objects are not as Helm left them; who owns their fields is for the handover."""
    objects = kept.objects(release.name, release.namespace)
    found = await survey(
        objects, world.kube, manager=helm_names.FIELD_MANAGER, owners_count=False, namespace=release.namespace
    )
    changed = writable(found, world, step)
    object_survey.check_refusals(changed)  # a CRD among them may be newer than the chart's
    if not changed:
        return None
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return _Todo(release, _What.UPGRADE, f"{changed[0].sentence}{more}", kept)


def _is_same(release: work.Installation, kept: HelmRevision) -> bool:
    return not _difference(release, kept)


def _difference(release: work.Installation, kept: HelmRevision) -> str:
    if kept.version != release.version:
        return f"it is {kept.version}"
    if not helm_storage.same_values(release.values, kept):
        return "its values differ"
    return "" if helm_storage.same_chart(release.chart, kept, digest=release.digest) else "its chart differs"


def _repairable(release: work.Installation, kept: HelmRevision, *, run: str) -> HelmRevision:
    """A release that was left pending, if nobody can be at work on it any more.

    Raises:
        errors.Refused: Somebody may be.
    """
    title = f"{release.namespace}/{release.name}"
    if kept.status == "uninstalling":
        raise errors.Refused(f"the release {title} is being uninstalled", hint="run again when that is over")
    age = time.time() - kept.updated.timestamp() if kept.updated is not None else 0.0
    # Our own Helm was waited for, and one of a bootstrap that is dead died with it.
    is_left = kept.maker == lease.holder_name(run) or lease.is_holder_dead(kept.maker)
    if is_left or age > release.options.timeout:
        return kept
    raise errors.Refused(
        f"the release {title} is {kept.status} for {max(age, 0):.0f} s, by somebody else",
        hint=f"run again when that is over; after {release.options.timeout:.0f} s it counts as left, and is repaired",
    )


async def _perform(todo: _Todo, world: World, step: str) -> None:
    release = todo.release
    helm = helm_of(world)
    before = todo.kept
    if todo.what == _What.REPAIR and before is not None:
        # The lease is ours now; only the very revision that was looked at goes, and nothing that it made.
        await world.kube.delete(
            "v1", "Secret", before.secret, namespace=release.namespace, uid=before.uid,
            resource_version=before.resource_version,
        )  # fmt: skip
        before = await helm_storage.last(world.kube, release.name, release.namespace)
    world.tell(step, f"helm {'installs' if before is None else 'upgrades'} {todo.title}")
    marks = helm_storage.labels(
        holder=lease.holder_name(world.run), revision=before.revision + 1 if before else 1, digest=release.digest
    )
    labels = {**release.options.labels, **marks}
    options = dataclasses.replace(
        release.options, labels=labels, no_hooks=release.options.no_hooks or release.hooks_disabled
    )
    write = helm.install if before is None else helm.upgrade
    await write(release.name, release.chart, namespace=release.namespace, values=[release.values], options=options)


def helm_of(world: World) -> clients_helm.Helm:
    """Helm, for the cluster of a run.

    Raises:
        errors.ToolError: It is not there.
    """
    if world.programs.helm is None:
        raise errors.ToolError("helm is not there", hint="firstlight tools install helm")
    return clients_helm.Helm(world.programs.helm, kubeconfig=_kubeconfig(world.kube.config))


def _kubeconfig(config: kube.ClientConfig) -> Secret:
    """A kubeconfig with which Helm reaches the same API in the same way."""
    cluster: dict[str, Any] = {"server": config.server}
    user: dict[str, Any] = {}
    if config.certificate_authority:
        cluster["certificate-authority-data"] = base64.b64encode(config.certificate_authority).decode()
    if config.insecure:
        cluster["insecure-skip-tls-verify"] = True
    if config.server_name:
        cluster["tls-server-name"] = config.server_name
    if config.client_certificate and config.client_key is not None:
        user["client-certificate-data"] = base64.b64encode(config.client_certificate).decode()
        user["client-key-data"] = base64.b64encode(config.client_key.reveal()).decode()
    if config.token is not None:
        user["token"] = config.token.reveal().decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }
    return Secret(msgspec.json.encode(document))


# Whether an engine has taken over what Helm would write or delete.


_SHARED = ("CustomResourceDefinition", "Namespace")


async def adopter(
    release: work.Installation, kept: HelmRevision | None, task: work.Install, client: kube.Client
) -> EngineMark | None:
    """The engine's mark on an object of a release, as it is or as it is to be; None if no object has one.

    Args:
        release: What Helm is to write.
        kept: Its last revision.
        task: Which it is of: only of all releases together is it known what they will bring.
        client: The API.

    Raises:
        errors.ClientError: The server does not say.
    """
    name, namespace = release.name, release.namespace
    apart = {_key(each, namespace) for each in task.beside}
    for other in task.releases:
        if other is not release and (theirs := await helm_storage.last(client, other.name, other.namespace)):
            apart |= {_key(each, other.namespace) for each in theirs.objects(other.name, other.namespace)}
    # CRDs come before everything, and from elsewhere; a namespace may well be Git's before what goes into it.
    wanted = {_key(each, namespace): each for each in task.objects if _counts(each, task)}
    objects = {key: each for key, each in wanted.items() if key not in apart}
    revisions = [kept] if kept is not None else []
    if kept is not None and kept.status != "deployed":
        # Helm goes on from the last revision that was deployed, and deletes what is no more of that.
        deployed = await helm_storage.last(client, name, namespace, status="deployed")
        revisions += [deployed] if deployed is not None else []
    for revision in revisions:
        objects |= {_key(each, namespace): each for each in revision.objects(name, namespace)}
    for seen in await observe_objects(objects.values(), client, namespace=namespace):
        # As Argo CD's manager bootstrap applies nothing of a release: so all that is that manager's is Argo CD's.
        if seen.live is not None and (mark := engine_marks.of(seen.live)):
            return mark
    return None


def _counts(obj: Object, task: work.Install) -> bool:
    """Whether an object tells whose a release is: what is shared does not, nor what an engine's hook has left."""
    return obj.id.kind not in _SHARED and not (task.is_kept and claims.is_hook(obj.value))


def _key(obj: Object, namespace: str) -> ObjectId:
    """An object, whether or not it names the namespace that it goes to anyway."""
    id = obj.id
    return ObjectId(id.group, id.kind, id.namespace or namespace, id.name)

"""What a server serves: apiVersion and kind in, path and verbs out.

Aggregated discovery takes two requests, and their ETags make a later look cheap. A server that does not
speak it is asked group by group. The parsing is pure; ``Discovery`` keeps the last catalog and looks again
when a kind is unknown, since its CustomResourceDefinition may be new.
"""

import asyncio
import dataclasses
import difflib
import urllib.parse
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

from firstlight import errors
from firstlight.clients.kube import kube_errors

ACCEPT = ",".join(
    (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        "application/json",
    )
)


@dataclasses.dataclass(frozen=True)
class ApiResource:
    """How a kind is served."""

    group: str
    version: str
    kind: str
    plural: str
    is_namespaced: bool
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        """As objects write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Where it is served.

        Raises:
            errors.ClientError: A part cannot be one of a path; it may come from somebody else's file.
        """
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.is_namespaced and namespace:
            parts += ["namespaces", _segment(namespace)]
        parts.append(self.plural)
        if name:
            parts.append(_segment(name))
        if subresource:
            parts += [_segment(part) for part in subresource.split("/")]
        return "/" + "/".join(parts)


@dataclasses.dataclass(frozen=True)
class ApiCatalog:
    """All that a server serves."""

    resources: Mapping[tuple[str, str], ApiResource]
    """By apiVersion and kind."""
    preferred: Mapping[str, str]
    """The preferred version of each group."""
    stale: frozenset[str] = frozenset()
    """The apiVersions whose server does not answer: what is known of them may be old."""

    def nearest(self, api_version: str, kind: str) -> tuple[str, ...]:
        """Names that may have been meant: the same kind elsewhere, then kinds of a similar name."""
        same = [resource for resource in self.resources.values() if resource.kind == kind]
        kinds = {resource.kind for resource in self.resources.values()} - {kind}
        close = difflib.get_close_matches(kind, sorted(kinds), n=3, cutoff=0.75)
        similar = [resource for name in close for resource in self.resources.values() if resource.kind == name]
        group = api_version.rpartition("/")[0]
        same.sort(key=lambda resource: (resource.group != group, resource.api_version))
        return tuple(dict.fromkeys(f"{resource.api_version} {resource.kind}" for resource in (*same, *similar)))[:5]


class DiscoveryResponse(Protocol):
    """What a fetch gives back."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""

    @property
    def document(self) -> Any:
        """The decoded body."""


Fetch = Callable[[str, Mapping[str, str]], Awaitable[DiscoveryResponse]]
"""GET of a path with headers; raises for 400 and more."""


class Discovery:
    """The catalog of one server, fetched when it is first needed."""

    def __init__(self, fetch: Fetch, *, server: str) -> None:
        self._fetch = fetch
        self._server = server
        self._catalog: ApiCatalog | None = None
        self._is_outdated = False
        self._cached: dict[str, tuple[str, Any]] = {}
        self._lock = asyncio.Lock()

    async def catalog(self) -> ApiCatalog:
        """What is served, as last seen."""
        if self._catalog is None or self._is_outdated:
            return await self.refresh(seen=self._catalog)
        return self._catalog

    async def refresh(self, *, seen: ApiCatalog | None) -> ApiCatalog:
        """Look again, unless somebody else has done so since ``seen``."""
        async with self._lock:
            if self._catalog is None or self._catalog is seen:
                core, groups = await asyncio.gather(self._get("/api"), self._get("/apis"))
                if _is_aggregated(core) and _is_aggregated(groups):
                    found = parse_aggregated([*core["items"], *groups["items"]])
                else:
                    found = await self._ask_each(core, groups)
                self._catalog = keep_stale(found, self._catalog)
                self._is_outdated = False
            return self._catalog

    async def find(self, api_version: str, kind: str) -> ApiResource:
        """How a kind is served.

        Raises:
            kube_errors.UnknownKind: It is not, also after a second look.
        """
        catalog = await self.catalog()
        resource = catalog.resources.get((api_version, kind))
        if resource is None:
            catalog = await self.refresh(seen=catalog)
            resource = catalog.resources.get((api_version, kind))
        if resource is None:
            raise kube_errors.UnknownKind(
                api_version,
                kind,
                server=self._server,
                nearest=catalog.nearest(api_version, kind),
                stale=api_version in catalog.stale,
            )
        return resource

    def forget(self) -> None:
        """Look again next time: a path that was discovered is gone."""
        self._is_outdated = True

    async def _get(self, path: str) -> Any:
        etag, document = self._cached.get(path, ("", None))
        headers = {"Accept": ACCEPT} | ({"If-None-Match": etag} if etag else {})
        answer = await self._fetch(path, headers)
        if answer.status == 304:
            return document
        if not isinstance(answer.document, dict):
            raise errors.ClientError(
                f"{self._server}{path} answers no discovery: is it an API server?", target=self._server
            )
        self._cached[path] = (answer.headers.get("ETag", ""), answer.document)
        return answer.document

    async def _ask_each(self, core: Any, groups: Any) -> ApiCatalog:
        """One request per version of a group; one that fails is stale."""
        versions = legacy_versions(core, groups)

        async def ask(path: str) -> Any:
            try:
                return (await self._fetch(path, {"Accept": "application/json"})).document
            except (kube_errors.ServerError, kube_errors.NotFound):
                return None

        documents = await asyncio.gather(*(ask(path) for path in versions.values()))
        return parse_legacy(dict(zip(versions, documents, strict=True)), groups)


def parse_aggregated(items: Iterable[Mapping[str, Any]]) -> ApiCatalog:
    """The catalog from the items of two ``APIGroupDiscoveryList``."""
    resources: dict[tuple[str, str], ApiResource] = {}
    preferred: dict[str, str] = {}
    stale: set[str] = set()
    for item in items:
        group = (item.get("metadata") or {}).get("name") or ""
        for entry in item.get("versions") or ():
            version = entry["version"]
            preferred.setdefault(group, version)
            if entry.get("freshness") == "Stale":
                stale.add(f"{group}/{version}" if group else version)
            for served in entry.get("resources") or ():
                kind = (served.get("responseKind") or {}).get("kind")
                if not kind:
                    continue
                resource = ApiResource(
                    group=group,
                    version=version,
                    kind=kind,
                    plural=served["resource"],
                    is_namespaced=served.get("scope") == "Namespaced",
                    verbs=frozenset(served.get("verbs") or ()),
                    subresources=frozenset(sub["subresource"] for sub in served.get("subresources") or ()),
                )
                resources.setdefault((resource.api_version, kind), resource)
    return ApiCatalog(resources, preferred, frozenset(stale))


def legacy_versions(core: Mapping[str, Any], groups: Mapping[str, Any]) -> dict[str, str]:
    """The paths to ask, by apiVersion, from ``APIVersions`` and ``APIGroupList``."""
    paths = {version: f"/api/{version}" for version in core.get("versions") or ()}
    for group in groups.get("groups") or ():
        for version in group.get("versions") or ():
            paths[version["groupVersion"]] = f"/apis/{version['groupVersion']}"
    return paths


def parse_legacy(documents: Mapping[str, Any], groups: Mapping[str, Any]) -> ApiCatalog:
    """The catalog from one ``APIResourceList`` per apiVersion; none where its server does not answer."""
    resources: dict[tuple[str, str], ApiResource] = {}
    stale: set[str] = set()
    for api_version, document in documents.items():
        if document is None:
            stale.add(api_version)
            continue
        group, _, version = api_version.rpartition("/")
        entries = document.get("resources") or ()
        subresources: dict[str, set[str]] = {}
        for entry in entries:
            plural, slash, sub = entry["name"].partition("/")
            if slash:
                subresources.setdefault(plural, set()).add(sub)
        for entry in entries:
            if "/" not in entry["name"]:
                resource = ApiResource(
                    group=group,
                    version=version,
                    kind=entry["kind"],
                    plural=entry["name"],
                    is_namespaced=bool(entry.get("namespaced")),
                    verbs=frozenset(entry.get("verbs") or ()),
                    subresources=frozenset(subresources.get(entry["name"], ())),
                )
                resources.setdefault((api_version, resource.kind), resource)
    preferred = {
        group["name"]: (group.get("preferredVersion") or {}).get("version", "") for group in groups.get("groups") or ()
    }
    for api_version in documents:
        if "/" not in api_version:
            preferred.setdefault("", api_version)
    return ApiCatalog(resources, preferred, frozenset(stale))


def keep_stale(found: ApiCatalog, before: ApiCatalog | None) -> ApiCatalog:
    """What was known of a group whose server does not answer now stays known."""
    if before is None or not found.stale:
        return found
    listed = {resource.api_version for resource in found.resources.values()}
    kept = {
        key: resource for key, resource in before.resources.items() if key[0] in found.stale and key[0] not in listed
    }
    return dataclasses.replace(found, resources={**found.resources, **kept})


def _is_aggregated(document: Any) -> bool:
    return isinstance(document, dict) and document.get("kind") == "APIGroupDiscoveryList"


def _segment(text: str) -> str:
    if text in {"", ".", ".."} or "/" in text or "%" in text:
        raise errors.ClientError(f"{text!r} cannot be the name of an object", hint="names hold no '/' and no '%'")
    return urllib.parse.quote(text, safe=":")

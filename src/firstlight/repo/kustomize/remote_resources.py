"""Resources that are not in the repo, as kustomize writes them: URLs of files, and Git URLs in many spellings."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from firstlight.model.place import Place
from firstlight.model.source import ChartSource, RemoteSource, Values

_SCHEMES = ("ssh://", "https://", "http://", "file://")
_USER = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*@")
_RELEASE = re.compile(r"https://github\.com/[^/]+/[^/]+/releases/download/(?P<revision>[^/]+)/.+")
_RAW = re.compile(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/(?:refs/(?:tags|heads)/)?(?P<revision>[^/]+)/.+")
_FILE = (".yaml", ".yml", ".json")


def parse_remote(text: str) -> RemoteSource | None:
    """What a resource names elsewhere; None where it is a path."""
    bare, _, query = text.partition("?")
    if text.lower().startswith(("http://", "https://")) and bare.endswith(_FILE):
        found = _RELEASE.fullmatch(bare) or _RAW.fullmatch(bare)
        return RemoteSource(url=text, revision=found["revision"] if found else "")
    if text.startswith("/"):
        return None
    bare = bare[5:] if bare.lower().startswith("git::") else bare
    scheme = next((each for each in _SCHEMES if bare.lower().startswith(each)), "")
    rest = bare[len(scheme) :]
    user = _USER.match(rest)
    rest = rest[user.end() :] if user else rest
    is_github = rest.lower().startswith(("github.com/", "github.com:"))
    if not scheme and not user and not is_github:
        return None
    separators = [at for at in (rest.find("/"), rest.find(":") if not scheme else -1) if at > 0]
    if not separators:
        return None
    at = min(separators) + 1
    host, rest = rest[:at], rest[at:]
    if is_github and not user and scheme != "ssh://":
        scheme, host = "https://", "github.com/"
    repo, path = _parted(rest, whole=scheme == "file://")
    if not repo:
        return None
    values = parse_qs(query)
    revision = (values.get("ref") or values.get("version") or [""])[0]
    return RemoteSource(url=f"{scheme}{user[0] if user else ''}{host}{repo}", revision=revision, path=path.strip("/"))


def _parted(rest: str, *, whole: bool) -> tuple[str, str]:
    """The repository and the directory in it."""
    if "_git/" in rest:
        before, _, after = rest.partition("_git/")
        name, _, path = after.partition("/")
        return f"{before}_git/{name}", path
    if "//" in rest:
        repo, _, path = rest.partition("//")
        return repo, path
    if ".git" in rest:
        repo, _, path = rest.partition(".git")
        return f"{repo}.git", path
    parts = rest.split("/")
    if whole:
        return rest, ""
    return ("/".join(parts[:2]), "/".join(parts[2:])) if len(parts) > 1 else ("", "")


# Charts that a kustomization inflates: read as charts, since only Helm can render them.


_OLD = {
    "chartName": "name",
    "chartVersion": "version",
    "chartRepoUrl": "repo",
    "values": "valuesFile",
    "valuesLocal": "valuesInline",
    "valuesMerge": "valuesMerge",
    "releaseName": "releaseName",
    "releaseNamespace": "namespace",
}
"""The names of fields in helmChartInflationGenerator, and those that they have in helmCharts."""


def inflated_charts(
    kustomization: Mapping[str, Any],
    *,
    namespace: str,
    path: Callable[[str], str | None],
    place: Callable[..., Place],
) -> list[ChartSource]:
    """The charts of a kustomization.

    Args:
        kustomization: As it is written.
        namespace: Where a chart goes that says nothing.
        path: A file beside the kustomization as a file of the repo; None where it leads out of it.
        place: Where a field of the kustomization is written.
    """
    home = str(_mapping(kustomization.get("helmGlobals")).get("chartHome") or "charts")
    found = []
    for field in ("helmCharts", "helmChartInflationGenerator"):
        entries = kustomization.get(field)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict):
                written = entry if field == "helmCharts" else {_OLD[n]: v for n, v in entry.items() if n in _OLD}
                found.append(_chart(written, home, namespace, path, lambda *s, f=field, n=number: place(f, n, *s)))
    return found


def _chart(
    entry: Mapping[str, Any], home: str, namespace: str, path: Callable[[str], str | None], place: Callable[..., Place]
) -> ChartSource:
    name, repository = str(entry.get("name") or ""), str(entry.get("repo") or "")
    local = path(f"{home}/{name}") if not repository else None
    return ChartSource(
        name=local or name,
        repository=repository,
        version=str(entry.get("version") or ""),
        release=str(entry.get("releaseName") or ""),
        namespace=str(entry.get("namespace") or namespace),
        values=tuple(_values(entry, path, place)),
        origin=place(),
    )


def _values(
    entry: Mapping[str, Any], path: Callable[[str], str | None], place: Callable[..., Place]
) -> Sequence[Values]:
    """Values in the order in which Helm is given them; of several the later ones win."""
    files = []
    if entry.get("valuesFile"):
        files.append(_file(str(entry["valuesFile"]), path, place("valuesFile")))
    more = entry.get("additionalValuesFiles")
    more = [
        _file(str(each), path, place("additionalValuesFiles", number))
        for number, each in enumerate(more if isinstance(more, list) else ())
    ]
    inline = entry.get("valuesInline")
    if not isinstance(inline, dict):
        return [*files, *more]
    own = [Values(place=place("valuesInline"), inline=inline)]
    match entry.get("valuesMerge"):
        case "replace":
            return [*own, *more]
        case "merge":
            return [*own, *files, *more]
        case _:
            return [*files, *own, *more]


def _file(written: str, path: Callable[[str], str | None], place: Place) -> Values:
    if written.startswith(("http://", "https://")):
        return Values(place=place, reference=written, unresolved="it is fetched from elsewhere")
    found = path(written)
    return Values(place=place, file=found) if found else Values(place=place, file=written, unresolved="no such file")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

"""Charts that a kustomization inflates: read as charts, since only Helm can render them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.model.place import Place
from firstlight.model.source import Chart, Values

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


def charts(
    kustomization: Mapping[str, Any],
    *,
    namespace: str,
    path: Callable[[str], str | None],
    place: Callable[..., Place],
) -> list[Chart]:
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
) -> Chart:
    name, repository = str(entry.get("name") or ""), str(entry.get("repo") or "")
    local = path(f"{home}/{name}") if not repository else None
    return Chart(
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

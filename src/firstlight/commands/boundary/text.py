"""The boundary as text: for each component what differs, in words, and what will come of it."""

from collections import Counter
from collections.abc import Iterable, Sequence

from firstlight.cli import diagnostic_data
from firstlight.commands.boundary.output_form import BoundariesData, BoundaryData, ComparedData
from firstlight.drawing import safe, table
from firstlight.model.boundary import Boundary, BoundaryStanding, ComparedObject, Consequence, LifecycleEvent
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Severity

_WORDS = 6
"""Differences of one object that are shown before the rest is counted."""
_MARKS = {
    BoundaryStanding.EQUAL: "=",
    BoundaryStanding.DIFFERENT: "≠",
    BoundaryStanding.ONLY_BOOTSTRAP: "‹",
    BoundaryStanding.ONLY_GITOPS: "›",
}
_SEVERITIES = {Severity.ERROR: "✘", Severity.WARNING: "!", Severity.NOTE: "·"}


def text(boundaries: Sequence[Boundary], *, columns: int, everything: bool = False) -> str:
    """All components.

    Args:
        boundaries: What both sides apply.
        columns: How wide the terminal is.
        everything: Every difference, and objects that are equal too.
    """
    if not boundaries:
        return "nothing is applied by both bootstrap and GitOps"
    parts = [component(each, columns=columns, everything=everything) for each in boundaries]
    return "\n\n".join("\n".join(part) for part in parts)


def component(boundary: Boundary, *, columns: int, everything: bool = False) -> list[str]:
    """One component: a line, its objects, what will come of it."""
    counts = Counter(each.standing for each in boundary.objects)
    facts = ", ".join(f"{counts[standing]} {standing}" for standing in BoundaryStanding if counts[standing])
    alone = "stays with Talos" if boundary.stays else "nothing is applied"
    state = facts or ("not compared" if boundary.diagnostics else alone)
    first, then = boundary.versions
    versions = f" {first}" if first == then and first else f" {first or '·'} › {then or '·'}" if first or then else ""
    lines = [safe.text(f"{boundary.cluster}   {boundary.component}{versions}   {state}")]
    for each in boundary.diagnostics:
        message, place = (safe.text(str(part)).replace("\n", " ") for part in (each.message, each.place))
        first, *others = table.wrap(message, columns - 4)
        told = [f"  ✘ {first}", *(f"    {line}" for line in others)]
        is_short = table.width(told[-1]) + len(table.GAP) + table.width(place) <= columns
        lines += [*told[:-1], f"{told[-1]}{table.GAP}{place}"] if is_short else [*told, f"      {place}"]
    for compared in boundary.objects:
        if compared.standing != BoundaryStanding.EQUAL or everything:
            lines += _object(compared, columns, everything=everything)
    if boundary.stays:
        row = [f"{_SEVERITIES[boundary.stays.severity]} {boundary.stays.event}", "all of it", boundary.stays.effect]
        lines += _told([row], columns)
    return [*lines, *_outcomes(boundary.objects, columns)]


def named(identity: ObjectId) -> str:
    """An object as people call it: ``Deployment kube-system/cilium-operator``."""
    return safe.text(str(identity))


def _object(compared: ComparedObject, columns: int, *, everything: bool) -> list[str]:
    shown = compared.differences if everything else compared.differences[:_WORDS]
    lines = [f"  {_MARKS[compared.standing]} {named(compared.id)}"]
    for each in shown:
        flags = " (pods are replaced)" if each.rolls else " (cannot be changed)" if each.is_fixed else ""
        lines.append(table.cut(f"      {safe.text(each.words)}{flags}".replace("\n", " "), columns))
    if len(compared.differences) > len(shown):
        lines.append(f"      … and {len(compared.differences) - len(shown)} more: --everything")
    return lines


def _outcomes(objects: Iterable[ComparedObject], columns: int) -> list[str]:
    """What each event does, with how many objects; the worst first."""
    counts = Counter(consequence for each in objects for consequence in each.consequences)

    def rank(pair: tuple[Consequence, int]) -> tuple[int, int, str]:
        return (list(LifecycleEvent).index(pair[0].event), -pair[0].severity.rank, pair[0].effect)

    rows = [
        [f"{_SEVERITIES[each.severity]} {each.event}", f"{number} object{'s' if number > 1 else ''}", each.effect]
        for each, number in sorted(counts.items(), key=rank)
    ]
    return _told(rows, columns)


def _told(rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    """Rows whose last cell is a sentence, which goes on below itself."""
    widths = [max(table.width(row[n]) for row in rows) for n in range(len(rows[0]) - 1)] if rows else []
    left = 2 + sum(widths) + len(table.GAP) * len(widths)
    lines = []
    for *cells, sentence in rows:
        head = table.GAP.join(
            cell + " " * (width - table.width(cell)) for cell, width in zip(cells, widths, strict=True)
        )
        first, *others = table.wrap(sentence, max(columns - left, 20))
        lines += [f"  {head}{table.GAP}{first}", *(" " * left + line for line in others)]
    return lines


# The boundary as data, for ``boundary --output json``: stable names, Secrets masked.


def data(boundaries: Sequence[Boundary]) -> BoundariesData:
    """All components."""
    return {"equal": all(each.is_equal for each in boundaries), "components": [_boundary(each) for each in boundaries]}


def _boundary(each: Boundary) -> BoundaryData:
    return {
        "component": each.component,
        "cluster": each.cluster,
        "versions": {"bootstrap": each.versions[0], "gitops": each.versions[1]},
        "equal": each.is_equal,
        "stays": {"event": each.stays.event, "effect": each.stays.effect} if each.stays else None,
        "objects": [_compared(item) for item in each.objects],
        "diagnostics": diagnostic_data.of_all(each.diagnostics),
    }


def _compared(each: ComparedObject) -> ComparedData:
    return {
        "group": each.id.group,
        "kind": each.id.kind,
        "namespace": each.id.namespace,
        "name": each.id.name,
        "standing": each.standing,
        "differences": [
            {
                "path": difference.path,
                "bootstrap": difference.bootstrap,
                "gitops": difference.gitops,
                "words": difference.words,
                "replacesPods": difference.rolls,
                "immutable": difference.is_fixed,
            }
            for difference in each.differences
        ],
        "consequences": [
            {"event": item.event, "effect": item.effect, "severity": item.severity} for item in each.consequences
        ],
    }

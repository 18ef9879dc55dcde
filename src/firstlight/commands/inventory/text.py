"""A platform as text: its clusters, its components by phase, and what was not understood."""

import posixpath
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.document import diagnostic_cards
from firstlight.drawing import safe, table
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.component import Certainty, Component, Origin, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.platform import Platform
from firstlight.model.source import (
    ChartSource,
    DirectorySource,
    Embedded,
    RemoteSource,
    SeveralSources,
    Source,
    Unresolved,
)

_HEADINGS = {
    Severity.ERROR: "wrong",
    Severity.WARNING: "probably not meant",
    Severity.UNKNOWN: "not understood",
}


def text(platform: Platform, *, columns: int, everything: bool = False) -> str:
    """The whole inventory.

    Args:
        platform: What was read.
        columns: How wide the terminal is.
        everything: Every diagnostic and everything unreached, where else some lines stand for many.
    """
    parts = [
        [title(platform), *notes(platform)],
        _wrapped_rows("clusters", cluster_rows(platform), columns),
        *(_phase_lines(phase, rows, columns) for phase, rows in component_rows(platform)),
        doubt_lines(platform, columns),
        unreached_lines(platform.unreached, columns=columns, limit=0 if everything else 10),
        diagnostic_lines(platform.diagnostics, columns=columns, everything=everything),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def title(platform: Platform) -> str:
    """What it is, in a line."""
    machines = sum(len(each.machines) for each in platform.clusters)
    names = {each.name for each in platform.components}
    url = next((each.url for each in platform.clusters if each.url), "")
    facts = [
        platform.name,
        platform.engine or "no GitOps engine",
        f"{count(len(platform.clusters), 'cluster')}, {count(machines, 'machine')}, {count(len(names), 'component')}",
        *([url] if url else []),
    ]
    return safe.text("   ".join(facts))


def notes(platform: Platform) -> Iterator[str]:
    """What to know of how it was read."""
    if platform.is_misdeclared:
        yield "firstlight.yaml is wrong and was not used: everything is inferred"
    elif not platform.declared:
        yield "no firstlight.yaml: everything is inferred"
    if not platform.components and not any(each.machines for each in platform.clusters):
        yield "nothing is deployed from here; name the top of a GitOps repo with --repo"


def cluster_rows(platform: Platform) -> list[list[str]]:
    """A row a cluster: name, machines, versions, networks, path."""
    return [[safe.text(cell) for cell in _cluster_row(each)] for each in platform.clusters]


def _cluster_row(cluster: Cluster) -> list[str]:
    control_planes = sum(each.role == MachineRole.CONTROL_PLANE for each in cluster.machines)
    workers = len(cluster.machines) - control_planes
    machines = [
        *([count(control_planes, "control plane")] if control_planes else []),
        *([count(workers, "worker")] if workers else []),
    ]
    versions = [
        *([f"Talos {cluster.talos}"] if cluster.talos else []),
        *([f"Kubernetes {cluster.kubernetes}"] if cluster.kubernetes else []),
    ]
    networks = [
        *([f"pods {', '.join(cluster.network.pods)}"] if cluster.network.pods else []),
        *([f"services {', '.join(cluster.network.services)}"] if cluster.network.services else []),
    ]
    return [
        f"{cluster.name} ({cluster.role})" if cluster.role and cluster.role != cluster.name else cluster.name,
        ", ".join(machines) or "no machines",
        ", ".join(versions) or "·",
        cluster.path or "no GitOps path",
        ", ".join(networks),
    ]


def component_rows(platform: Platform) -> Iterator[tuple[str, list[list[str]]]]:
    """By phase, a row for each component; one that is the same in several clusters has one row.

    A Kustomization that brings nothing but a release of its own name shares the row of the release.
    """
    several = len(platform.clusters) > 1
    folded, shared = _folded(platform), shared_doubts(platform)
    merged: dict[tuple[str, ...], list[Component]] = defaultdict(list)
    needs: dict[tuple[str, str], list[str]] = {}
    for each in platform.components:
        if (each.cluster, each.name) in folded:
            continue
        own = [name for (cluster, name), app in folded.items() if (cluster, app) == (each.cluster, each.name)]
        all_needs = [need for one in platform.components_of(each.cluster) if one.name in own for need in one.needs]
        said = dict.fromkeys(folded.get((each.cluster, need), need) for need in (*all_needs, *each.needs))
        needs[each.cluster, each.name] = [need for need in said if need != each.name]
        told = " ".join(needs[each.cluster, each.name])
        merged[each.phase, each.name, each.side, each.owner, each.version, _where(each), told].append(each)
    rows: dict[str, list[list[str]]] = {phase: [] for phase in Phase}
    for key in sorted(merged, key=lambda each: each[1]):
        component = merged[key][0]
        clusters = [",".join(sorted(each.cluster for each in merged[key]))] if several else []
        row = _component_row(component, needs[component.cluster, component.name], shared)
        rows[component.phase].append([safe.text(cell) for cell in [component.name, *clusters, *row]])
    for phase, lines in rows.items():
        if lines:
            yield phase, lines


def _folded(platform: Platform) -> dict[tuple[str, str], str]:
    """Kustomizations that are there for one release of the same name, each with that release's component."""
    children: dict[tuple[str, str], list[Component]] = defaultdict(list)
    for each in platform.components:
        children[each.cluster, each.parent].append(each)
    found = {}
    for each in platform.components:
        brought = children.get((each.cluster, each.name), [])
        is_plain = each.side == Side.GITOPS and all(one.form == SourceForm.KUSTOMIZATION for one in each.origins)
        if is_plain and len(brought) == 1 and _bare(brought[0].name) == _bare(each.name):
            found[each.cluster, each.name] = brought[0].name
    return found


def _bare(name: str) -> str:
    return name.rpartition("/")[2]


def shared_doubts(platform: Platform) -> Mapping[str, int]:
    """Return the doubts that many components have in common, each with their number; they are told once."""
    counts = Counter(doubt for each in platform.components if (doubt := _doubt(each)))
    return {doubt: number for doubt, number in counts.items() if number > _FEW}


def doubt_lines(platform: Platform, columns: int) -> list[str]:
    """What is not sure of many components."""
    shared = shared_doubts(platform)
    told = [safe.text(f"{count(number, 'component')}: {doubt}") for doubt, number in shared.items()]
    return [*(["not sure"] if told else []), *(line for each in told for line in _wrapped(each, "  ", columns))]


def _doubt(component: Component) -> str:
    return next((each.doubt for each in component.origins if each.certainty == Certainty.GUESSED and each.doubt), "")


def _component_row(component: Component, needed: Sequence[str], shared: Mapping[str, int]) -> list[str]:
    side = f"{component.side} › {component.owner}" if component.side != Side.GITOPS else component.side
    needs = f"needs {', '.join(needed)}" if needed else ""
    why = component.why if component.side != Side.GITOPS else ""
    doubt = "" if _doubt(component) in shared else _doubt(component)
    told = "; ".join(each for each in (why, needs, f"not sure: {doubt}" if doubt else "") if each)
    return [side, _version(component), _where(component), told]


def _version(component: Component) -> str:
    """Its version; both where bootstrap and Git do not agree."""
    before, after = (next((each.version for each in half if each.version), "") for half in component.halves)
    return f"{before} › {after}" if before and after and before != after else component.version or "·"


def _phase_lines(phase: str, rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    """The components of a phase; what all of them have in common stands in the heading, and nothing is cut."""
    *_, side, _, _, _ = rows[0]
    is_one_side = all(row[-4] == side for row in rows)
    top = _common_directory([row[-2] for row in rows]) if len(rows) > 1 else ""
    kept = [
        [*row[:-4], *([] if is_one_side else [row[-4]]), row[-3], row[-2].removeprefix(f"{top}/"), row[-1]]
        for row in rows
    ]
    facts = [*([side] if is_one_side and side != phase else []), *([f"in {top}"] if top else [])]
    return _wrapped_rows("   ".join([phase, *facts]), kept, columns)


def _common_directory(places: Sequence[str]) -> str:
    """The directory in which all of the places are; empty where that is the repo."""
    return posixpath.commonpath([posixpath.dirname(each.partition(":")[0]) or "." for each in places]).strip(".")


def _wrapped_rows(heading: str, rows: Sequence[Sequence[str]], columns: int, *, loose: int = 2) -> list[str]:
    """Aligned rows; what does not fit into a line goes on below it, whole.

    Args:
        heading: What stands above them.
        rows: All of the same length.
        columns: How wide the terminal is.
        loose: How many cells at the end of a row may stand below it.
    """
    widths = [max(table.width(row[n]) for row in rows) for n in range(len(rows[0]))] if rows else []
    lines = [heading] if rows else []
    for row in rows:
        fixed = len(row) - loose
        line = "  " + table.GAP.join(cell + " " * (widths[n] - table.width(cell)) for n, cell in enumerate(row[:fixed]))
        is_aligned = sum(widths) + len(table.GAP) * (len(row) - 1) + 2 <= columns
        for number, cell in enumerate(row[fixed:], fixed):
            if not cell:
                continue
            if table.width(line) + len(table.GAP) + table.width(cell) <= columns:
                pad = widths[number] - table.width(cell) if is_aligned else 0
                line = f"{line}{table.GAP}{cell}{' ' * pad}"
                continue
            lines.append(line.rstrip())
            *whole, line = ["      " + each for each in table.wrap(cell, columns - 6)]
            lines += whole
        lines.append(line.rstrip())
    return lines


def _where(component: Component) -> str:
    first = component.origins[0].place
    others = len(component.origins) - 1
    return f"{first} +{others}" if others else str(first)


def unreached_lines(unreached: Sequence[Origin], *, columns: int, limit: int = 0) -> list[str]:
    """What the repo declares and nothing leads to."""
    if not unreached:
        return []
    shown = unreached[:limit] if limit else unreached
    rows = [[safe.text(cell) for cell in (each.name, each.form, str(each.place), each.doubt)] for each in shown]
    return [
        f"not reached ({len(unreached)})",
        *table.render(rows, indent="  ", columns=columns),
        *_rest(len(unreached) - len(shown)),
    ]


_FEW = 3
"""Diagnostics of one code that are shown one by one."""
_FURTHEST = ("repo/join", "repo/talos", "repo/omni", "repo/flux", "repo/argocd", "repo/helmfile", "repo/scripts")
"""Whose diagnostics reach furthest: what clusters and machines are, then where Git starts, then how it begins."""


def diagnostic_lines(diagnostics: Sequence[Diagnostic], *, columns: int, everything: bool = False) -> list[str]:
    """What is wrong, probably not meant or not understood: with the place, the reason and the fix.

    Where not everything is wanted, those of one code stand together: the gravest codes first.
    """
    lines: list[str] = []
    for severity, heading in _HEADINGS.items():
        mine = [each for each in diagnostics if each.severity == severity]
        if not mine:
            continue
        lines += ["", f"{heading} ({len(mine)})"] if lines else [f"{heading} ({len(mine)})"]
        groups: dict[str, list[Diagnostic]] = defaultdict(list)
        for each in mine:
            groups[each.code].append(each)
        is_cut = False
        for code in sorted(groups, key=lambda code: (_reach(code), -len(groups[code]), code)):
            groups[code].sort(key=lambda each: each.place)
            few = groups[code] if everything or len(groups[code]) <= _FEW else groups[code][:1]
            for each in few:
                lines += _wrapped(f"{each.place}: {each.message}", "  ", columns)
                lines += _wrapped(each.fix[:1].upper() + each.fix[1:], "      ", columns)
            if more := groups[code][len(few) :]:
                is_cut = True
                others = ", ".join(dict.fromkeys(each.place.path for each in more[:_FEW]))
                end = "" if len(more) <= _FEW else " …"
                lines += _wrapped(f"and {len(more)} more like this ({code}): {others}{end}", "      ", columns)
        lines += ["  all of them: firstlight inventory --everything"] if is_cut else []
    return lines


def _reach(code: str) -> int:
    card = diagnostic_cards.cards().get(code)
    home = card.home if card is not None else ""
    return _FURTHEST.index(home) if home in _FURTHEST else len(_FURTHEST)


def _wrapped(text: str, indent: str, columns: int) -> list[str]:
    """A sentence in lines of a terminal; words that are longer than a line, such as paths, stay whole."""
    return textwrap.wrap(
        safe.text(text),
        columns,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _rest(number: int) -> list[str]:
    return [f"  … and {number} more: firstlight inventory --everything"] if number > 0 else []


def card(platform: Platform, component: Component) -> list[str]:
    """One component, whole."""
    dependents = platform.dependents().get((component.cluster, component.name), [])
    parts = [each.name for each in platform.components_of(component.cluster) if each.part_of == component.name]
    rows = [
        ["cluster", component.cluster],
        ["phase", component.phase],
        ["side", component.side],
        ["owner", f"{component.owner}, in the end"],
        ["version", component.version or "·"],
        ["role", component.role or "·"],
        ["why", component.why + ("" if component.is_why_declared else "  (inferred)")],
        ["needs", ", ".join(component.needs) or "·"],
        *[["missing", f"{each.id} ({each.why}) {each.place}"] for each in component.missing],
        ["dependents", ", ".join(dependents) or "·"],
        *([["brought by", component.parent]] if component.parent else []),
        *([["part of", component.part_of]] if component.part_of else []),
        *([["other half", ", ".join(parts)]] if parts else []),
    ]
    lines = [component.name, *table.render([[safe.text(cell) for cell in row] for row in rows], indent="  ")]
    for half, origins in zip(("bootstrap", "gitops"), component.halves, strict=True):
        for origin in origins:
            lines += ["", f"  {half}: {origin.form} {safe.text(origin.name)}   {safe.text(str(origin.place))}"]
            lines += [f"    {safe.text(line)}" for line in _origin_lines(origin)]
    return lines


def _origin_lines(origin: Origin) -> Iterator[str]:
    each = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    for source in each:
        yield f"from {described(source)}"
    if origin.certainty != Certainty.DECLARED:
        yield f"{origin.certainty}{': ' + origin.doubt if origin.doubt else ''}"
    if origin.command:
        yield origin.command
    if origin.objects:
        yield f"{count(len(origin.objects), 'object')}: {_kinds(origin)}"
    if origin.suspended:
        yield "suspended"


def _kinds(origin: Origin) -> str:
    kinds: dict[str, int] = defaultdict(int)
    for each in origin.objects:
        kinds[each.kind] += 1
    return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0])))


def described(source: Source) -> str:
    """A source in a few words."""
    match source:
        case ChartSource():
            where = f"{source.repository} " if source.repository else ""
            release = f", release {source.namespace}/{source.release}" if source.release else ""
            return f"chart {where}{f'{source.name} {source.version or source.digest}'.rstrip()}{release}"
        case DirectorySource():
            return f"{'kustomization' if source.kustomize else 'files'} {source.path}"
        case RemoteSource():
            return " ".join(each for each in (source.url, source.path, source.revision) if each)
        case Embedded():
            return f"{source.size} bytes in {source.place}"
        case Unresolved():
            return f"{source.text} (unresolved: {source.reason})"


def tree(platform: Platform) -> list[str]:
    """Who brings what: a cluster, and everything below."""
    lines: list[str] = []
    for cluster in platform.clusters:
        lines += [] if not lines else [""]
        lines.append(f"{safe.text(cluster.name)}   {safe.text(cluster.path)}".rstrip())
        mine = {each.name: each for each in platform.components_of(cluster.name)}
        children: dict[str, list[Component]] = defaultdict(list)
        for each in mine.values():
            children[_bringer(each, mine)].append(each)
        lines += _branches(children[""], children, "")
    return lines


def _bringer(component: Component, components: Mapping[str, Component]) -> str:
    """What brings a component; nothing, for the first of those that bring each other in a circle."""
    seen = [component.name]
    while (parent := components[seen[-1]].parent) in components:
        if parent in seen:
            circle = seen[seen.index(parent) :]
            return "" if component.name == min(circle) else component.parent
        seen.append(parent)
    return component.parent if component.parent in components else ""


def _branches(components: Iterable[Component], children: dict[str, list[Component]], indent: str) -> list[str]:
    found = sorted(components, key=lambda each: (each.side == Side.GITOPS, each.name))
    lines = []
    for number, each in enumerate(found, 1):
        last = number == len(found)
        facts = [each.version, "" if each.side == Side.GITOPS else f"{each.side} {each.phase}"]
        label = "   ".join([each.name, *(fact for fact in facts if fact)])
        lines.append(f"{indent}{'└─' if last else '├─'} {safe.text(label)}")
        lines += _branches(children.get(each.name, ()), children, f"{indent}{'   ' if last else '│  '}")
    return lines


def _section(heading: str, rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    return [heading, *table.render(rows, indent="  ", columns=columns)] if rows else []


def count(number: int, noun: str) -> str:
    """A number with its noun: ``1 cluster``, ``2 clusters``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"

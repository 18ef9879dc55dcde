"""A platform as text: its clusters, its components by phase, and what was not understood."""

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.drawing import safe, table
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.component import Certainty, Component, Origin, Phase, Side
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
        _section("clusters", cluster_rows(platform), columns),
        *(_section(phase, _fitted(rows, columns), 0) for phase, rows in component_rows(platform)),
        unreached_lines(platform.unreached, columns=columns, limit=0 if everything else 10),
        diagnostic_lines(platform.diagnostics, columns=columns, limit=0 if everything else 10),
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
    """By phase, a row for each component; one that is the same in several clusters has one row."""
    several = len(platform.clusters) > 1
    merged: dict[tuple[str, ...], list[Component]] = defaultdict(list)
    for each in platform.components:
        merged[(each.phase, each.name, each.side, each.owner, each.version, _where(each), " ".join(each.needs))].append(
            each
        )
    rows: dict[str, list[list[str]]] = {phase: [] for phase in Phase}
    for key in sorted(merged, key=lambda each: each[1]):
        component = merged[key][0]
        clusters = [",".join(sorted(each.cluster for each in merged[key]))] if several else []
        rows[component.phase].append(
            [safe.text(cell) for cell in [component.name, *clusters, *_component_row(component)]]
        )
    for phase, lines in rows.items():
        if lines:
            yield phase, lines


def _component_row(component: Component) -> list[str]:
    side = f"{component.side} › {component.owner}" if component.side != Side.GITOPS else component.side
    needs = f"needs {', '.join(component.needs)}" if component.needs else ""
    why = component.why if component.side != Side.GITOPS else ""
    doubt = next((each.doubt for each in component.origins if each.certainty == Certainty.GUESSED and each.doubt), "")
    told = "; ".join(each for each in (why, needs, f"not sure: {doubt}" if doubt else "") if each)
    return [side, _version(component), told, _where(component)]


def _version(component: Component) -> str:
    """Its version; both where bootstrap and Git do not agree."""
    before, after = (next((each.version for each in half if each.version), "") for half in component.halves)
    return f"{before} › {after}" if before and after and before != after else component.version or "·"


def _fitted(rows: Sequence[Sequence[str]], columns: int) -> list[list[str]]:
    """Rows whose last two cells, reason and place, share what is left of the line; a place loses its beginning."""
    taken = sum(max(table.width(row[n]) for row in rows) + len(table.GAP) for n in range(len(rows[0]) - 2))
    left = columns - taken - 2 - len(table.GAP)
    place = min(max(table.width(row[-1]) for row in rows), max(left * 2 // 5, 24))
    told = min(max(table.width(row[-2]) for row in rows), max(left - place, 1))
    return [
        [*row[:-2], table.cut(row[-2], told), row[-1] if len(row[-1]) <= place else f"…{row[-1][1 - place :]}"]
        for row in rows
    ]


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


def diagnostic_lines(diagnostics: Sequence[Diagnostic], *, columns: int, limit: int = 0) -> list[str]:
    """What is wrong, probably not meant or not understood: with the place, the reason and the fix."""
    lines: list[str] = []
    for severity, heading in _HEADINGS.items():
        mine = [each for each in diagnostics if each.severity == severity]
        if not mine:
            continue
        shown = mine[:limit] if limit else mine
        lines += ["", f"{heading} ({len(mine)})"] if lines else [f"{heading} ({len(mine)})"]
        for each in shown:
            lines += _wrapped(f"{each.place}: {each.message}", "  ", columns)
            lines += _wrapped(each.fix[:1].upper() + each.fix[1:], "      ", columns)
        lines += _rest(len(mine) - len(shown))
    return lines


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

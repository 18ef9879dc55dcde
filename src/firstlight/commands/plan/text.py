"""A plan as text: steps by phase, what runs at once, the longest chain, and what stands in the way with the way out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from firstlight.drawing import safe, table
from firstlight.drawing.table import fitted
from firstlight.model import plan as model_plan
from firstlight.model.component import Phase
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.plan import Action, Gate, Plan, Smallest, Step, Subject

_HEADER = ["wave", "step", "does", "objects", "needs", "gates"]
_MANY = 40
"""Steps of one phase beyond which waves stand for them."""
_SUMMED = {"without-need"}
"""Notes that the summary has already."""
_NOTES = 8
"""Notes that are shown before the rest is counted."""
_SHORT = {
    Action.CONFIGURE: "configure",
    Action.SYNC_TEMPLATE: "sync",
    Action.BOOTSTRAP_ETCD: "bootstrap",
    Action.FETCH_KUBECONFIG: "fetch",
    Action.APPLY_CRDS: "CRDs",
    Action.CREATE_NAMESPACES: "create",
    Action.CREATE_SECRET: "Secret",
    Action.INSTALL_CHART: "chart",
    Action.APPLY_OBJECTS: "apply",
    Action.INSTALL_ENGINE: "engine",
    Action.CREATE_SOURCE: "create",
    Action.SAVE_BASELINE: "save",
    Action.MIGRATE_OWNERS: "migrate",
    Action.CREATE_ROOT: "create",
    Action.WATCH_ADOPTION: "adopt",
    Action.RELEASE: "release",
    Action.CERTIFY: "prove",
}
"""Actions where the name of the step says the rest."""
_APART = {
    Action.LET_TALOS_APPLY: "inline",
    Action.CREATE_ROOT: "root object",
    Action.WATCH_ADOPTION: "adoption",
    Action.WATCH: "GitOps",
}
"""What tells a step from others of its name, where the short action would not."""
_MARKS = {Severity.ERROR: "✘", Severity.WARNING: "!", Severity.NOTE: "·"}
_HEADINGS = {
    Severity.ERROR: "blocked by",
    Severity.WARNING: "may go wrong",
    Severity.NOTE: "good to know",
}
_PLURALS = {
    Subject.WORKLOAD: "workloads",
    Subject.WEBHOOK: "webhooks",
    Subject.STORE: "stores",
    Subject.RECONCILED: "reconciled",
}


def text(plan: Plan, *, columns: int, everything: bool = False) -> str:
    """The whole plan.

    Args:
        plan: The plan of one cluster.
        columns: How wide the terminal is.
        everything: Every step and every note, where else some lines stand for many.
    """
    parts = [
        [title(plan)],
        *phases(plan, columns=columns, everything=everything),
        summary(plan, columns=columns),
        *problems(plan.problems, columns=columns, everything=everything),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def title(plan: Plan) -> str:
    """What it comes to, in a line."""
    counts = Counter(each.severity for each in plan.problems)
    state = f"blocked by {count(counts[Severity.ERROR], 'error')}" if plan.is_blocked else "can run"
    warnings = f", {count(counts[Severity.WARNING], 'warning')}" if counts[Severity.WARNING] else ""
    known = [each for step in plan.steps if step.creates is not None for each in step.creates]
    objects = f", {count(len(known), 'object')}" if plan.is_rendered else ""
    rendered = "" if plan.is_rendered else "   nothing rendered: --render finds more"
    return f"{safe.text(plan.cluster)}   {state}{warnings}   {count(len(plan.steps), 'step')}{objects}{rendered}"


def phases(plan: Plan, *, columns: int, everything: bool) -> list[list[str]]:
    """The steps of each phase; steps of the same wave run at once."""
    waves = {step.id: number for number, wave in enumerate(plan.waves(), 1) for step in wave}
    reduced = model_plan.direct_needs(plan)
    by_phase = {
        phase: sorted((each for each in plan.steps if each.phase == phase), key=lambda each: waves.get(each.id, 10**6))
        for phase in Phase
    }
    shown = {phase: mine for phase, mine in by_phase.items() if mine and (len(mine) <= _MANY or everything)}
    called = labels(plan)
    rows = [_HEADER, *(_row(each, waves, reduced, called) for mine in shown.values() for each in mine)]
    if not plan.is_rendered:
        rows = [[*row[:3], *row[4:]] for row in rows]
    lines = iter(fitted(rows, columns))
    parts = [[next(lines)]]
    for phase, mine in by_phase.items():
        if phase in shown:
            parts.append([str(phase), *(next(lines) for _ in mine)])
        elif mine:
            heading = f"{phase}   {len(mine)} steps, wave by wave: --everything lists them"
            parts.append([heading, *_waves(mine, waves, called, columns=columns)])
    return parts


def labels(plan: Plan) -> dict[str, str]:
    """What each step is called, by its id: its name, and its kind where another step has the same name."""
    counts = Counter(each.name for each in plan.steps)
    return {
        each.id: f"{each.name} ({_APART.get(each.action) or _SHORT.get(each.action, each.action)})"
        if counts[each.name] > 1
        else each.name
        for each in plan.steps
    }


def _row(
    step: Step, waves: Mapping[str, int], reduced: Mapping[str, Sequence[str]], called: Mapping[str, str]
) -> list[str]:
    needs = ", ".join(called[each] for each in reduced[step.id])
    does = [_SHORT.get(step.action, step.action if step.action != Action.WATCH else ""), step.what]
    objects = str(len(step.creates)) if step.creates else ""
    cells = [
        str(waves.get(step.id, "never")),
        called[step.id],
        " ".join(each for each in does if each),
        objects,
        needs,
        ", ".join(each for each in (gates(step.gates), _hooks(step)) if each),
    ]
    return [safe.text(each).replace("\n", " ") for each in cells]


def _waves(steps: Sequence[Step], waves: Mapping[str, int], called: Mapping[str, str], *, columns: int) -> list[str]:
    by_wave: dict[int, list[str]] = {}
    for step in steps:
        by_wave.setdefault(waves.get(step.id, 0), []).append(safe.text(called[step.id]))
    rows = [
        [str(number or "never"), str(len(names)), ", ".join(sorted(names))] for number, names in sorted(by_wave.items())
    ]
    return table.render(rows, indent="  ", columns=columns)


def gates(asked: Iterable[Gate]) -> str:
    """The gates of a step in a few words: ``cni, nodes, 3 workloads``."""
    counts = Counter(each.subject for each in asked)
    words = [
        f"{number} {_PLURALS.get(subject, subject)}" if number > 1 else str(subject)
        for subject, number in counts.items()
    ]
    return ", ".join(words)


def _hooks(step: Step) -> str:
    return f"then {count(len(step.hooks), 'hook')}" if step.hooks else ""


def summary(plan: Plan, *, columns: int) -> list[str]:
    """The longest chain, the most that runs at once, and the smallest bootstrap."""
    called = {step: safe.text(label) for step, label in labels(plan).items()}
    path = [called[each.id] for each in plan.critical_path()]
    widest = max(plan.waves(), key=len, default=())
    lines = _wrapped("critical path", [f"{each} ›" for each in path[:-1]] + path[-1:], columns)
    if stuck := plan.stuck():
        names = ", ".join(called[each.id] for each in stuck[:5])
        more = f" and {len(stuck) - 5} more" if len(stuck) > 5 else ""
        lines += _wrapped("never run", f"{names}{more}: they wait for each other or for one that does".split(), columns)
    if len(widest) > 1:
        number = plan.waves().index(widest) + 1
        lines += _wrapped(
            "at once", f"up to {len(widest)} steps (wave {number} of {len(plan.waves())})".split(), columns
        )
    return [*lines, *_smallest(plan.smallest, columns)]


def _smallest(least: Smallest, columns: int) -> list[str]:
    parts = [
        ("smallest", ", ".join(least.needed)),
        ("missing", ", ".join(least.missing)),
        ("without need", ", ".join(least.spare)),
        ("unknown", f"{', '.join(least.unknown)} (rendering would tell)" if least.unknown else ""),
    ]
    return [line for label, value in parts if value for line in _wrapped(label, safe.text(value).split(), columns)]


def _wrapped(label: str, words: Sequence[str], columns: int) -> list[str]:
    """A label and words beside it, on as many lines as they need."""
    indent = 16
    lines, line = [], label.ljust(indent)
    for word in words:
        if len(line) > indent and table.width(line) + table.width(word) + 1 > columns:
            lines.append(line.rstrip())
            line = " " * indent
        line += f"{word} "
    return [*lines, line.rstrip()]


def problems(found: Sequence[Diagnostic], *, columns: int, everything: bool = False) -> list[list[str]]:
    """What stands in the way: what, the chain that causes it, and the way out; notes are short."""
    parts = []
    for severity, heading in _HEADINGS.items():
        mine = [each for each in found if each.severity == severity]
        if severity == Severity.NOTE and not everything:
            mine = [each for each in mine if each.code not in _SUMMED]
        if not mine:
            continue
        lines = [f"{heading} ({len(mine)})"]
        shown = mine if everything or severity != Severity.NOTE else mine[:_NOTES]
        for each in shown:
            lines += _problem(each, columns, is_short=severity == Severity.NOTE and not everything)
        if len(mine) > len(shown):
            lines.append(f"  … and {len(mine) - len(shown)} more: --everything")
        parts.append(lines)
    return parts


def _problem(problem: Diagnostic, columns: int, *, is_short: bool) -> list[str]:
    mark = _MARKS[problem.severity]
    lines = _folded(f"{safe.text(problem.message)}   {problem.code}", f"  {mark} ", columns)
    if is_short:
        return lines
    names = max((table.width(safe.text(each.where)) for each in problem.evidence), default=0)
    for each in problem.evidence:
        name = safe.text(each.where)
        head = f"      {name}{' ' * (names - table.width(name))}   "
        says = f"{each.text}   {each.place}" if each.place else each.text
        lines += _folded(safe.text(says), head, columns)
    for place in problem.places:
        lines += _folded(safe.text(str(place)), "      ", columns)
    return [*lines, *_folded(safe.text(problem.fix), "      → ", columns)] if problem.fix else lines


def _folded(text_: str, head: str, columns: int) -> list[str]:
    """A sentence on as many lines as it needs, under its first letter."""
    lines, line = [], head
    for word in text_.split(" "):
        if line.strip() != head.strip() and line.strip() and table.width(line) + table.width(word) > columns:
            lines.append(line.rstrip())
            line = " " * table.width(head)
        line += f"{word} "
    return [*lines, line.rstrip()]


def count(number: int, noun: str) -> str:
    """A number with its noun: ``1 step``, ``2 steps``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"

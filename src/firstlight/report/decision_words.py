"""The words of a decision, which text, Markdown and data share: what differs, why, and the way to it."""

import posixpath
from collections.abc import Iterable, Sequence
from typing import Any

from firstlight.model.change import Change, Field, Level, Verb
from firstlight.model.component import Side
from firstlight.model.decision import Decision, Item, Moment, ProcedureStep, Risk, Ruling, TreePath
from firstlight.report import decision_values as values
from firstlight.report import safe, table

_VALUE = 40
"""Characters of a value that are shown."""
MOMENTS = {Moment.PRE: "before", Moment.POST: "after"}


def block(label: str, said: Iterable[str], columns: int) -> list[str]:
    """Sentences below each other beside what they are about, each with its second line indented."""
    lines = []
    for each in said:
        first, *rest = table.wrap(plain(each), max(20, columns - table.LABEL - 4))
        lines += [first, *(f"  {line}" for line in rest)]
    return table.labelled(label, lines)


def verdict(decision: Decision) -> str:
    """The answer in a few words: ``hybrid, high risk: lead approval``."""
    if not decision.items:
        return "no change"
    side = decision.side or "touches no cluster"
    return f"{side}, {decision.risk} risk: {decision.approval} approval"


def counts(decision: Decision) -> str:
    """How much it is about: ``3 files, 2 components, 14 dependents``."""
    files = {each.change.place.path for each in decision.items if each.change.level == Level.SOURCE}
    touched = {(each.cluster, each.component) for item in decision.items for each in item.touched}
    found = [(len(files), "file"), (len(touched), "component"), (len(decision.affected), "dependent")]
    return ", ".join(number(count, noun) for count, noun in found if count)


def what(change: Change, ruling: Ruling) -> str:
    """What differs, in words: ``spec.replicas 1 › 2``, ``moved from a.yaml``."""
    if ruling.field is not None:
        return field(ruling.field, is_secret=is_secret(change))
    if change.verb == Verb.MOVED:
        return f"moved from {plain(change.old_path)}" if change.old_path else "moved"
    return str(change.verb)


def field(one: Field, *, is_secret: bool = False) -> str:
    """A field with what it was and what it becomes; of what is secret only that it changes."""
    path = plain(one.path) or "all of it"
    if one.is_secret or is_secret:
        return f"{path} {one.verb}, which is secret"
    if values.is_long(one.before) or values.is_long(one.after):
        return f"{path} {one.verb}: {_differing(one)}"
    before, after = (_value(value) for value in values.both(one, longest=_VALUE))
    if one.verb == Verb.CHANGED and before == after != "":
        return f"{path} {before} {one.verb}"
    if one.verb == Verb.CHANGED and before and after:
        return f"{path} {before} › {after}"
    shown = after if one.verb == Verb.ADDED else before if one.verb == Verb.REMOVED else ""
    return f"{path} {shown} {one.verb}" if shown else f"{path} {one.verb}"


def is_secret(change: Change) -> bool:
    """Whether none of its values may be shown."""
    return change.matter == "secret" or (change.object is not None and change.object.is_secret)


def reason(item: Item) -> str:
    """Of which object, what differs and why that matters; the gravest of it."""
    ruling = item.rulings[0]
    title = plain(item.change.title)
    is_named = bool(title) and title not in (item.change.place.path, posixpath.basename(item.change.place.path))
    is_broken = bool(item.change.broken)
    said = f"it cannot be read: {plain(item.change.broken)}" if is_broken else what(item.change, ruling)
    return f"{title}: {said}" if is_named else said


def way(path: TreePath) -> str:
    """The way through a tree: each question with its answer, and where it ends."""
    steps = [f"{plain(each.text)} {'yes' if each.answer else 'no'}" for each in path.steps]
    return " › ".join([*steps, str(path.side)])


def plain(value: str) -> str:
    """A stranger's text on one line; names that are no text show their bytes."""
    return " ".join(safe.text(value).encode("utf-8", "backslashreplace").decode().split())


def gravest(items: Iterable[Item]) -> list[Ruling]:
    """The gravest ruling of each side, the gravest first."""
    found: dict[Side | None, Ruling] = {}
    for ruling in (ruling for item in items for ruling in item.rulings):
        known = found.get(ruling.side)
        if known is None or ruling.risk > known.risk:
            found[ruling.side] = ruling
    kept = [each for side, each in found.items() if side is not None] or list(found.values())
    return sorted(kept, key=lambda each: each.risk, reverse=True)


def alike(steps: Sequence[ProcedureStep]) -> list[list[ProcedureStep]]:
    """Steps that follow each other and only differ in names, together."""
    groups: list[list[ProcedureStep]] = []
    for each in steps:
        if groups and groups[-1][0].side == each.side and _is_alike(groups[-1][0].command, each.command):
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _is_alike(one: str, other: str) -> bool:
    first, second = one.split(), other.split()
    if not first or len(first) != len(second) or first[:2] != second[:2]:
        return False
    return all(a == b for a, b in zip(first, second, strict=True) if a.startswith("-") or b.startswith("-"))


def listed(items: Sequence[Item]) -> list[Item]:
    """What is told one by one: changes of files, and what only the rendering shows where that is graver than all."""
    worst = max((each.risk for each in items if each.change.level == Level.SOURCE), default=Risk.LOW)
    return [each for each in items if each.change.level == Level.SOURCE or each.risk > worst]


def side_word(side: Side | None) -> str:
    """A side in one word; ``none`` where no cluster is touched."""
    return str(side) if side is not None else "none"


def named(item: Item) -> str:
    """The file; of what was only seen when it was rendered the component."""
    if item.change.level == Level.RENDERED:
        return f"{plain(item.change.component)} (rendered)"
    return plain(str(item.change.place) if item.change.broken else item.change.place.path)


def more_fields(item: Item) -> int:
    """How many fields differ beside the gravest one; one field may have several rulings, by several components."""
    return len({each.field.path for each in item.rulings if each.field is not None} or {""}) - 1


def rendered_name(item: Item, *, with_cluster: bool) -> str:
    """An object as people call it, with its cluster where there are several."""
    title = plain(item.change.title)
    return f"{title} of {plain(item.change.cluster)}" if with_cluster and item.change.cluster else title


def criteria(ruling: Ruling) -> list[str]:
    """The documents' criteria that apply, by their names."""
    names = ", ".join(plain(each).replace("-", " ") for each in ruling.criteria)
    return [f"criteria: {names}"] if names else []


def telling(ruling: Ruling) -> tuple[TreePath, ...]:
    """The tree that tells most: one that ends where the rule does, else the one that asks most."""
    agreeing = [each for each in ruling.trees if not each.is_overruled] or list(ruling.trees)
    return tuple(sorted(agreeing, key=lambda each: len(each.steps), reverse=True)[:1])


def told_way(path: TreePath, ruling: Ruling) -> str:
    """The way through a tree, and who wins where it ends elsewhere."""
    said = way(path)
    return f"{said}; but the tables say {side_word(ruling.side)}, and win" if path.is_overruled else said


def _differing(one: Field) -> str:
    count = values.differing(one.before, one.after)
    return f"{number(count, 'line')} {'differs' if count == 1 else 'differ'}"


def _value(value: Any) -> str:
    if value is None or isinstance(value, dict | list | tuple):
        return ""
    return str(value).lower() if isinstance(value, bool) else plain(str(value)) or '""'


def number(count: int, noun: str) -> str:
    """So many of something: ``1 file``, ``2 files``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"

"""The words of a decision, which text, Markdown and data share: what differs, why, and the way to it."""

import collections
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

from firstlight.drawing import safe, table
from firstlight.model.change import Change, ChangedField, ChangeVerb, Level
from firstlight.model.component import Side
from firstlight.model.decision import Decision, DecisionItem, Moment, ProcedureStep, Risk, Ruling, TreePath

_VALUE = 40
"""Characters of a value that are shown."""
_FURTHER = 2
"""Fields that are named beside the gravest one."""
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
    """How much it is about: ``3 files, 2 components, 14 dependents, brings 3``."""
    files = {each.change.place.path for each in decision.items if each.change.level == Level.SOURCE}
    touched = {(each.cluster, each.component) for item in decision.items for each in item.touched}
    found = [(len(files), "file"), (len(touched), "component"), (len(decision.affected), "dependent")]
    brings = [f"brings {len(decision.brought)}"] if decision.brought else []
    return ", ".join([*(number(count, noun) for count, noun in found if count), *brings])


def what(change: Change, ruling: Ruling) -> str:
    """What differs, in words: ``spec.replicas 1 › 2``, ``moved from a.yaml``."""
    if ruling.field is not None:
        return field(ruling.field, is_secret=is_secret(change))
    if change.verb == ChangeVerb.MOVED:
        return f"moved from {plain(change.old_path)}" if change.old_path else "moved"
    return str(change.verb)


def field(one: ChangedField, *, is_secret: bool = False) -> str:
    """A field with what it was and what it becomes; of what is secret only that it changes."""
    path = plain(one.path) or "all of it"
    if one.is_secret or is_secret:
        return f"{path} {one.verb}, which is secret"
    if is_long(one.before) or is_long(one.after):
        return f"{path} {one.verb}: {_differing(one)}"
    before, after = (_value(value) for value in both(one, longest=_VALUE))
    if one.verb == ChangeVerb.CHANGED and before == after != "":
        return f"{path} {before} {one.verb}"
    if one.verb == ChangeVerb.CHANGED and before and after:
        return f"{path} {before} › {after}"
    shown = after if one.verb == ChangeVerb.ADDED else before if one.verb == ChangeVerb.REMOVED else ""
    return f"{path} {shown} {one.verb}" if shown else f"{path} {one.verb}"


def is_secret(change: Change) -> bool:
    """Whether none of its values may be shown."""
    return change.matter == "secret" or (change.object is not None and change.object.is_secret)


def reason(item: DecisionItem) -> str:
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


def gravest(items: Iterable[DecisionItem]) -> list[Ruling]:
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


def listed(items: Sequence[DecisionItem]) -> list[DecisionItem]:
    """What is told one by one: changes of files, and what only the rendering shows where that is graver than all."""
    worst = max((each.risk for each in items if each.change.level == Level.SOURCE), default=Risk.LOW)
    return [each for each in items if each.change.level == Level.SOURCE or each.risk > worst]


def side_word(side: Side | None) -> str:
    """A side in one word; ``none`` where no cluster is touched."""
    return str(side) if side is not None else "none"


def named(item: DecisionItem) -> str:
    """The file; of what was only seen when it was rendered the component."""
    if item.change.level == Level.RENDERED:
        return f"{plain(item.change.component)} (rendered)"
    return plain(str(item.change.place) if item.change.broken else item.change.place.path)


def further_fields(item: DecisionItem) -> list[str]:
    """Return the fields beside the gravest one, the next gravest by name: ``also kubernetes.version 1.36 › 1.37``."""
    found: dict[str, Ruling] = {}
    for each in item.rulings:  # one field may have several, by several components
        if each.field is not None:
            found.setdefault(each.field.path, each)
    others = list(found.values())[1:]
    named = [f"also {what(item.change, each)}" for each in others[:_FURTHER]]
    left = len(others) - len(named)
    return [*named, *([f"and {number(left, 'more field')}"] if left else [])]


def rendered_name(item: DecisionItem, *, with_cluster: bool) -> str:
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


def _differing(one: ChangedField) -> str:
    count = differing(one.before, one.after)
    return f"{number(count, 'line')} {'differs' if count == 1 else 'differ'}"


def _value(value: Any) -> str:
    if value is None or isinstance(value, dict | list | tuple):
        return ""
    return str(value).lower() if isinstance(value, bool) else plain(str(value)) or '""'


def number(count: int, noun: str) -> str:
    """So many of something: ``1 file``, ``2 files``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


# Values that differ, as people may see them: short, on one line, and rather a name alone than a secret with it.


LONGEST = 80
"""Characters of a value that are shown."""
_UNCUT = 100_000
_CONTEXT = 10
"""Characters before what differs."""
HIDDEN = "…"
"""What stands for a value of which only the name is told."""
_PAIR = re.compile(r"(?P<name>-{0,2}[A-Za-z_][\w./-]*)=(?P<value>.*)")
_HARMLESS = re.compile(
    r"|true|false|yes|no|on|off|none|null"
    r"|-?\d{1,6}(?:\.\d{1,6})?(?:m|k|K|M|G|T|P|Ki|Mi|Gi|Ti|Pi|%)?"  # numbers and quantities
    r"|(?:\d{1,6}(?:ns|us|ms|s|m|h|d))+"
    r"|v?\d{1,4}(?:\.\d{1,4}){1,3}(?:[-+][a-z]{0,8}[.\d]{0,8})?"  # versions
    r"|\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:/\d{1,2})?"  # addresses and ranges
    r"|(?=[0-9a-fA-F]*:[0-9a-fA-F]*:)[0-9a-fA-F:]{2,39}(?:/\d{1,3})?"
    r"|(?:[a-z0-9][a-z0-9-]{0,62}\.)+[a-z]{2,20}(?::\d{1,5})?"  # hosts
    r"|[a-z0-9-]{1,62}(?:\.[a-z0-9-]{1,62})+(?::\d{1,5})?(?:/[a-z0-9._-]{1,60}){1,6}"  # images
    r"(?::v?\d[\w.-]{0,40})?(?:@sha256:[0-9a-f]{64})?"
)


def is_long(value: Any) -> bool:
    """Whether a value is a text of several lines."""
    return isinstance(value, str) and "\n" in value.strip()


def differing(before: Any, after: Any) -> int:
    """How many lines differ between two texts."""
    one, other = (collections.Counter(each.splitlines() if isinstance(each, str) else ()) for each in (before, after))
    return max((one - other).total(), (other - one).total(), 1)


def told(field: ChangedField, value: Any, *, longest: int = LONGEST) -> Any:
    """A value of a field as it may be shown; texts are cut, of many lines only their number is told."""
    if isinstance(value, Mapping):
        return _count(value, "key") if value else {}
    if isinstance(value, list | tuple):
        return [
            _text(each, longest, is_item=True) if isinstance(each, str) else _plain(each) for each in value[:LONGEST]
        ]
    if not isinstance(value, str):
        return value
    steps = field.steps[-1:]
    is_flag = any(each.startswith("-") for each in field.steps)
    if is_flag and not is_harmless(value):
        return HIDDEN
    return _text(value, longest, is_item=any(each.startswith("[") for each in steps))


def both(field: ChangedField, *, longest: int = LONGEST) -> tuple[Any, Any]:
    """What a field was and what it becomes, as they may be shown; where texts are cut, what differs stays in sight."""
    before, after = (told(field, value, longest=_UNCUT) for value in (field.before, field.after))
    if not isinstance(before, str) or not isinstance(after, str):
        return told(field, field.before, longest=longest), told(field, field.after, longest=longest)
    if max(len(before), len(after)) <= longest:
        return before, after
    letters = enumerate(zip(before, after, strict=False))
    same = next((at for at, (one, other) in letters if one != other), min(len(before), len(after)))
    # From the last part that is the same, which names an image or a file; if that is too long, from shortly before.
    named = max(before.rfind("/", 0, same), before.rfind(" ", 0, same)) + 1
    start = next((each for each in (0, named) if same - each < longest - _CONTEXT), same - _CONTEXT)
    return _from(before, start, longest), _from(after, start, longest)


def _from(text: str, start: int, longest: int) -> str:
    shown = f"…{text[start:]}" if start else text
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def is_harmless(value: str) -> bool:
    """Whether a value is plainly no secret: a switch, a number, a version, a host, an image."""
    text = value.strip("\"'")
    if _HARMLESS.fullmatch(text):
        return True
    pairs = [_PAIR.fullmatch(each) for each in text.split(",")]
    return all(each is not None and _HARMLESS.fullmatch(each["value"]) for each in pairs)


def _plain(value: Any) -> Any:
    return _count(value, "item") if isinstance(value, Mapping | list | tuple) else value


def _count(value: Sized, noun: str) -> str:
    return f"{len(value)} {noun}{'' if len(value) == 1 else 's'}"


def _text(value: str, longest: int, *, is_item: bool) -> str:
    if is_long(value):
        return f"{len(value.strip().splitlines())} lines"
    shown = " ".join(safe.text(value).encode("utf-8", "backslashreplace").decode().split())
    pair = _PAIR.fullmatch(shown) if is_item else None
    if pair is not None and not is_harmless(pair["value"]):
        shown = f"{pair['name']}={HIDDEN}"
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"

"""Owners of a cluster's objects as text: how many each has, what is wrong and what to do, and the objects."""

import collections
from collections.abc import Iterable, Sequence

from firstlight.cli.output_form import ObjectData
from firstlight.commands.owners.output_form import OwnedObjectData, OwnerData, OwnersData
from firstlight.drawing import safe, table
from firstlight.model.component import ObjectId
from firstlight.model.owner import Flaw, ObjectOwner, OwnedObject, OwnerMap, Party

_SHOWN_OWNERS = 8
_SHOWN_FLAWS = 10
_WORDS = {
    Flaw.ORPHAN: "nobody who would keep it up to date owns it",
    Flaw.TWO_ENGINES: "they undo each other's changes",
    Flaw.STALE_CO_OWNER: "what is removed from Git would stay in the cluster",
    Flaw.SOURCE_GONE: "it carries the mark of an owner that has it no more",
    Flaw.NOT_AS_DECLARED: "the repo names another owner in the end",
}


def text(
    whole: OwnerMap,
    shown: OwnerMap,
    *,
    columns: int,
    counted: OwnerMap | None = None,
    by_object: bool = False,
    only_flaws: bool = False,
) -> str:
    """The whole page.

    Args:
        whole: Every object.
        shown: Those that are asked for.
        columns: How wide the terminal is.
        counted: What the numbers on top are of, where not all objects are asked for.
        by_object: A line for each object, where else one stands for all of a kind in a namespace.
        only_flaws: Leave the objects out that nothing is wrong with, and show all of the others.
    """
    of = whole if counted is None else counted
    parts = [
        [title(of)],
        summary_lines(of.objects, columns=columns, limit=0 if by_object else _SHOWN_OWNERS),
        *flaw_parts(shown, columns=columns, limit=0 if only_flaws or by_object else _SHOWN_FLAWS),
        *([] if only_flaws else table_parts(shown.objects, columns=columns, by_object=by_object)),
        note_lines(
            whole, hidden=0 if by_object or only_flaws else len(whole.objects) - len(shown.objects), columns=columns
        ),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def title(found: OwnerMap) -> str:
    """How many objects and flaws, in a line."""
    flaws = sum(bool(each.flaws) for each in found.objects)
    none = "no flaws in what could be read" if found.unread else "no flaws"
    wrong = f"{flaws:,} with flaws" if flaws else none
    return safe.name(f"{found.cluster}   {_count(len(found.objects), 'object')}, {wrong}")


def summary_lines(objects: Sequence[OwnedObject], *, columns: int = 0, limit: int = 0) -> list[str]:
    """How many objects each owner has, those that its objects bring counted beside them."""
    by_owner: dict[ObjectOwner, list[int]] = {}
    for each in objects:
        counts = by_owner.setdefault(each.owner, [0, 0])
        counts[each.under is not None] += 1
    rows: list[list[str]] = []
    for party in Party:
        mine = sorted(((owner, counts) for owner, counts in by_owner.items() if owner.party == party), key=_largest)
        if not mine:
            continue
        rows.append([party, *_numbers([counts for _, counts in mine]), f"{len(mine)} owners" if len(mine) > 1 else ""])
        named = [(owner, counts) for owner, counts in mine if owner.name]
        if len(mine) == 1 and named:
            rows[-1][-1] = safe.name(named[0][0].name)
            continue
        cut = limit if limit and len(named) > limit + 1 else len(named)
        rows += [["", *_numbers([counts]), safe.name(owner.name)] for owner, counts in named[:cut]]
        if len(named) > cut:
            rows.append(["", *_numbers([counts for _, counts in named[cut:]]), f"{len(named) - cut} others"])
    return ["owners", *_aligned(rows, columns)] if rows else []


def flaw_parts(found: OwnerMap, *, columns: int, limit: int = 0) -> list[list[str]]:
    """A part for each flaw: the objects that have it, why, and what to do next."""
    parts = []
    for flaw in Flaw:
        rows = [
            [safe.name(str(each.id)), safe.name(one.says)]
            for each in found.objects
            for one in each.flaws
            if one.flaw == flaw
        ]
        if not rows:
            continue
        cut = limit if limit and len(rows) > limit + 1 else len(rows)
        more = [f"  … and {len(rows) - cut} more: firstlight owners --flaws"] if len(rows) > cut else []
        number = len({row[0] for row in rows})
        lines = table.render(rows[:cut], indent="  ", columns=columns)
        those = [each for each in found.objects if any(one.flaw == flaw for one in each.flaws)]
        ways = dict.fromkeys(advice(flaw, found.cluster, each) for each in those)
        told = [f"  next: {way}" for way in ways]
        parts.append([f"{flaw} ({number:,}): {_WORDS[flaw]}", *lines, *more, *told])
    return parts


def advice(flaw: Flaw, cluster: str, each: OwnedObject) -> str:
    """What to do about a flaw of an object."""
    match flaw:
        case Flaw.ORPHAN:
            return "put it into Git, or delete it"
        case Flaw.TWO_ENGINES:
            return "take it out of one of the two sources, with pruning off there until it is gone from its inventory"
        case Flaw.STALE_CO_OWNER if each.is_passing is False and each.component:
            return (
                f"firstlight drift {safe.name(cluster)}".rstrip()
                + " tells which of these fields Git does not have, and --correct takes them away: a handover takes "
                "only what bootstrap brings"
            )
        case Flaw.STALE_CO_OWNER if each.is_passing is False:
            return "--fields tells whose they are; nothing in this repo has it, so take them away by hand: kubectl edit"
        case Flaw.STALE_CO_OWNER:
            return (
                f"firstlight handover {safe.name(cluster)}".rstrip()
                + ", which passes fields of Talos, Helm, kubectl and bootstrap"
            )
        case Flaw.SOURCE_GONE:
            return "bring its source back, or delete it: nothing keeps it up to date"
        case Flaw.NOT_AS_DECLARED:
            return f"firstlight handover {safe.name(cluster)}".rstrip() + ", or say in firstlight.yaml who is to own it"


def table_parts(objects: Sequence[OwnedObject], *, columns: int, by_object: bool) -> list[list[str]]:
    """A part for each owner with its objects."""
    by_owner: dict[ObjectOwner, list[OwnedObject]] = {}
    for each in objects:
        by_owner.setdefault(each.owner, []).append(each)
    ranks = {party: rank for rank, party in enumerate(Party)}
    parts = []
    for owner in sorted(by_owner, key=lambda each: (ranks[each.party], each.name)):
        mine = sorted(by_owner[owner], key=lambda each: (each.id.namespace, each.id.kind, each.id.name))
        lines = _by_object(mine, columns) if by_object else _by_kind(mine, columns)
        parts.append([f"{safe.name(str(owner))}   {len(mine):,}", *lines])
    return parts


def note_lines(found: OwnerMap, *, hidden: int, columns: int) -> list[str]:
    """What is not shown, not read and not looked for."""
    lines = [f"{_count(hidden, 'object')} not shown, such as pods and what the system makes: --all"] if hidden else []
    lines += [f"not read: {safe.name(each)}" for each in found.unread]
    lines += [safe.name(each) for each in found.notes]
    return [table.cut(each, columns) if each.startswith("not read") else each for each in lines]


def _by_kind(objects: Iterable[OwnedObject], columns: int) -> list[str]:
    """A line for each kind in a namespace: how many, and their names as far as they fit."""
    groups: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for each in objects:
        groups[each.id.namespace, each.id.kind].append(each.id.name + (" !" if each.flaws else ""))
    rows = [
        [safe.name(namespace) or "·", safe.name(kind), f"{len(names):,}", safe.name(", ".join(names))]
        for (namespace, kind), names in groups.items()
    ]
    return table.render(_right(rows, 2), indent="  ", columns=columns)


def _by_object(objects: Sequence[OwnedObject], columns: int) -> list[str]:
    rows = [
        [
            safe.name(each.id.namespace) or "·",
            safe.name(each.id.kind),
            safe.name(each.id.name),
            safe.name(_beside(each)),
        ]
        for each in objects
    ]
    # What is wrong is told above in full; here a line is a line.
    lines = table.render(rows, indent="  ", columns=columns)
    found = []
    for each, line in zip(objects, lines, strict=True):
        found.append(line)
        found += table.render(
            [[safe.name(path), safe.name(", ".join(managers))] for path, managers in each.fields.items()],
            indent="      ",
        )
    return found


def _beside(each: OwnedObject) -> str:
    """What else there is to know of an object."""
    return "; ".join(
        part
        for part in (
            f"of {each.component}" if each.component else "",
            f"by {each.under}" if each.under else "",
            f"also {', '.join(map(str, each.co_owners))}" if each.co_owners else "",
            ", ".join(dict.fromkeys(one.flaw for one in each.flaws)),
        )
        if part
    )


def _numbers(counts: Iterable[Sequence[int]]) -> list[str]:
    alone, brought = (sum(numbers) for numbers in zip(*counts, strict=True))
    return [f"{alone:,}", f"+{brought:,}" if brought else ""]


def _largest(pair: tuple[ObjectOwner, Sequence[int]]) -> tuple[int, str]:
    return -sum(pair[1]), pair[0].name


def _aligned(rows: Sequence[list[str]], columns: int) -> list[str]:
    brings = any(row[2] for row in rows)
    rows = _right(rows, 2) if brings else [[*row[:2], *row[3:]] for row in rows]
    return table.render(_right(rows, 1), indent="  ", columns=columns)


def _right(rows: Sequence[list[str]], column: int) -> list[list[str]]:
    """Rows with the numbers of a column under each other."""
    width = max((len(row[column]) for row in rows), default=0)
    return [[cell.rjust(width) if n == column else cell for n, cell in enumerate(row)] for row in rows]


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


# Owners of a cluster's objects as data, for JSON: keys are added, never renamed or removed.


def data(whole: OwnerMap, shown: OwnerMap) -> OwnersData:
    """Everything that was found.

    Args:
        whole: What is counted: every object, or those of a namespace, kind or owner that is asked for.
        shown: Those that are asked for.
    """
    alone = collections.Counter(each.owner for each in whole.objects if each.under is None)
    brought = collections.Counter(each.owner for each in whole.objects if each.under is not None)
    flaws = collections.Counter(one.flaw for each in whole.objects for one in each.flaws)
    return {
        "cluster": whole.cluster,
        "owners": [
            {**_owner(each), "objects": alone[each], "brought": brought[each]} for each in sorted({*alone, *brought})
        ],
        "flaws": {each: flaws[each] for each in Flaw},
        "objects": [_object(each) for each in shown.objects],
        "unread": list(whole.unread),
        "notes": list(whole.notes),
    }


def _object(each: OwnedObject) -> OwnedObjectData:
    found: OwnedObjectData = {
        "group": each.id.group,
        "kind": each.id.kind,
        "namespace": each.id.namespace,
        "name": each.id.name,
        "apiVersion": each.api_version,
        "owner": _owner(each.owner),
        "coOwners": [_owner(one) for one in each.co_owners],
        "flaws": [{"flaw": one.flaw, "says": one.says} for one in each.flaws],
        "component": each.component,
        "broughtBy": _id(each.under) if each.under else None,
    }
    if each.fields:
        found["fields"] = {path: list(managers) for path, managers in each.fields.items()}
    return found


def _owner(owner: ObjectOwner) -> OwnerData:
    return {"party": owner.party, "name": owner.name}


def _id(id: ObjectId) -> ObjectData:
    return {"group": id.group, "kind": id.kind, "namespace": id.namespace, "name": id.name}

"""Whether an object is as Git has it: what differs, who wrote that, and who owns what nobody else should.

The server's own dry run tells what an apply would change, so that defaults, quantities and other ways to write the same
are no differences. Without one, ``is_in_doubt`` says whether it is needed at all.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping
from firstlight.engines import engine_marks
from firstlight.model import flux_names
from firstlight.model.component import ObjectId
from firstlight.model.drift import Drifted, DriftKind, FieldDifference
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.ownership import (
    apply_comparison,
    apply_form,
    claims,
    field_values,
    ignored_fields,
    managers,
    normal_values,
    stray_fields,
)
from firstlight.ownership.apply_comparison import Likeness
from firstlight.ownership.field_set import FieldSet, path_text
from firstlight.ownership.field_values import ABSENT, Leaf, Path
from firstlight.ownership.ignored_fields import IgnoreRules, Scaled
from firstlight.ownership.stray_fields import Stray

_BOOTSTRAP = (Party.HELM, Party.TALOS, Party.BOOTSTRAP)
_SERVERS = frozenset({"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class WantedObject:
    """One object that must be as Git has it."""

    object: Object
    component: str
    manager: str
    """As whom it is applied in the end."""
    owner: ObjectOwner
    definition: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """The owner as Git declares it: what it says is not to be looked at."""
    is_chart: bool = False
    """Whether a chart makes it."""
    doubt: str = ""
    """Why its values are not all known here, as they come from a Secret: then only whether it is there is looked at."""
    is_masked: bool = False
    """Whether some of its live values may come from a Secret that Git does not have: they are not shown."""

    @property
    def id(self) -> ObjectId:
        """What it is called."""
        return self.object.id

    @property
    def is_known(self) -> bool:
        """Whether it is here as its owner applies it: only then is it compared."""
        return not self.doubt and not isinstance(self.object.value.get("sops"), Mapping)

    @property
    def is_applicable(self) -> bool:
        """Whether it may be applied in its owner's place: never with a secret replaced by what Git has for it."""
        return self.is_known and not self.is_masked


@dataclasses.dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a look at one object."""

    drifted: Drifted | None = None
    ignored: int = 0
    """Differences that are not looked at."""


def settled(wanted: WantedObject, live: Mapping[str, Any] | None) -> WantedObject:
    """An object with the manager that applies it: bootstrap has several, and any of them will do."""
    if live is None or wanted.owner.party not in _BOOTSTRAP:
        return wanted
    mine = [each for each in stray_fields.writers_of(live) if not each.subresource and (each.is_old or each.is_person)]
    ranked = sorted(mine, key=lambda each: (each.manager == wanted.manager, each.is_old, len(each.fields)))
    return dataclasses.replace(wanted, manager=ranked[-1].manager) if ranked else wanted


def form(wanted: WantedObject, live: Mapping[str, Any] | None) -> dict[str, Any]:
    """An object as its owner applies it."""
    made = apply_form.marked(wanted.object.value, wanted.owner, live=live, definition=wanted.definition)
    if wanted.owner.party in _BOOTSTRAP and live is not None:
        apply_form.hold(made, live, is_helms=wanted.owner.party == Party.HELM)
    return made


def is_in_doubt(value: Mapping[str, Any], live: Mapping[str, Any], *, manager: str, has_status: bool) -> bool:
    """Whether only the server can tell if an apply would change anything.

    Args:
        value: What would be applied.
        live: The object, read in the same version.
        manager: Who would apply it.
        has_status: Whether its status is a subresource.
    """
    return apply_comparison.compare(value, live, manager=manager, has_status=has_status).likeness != Likeness.EQUAL


def strays(
    wanted: WantedObject, value: Mapping[str, Any], live: Mapping[str, Any], *, has_scale: bool = False
) -> tuple[Stray, ...]:
    """What else is on an object that Git does not have, defaults among it.

    Args:
        wanted: As Git has it.
        value: As its owner applies it.
        live: As it is.
        has_scale: Whether it may have been scaled, and nobody else is to do so.
    """
    value, live = normal_values.without_string_data(value), normal_values.owned_as_data(live)
    found = stray_fields.stray_fields_of(value, live, manager=wanted.manager, is_kept=wanted.owner.party in _BOOTSTRAP)
    beside = {path for path in pauses(wanted, live) if field_values.at(value, path) is ABSENT}
    held = [
        Stray(
            path,
            field_values.at(live, path),
            stray_fields.writer_text(live, path, manager=wanted.manager),
            is_pause=True,
        )
        for path in sorted(beside)
    ]
    if has_scale and (replicas := stray_fields.scaled(value, live)) is not None:
        held.append(replicas)
    return (*(each for each in found if each.path not in beside), *held)


def pauses(wanted: WantedObject, live: Mapping[str, Any]) -> tuple[Path, ...]:
    """What is on an object that keeps its engine away from it, although Git does not say so."""
    return ignored_fields.pauses(wanted.object.value, live, kind=wanted.owner.name.partition(" ")[0])


def ignored(
    wanted: WantedObject, *, live: Mapping[str, Any] | None = None, scaled: Scaled = frozenset()
) -> IgnoreRules:
    """What of an object is not looked at.

    Args:
        wanted: As Git has it.
        live: As it is, where it is there.
        scaled: What autoscalers have the replicas of.
    """
    return ignored_fields.ignore_rules(
        wanted.object.value, wanted.definition, live=live, scaled=scaled, is_chart=wanted.is_chart
    )


def told(wanted: WantedObject, message: str) -> str:
    """What a server says of an object; nothing where values are not shown, since servers quote what they refuse."""
    return "" if _is_hidden(wanted) else message


def missing(wanted: WantedObject, says: str = "it is not there") -> Drifted:
    """An object that Git has and the cluster has not."""
    return _drifted(wanted, DriftKind.MISSING, says)


def judged(
    wanted: WantedObject,
    live: Mapping[str, Any],
    *,
    ignored: IgnoreRules,
    after: Mapping[str, Any] | None,
    strays: Sequence[Stray] = (),
) -> Judgement:
    """What differs of an object that is there.

    Args:
        wanted: As Git has it.
        live: As it is.
        ignored: What is not looked at.
        after: What a forced dry run as its manager would make of it; None where an apply changes nothing for sure.
        strays: What else is on it that Git does not have, defaults aside.
    """
    # A key counts once, whether it was written as stringData or as data.
    value, live = normal_values.without_string_data(form(wanted, live)), normal_values.owned_as_data(live)
    after = None if after is None else normal_values.owned_as_data(after)
    leaves = [*(_changes(value, live, after, wanted.manager) if after is not None else ())]
    leaves += [stray_fields.as_leaf(each) for each in strays if each.is_pause or not ignored.is_merged]
    kept = [each for each in leaves if not _is_ignored(each, ignored, value, live)]
    count = len(leaves) - len(kept)
    beside = {each.path for each in strays if each.writer is not None and not each.is_pause}
    shown = [
        dataclasses.replace(_field(each, wanted, live), is_beside=each.path in beside)
        for each in kept
        if not _is_mark(each.path)
    ]
    if shown:
        says = told_changes(shown, wanted.manager)
        if held := pauses(wanted, live):
            says = f"{says}; {held[0][-1].removeprefix('f:')} on it keeps the engine away"
        drifted = _drifted(wanted, DriftKind.CHANGED, says, shown)
        return Judgement(dataclasses.replace(drifted, is_paused=bool(held)), count)
    if says := _strange_mark(wanted, value, live) or (_UNMARKED.format(wanted.owner) if kept else ""):
        return Judgement(_drifted(wanted, DriftKind.WRONG_OWNER, says), count)
    taken = [each for each in _not_owned(wanted, value, live, after) if not _is_ignored(each, ignored, value, live)]
    if not taken:
        return Judgement(None, count)
    fields = [_field(each, wanted, live) for each in taken]
    return Judgement(_drifted(wanted, DriftKind.WRONG_OWNER, told_not_owned(fields, wanted.manager), fields), count)


def is_unchanged(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two looks at an object saw the same one, its status and its owners aside."""
    same = mapping(before, "metadata").get("uid") == mapping(after, "metadata").get("uid")
    return same and _body(before) == _body(after)


def refused(wanted: WantedObject, live: Mapping[str, Any], *, why: str) -> Drifted:
    """An object that the server would not take as Git has it, since what cannot be changed differs."""
    where = apply_comparison.compare(form(wanted, live), live, manager=wanted.manager).where
    said = told(wanted, why)
    text = f"the server would not take it as Git has it: {said}" if said else "the server would not take it"
    fields = (FieldDifference(path=where),) if where and " " not in where else ()
    return _drifted(wanted, DriftKind.CHANGED, text, fields)


def surplus(id: ObjectId, *, component: str, owner: ObjectOwner, since: str = "") -> Drifted:
    """An object that an engine's marks say is Git's, and Git does not have it."""
    says = f"{owner.name} applied it, and Git does not have it"
    told = f"{says}; it is there since {since}" if since else says
    return Drifted(id=id, component=component, difference=DriftKind.EXTRA, says=told, owner=str(owner))


def applier(live: Mapping[str, Any]) -> ObjectOwner | None:
    """Who of an engine's applied an object by itself; None for what nobody did, or what something else made of it."""
    mark, id = engine_marks.of(live), ObjectId.of(live)
    metadata = mapping(live, "metadata")
    if mark is None or (id.group, id.kind) in _MADE or claims.is_hook(live):
        return None
    if any(each.get("controller") for each in metadata.get("ownerReferences") or () if isinstance(each, Mapping)):
        return None
    manager = managers.APPLIES.get(mark.owner.partition(" ")[0], "")
    # Labels are copied: from Services to Endpoints, from whatever to whatever an operator makes of it.
    if not any(each.manager == manager and _has_mark(each) for each in stray_fields.writers_of(live)):
        return None
    return ObjectOwner(Party(mark.engine.value), mark.owner)


_MADE = ((flux_names.SOURCE_GROUP, flux_names.HELM_CHART),)
"""What engines make for themselves: helm-controller, the chart of a HelmRelease."""
_UNMARKED = "the marks of {} are not on it: that has not applied it"


def _has_mark(writer: stray_fields.Writer) -> bool:
    metadata = mapping(writer.tree, "f:metadata")
    names = [*mapping(metadata, "f:labels"), *mapping(metadata, "f:annotations")]
    return any(each.removeprefix("f:") in {*apply_form.MARKS, *engine_marks.INSTANCES} for each in names)


def _changes(
    value: Mapping[str, Any], live: Mapping[str, Any], after: Mapping[str, Any], manager: str
) -> Iterator[Leaf]:
    """What an apply would change of what Git has, or had when it was applied last."""
    trees = [each.tree for side in (live, after) for each in stray_fields.writers_of(side)]
    own = [each for each in stray_fields.writers_of(live) if each.manager == manager and each.operation == "Apply"]
    for leaf in field_values.differences(_body(live), _body(after), trees):
        # Else it is a webhook's, or follows from something else that changes.
        if field_values.at(value, leaf.path) is not ABSENT or any(each.has(leaf.path) for each in own):
            yield leaf


def _body(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {name: each for name, each in mapping(value, "metadata").items() if name not in _SERVERS}
    return {**{name: each for name, each in value.items() if name != "status"}, "metadata": metadata}


def _not_owned(
    wanted: WantedObject, value: Mapping[str, Any], live: Mapping[str, Any], after: Mapping[str, Any] | None
) -> Iterator[Leaf]:
    """Fields with the right value that are not the manager's; of what is empty in Git there is nothing to own."""
    if after is None:
        return
    mine = FieldSet()
    for each in stray_fields.writers_of(live):
        if each.manager == wanted.manager:
            mine |= each.fields
    for each in stray_fields.writers_of(after):
        if each.manager == wanted.manager and each.operation == "Apply" and not each.subresource:
            for path in (each.fields - mine).leaves():
                if path[-1] != "." and not _is_mark(path) and field_values.at(value, path) not in ({}, [], None):
                    yield Leaf(path, field_values.at(live, path), field_values.at(after, path))


def _is_ignored(leaf: Leaf, ignored: IgnoreRules, value: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    owners = [each.manager for each in stray_fields.writers_of(live) if each.has(leaf.path)]
    return ignored_fields.is_ignored(leaf, ignored, wanted=value, live=live, managers=owners)


def _is_mark(path: Path) -> bool:
    return len(path) == 3 and path[0] == "f:metadata" and path[2].removeprefix("f:") in apply_form.MARKS


def _strange_mark(wanted: WantedObject, value: Mapping[str, Any], live: Mapping[str, Any]) -> str:
    """What an object says whose mark is another owner's."""
    if wanted.owner.party not in (Party.FLUX, Party.ARGOCD):
        return ""
    mark = engine_marks.of(live, wanted=wanted.object.value)
    if mark is None or mark.owner == wanted.owner.name or engine_marks.of(value) == mark:
        return ""
    return f"it carries the marks of {mark.owner}, and Git has it in {wanted.owner.name}"


def _field(leaf: Leaf, wanted: WantedObject, live: Mapping[str, Any]) -> FieldDifference:
    writer = stray_fields.writer_text(live, leaf.path, manager=wanted.manager)
    is_hidden = _is_hidden(wanted)
    return FieldDifference(
        path=path_text(leaf.path),
        wanted="" if is_hidden else told_value(leaf.after),
        live="" if is_hidden else told_value(leaf.before),
        manager=writer.manager if writer is not None and leaf.before is not ABSENT else "",
        since=writer.since if writer is not None and leaf.before is not ABSENT else "",
        is_passed_on=writer is not None and not writer.subresource and managers.is_old(writer.manager),
    )


def _is_hidden(wanted: WantedObject) -> bool:
    return wanted.id.is_secret or wanted.is_masked or not wanted.is_known


def _drifted(wanted: WantedObject, difference: DriftKind, says: str, fields: Iterable[FieldDifference] = ()) -> Drifted:
    return Drifted(
        id=wanted.id, component=wanted.component, difference=difference, says=says, fields=tuple(fields),
        owner=str(wanted.owner),
    )  # fmt: skip


# How differences of fields are told: values as short JSON, and whose they are.


LONGEST_VALUE = 200
"""Characters of a value that are shown."""


def told_value(found: Any) -> str:
    """A value as short JSON; empty for nothing."""
    if found is ABSENT:
        return ""
    text = json.dumps(found, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def told_changes(fields: Sequence[FieldDifference], manager: str) -> str:
    """What is said of fields with another value than Git has."""
    others = sorted({each.manager for each in fields if each.manager and each.manager != manager})
    count = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
    if others:
        return f"{count} changed by {', '.join(others)}"
    if all(each.manager == manager for each in fields):
        return f"{count} that {manager} applied with another value than Git has now"
    return f"{count} differ{'' if len(fields) > 1 else 's'}"


def told_not_owned(fields: Sequence[FieldDifference], manager: str) -> str:
    """What is said of fields with the right value that are not the manager's."""
    owners = sorted({each.manager for each in fields if each.manager})
    count = f"{len(fields)} field{'s' if len(fields) > 1 else ''} of Git"
    verb = "are" if len(fields) > 1 else "is"
    return f"{count} {verb} owned by {', '.join(owners) or 'nobody'}, not by {manager}"

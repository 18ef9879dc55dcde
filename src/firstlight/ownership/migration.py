"""The passing of fields to another manager, and what would be lost by it: csaupgrade, for all that came before Git.

A field that is left out of an apply goes only if nobody else owns it. So who applied an object before must give up its
fields, and the new owner must get them: else a field removed from Git stays for ever.
"""

import copy
import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from firstlight.model import helm_names
from firstlight.model.handover import OwnerSeen
from firstlight.ownership import apply_comparison, field_merge, field_set, field_values, managers, normal_values
from firstlight.ownership.field_set import FieldSet, Path, path_text

_BOOKKEEPING = frozenset(
    ("f:metadata", "f:annotations", f"f:{name}")
    for name in (
        "kubectl.kubernetes.io/last-applied-configuration", "config.k8s.io/owning-inventory",
        helm_names.RELEASE_NAME_ANNOTATION, helm_names.RELEASE_NAMESPACE_ANNOTATION,
    )
)  # fmt: skip
"""What only an old owner had a use for: it must go with it, and is no loss."""
_MANAGED_BY: Path = ("f:metadata", "f:labels", f"f:{helm_names.MANAGED_BY_LABEL}")

_NOT_TRIED = frozenset({"apiVersion", "kind", "metadata", "status"})


@dataclasses.dataclass(frozen=True, slots=True)
class Migration:
    """New managedFields, and what was done."""

    managed_fields: list[dict[str, Any]]
    taken: tuple[OwnerSeen, ...]
    """Whose fields passed."""
    discarded: tuple[OwnerSeen, ...]
    """Who lost them to nobody: entries of another apiVersion, whose paths may mean something else."""


def is_old(manager: str) -> bool:
    """Whether the fields of a manager pass."""
    return managers.is_old(manager)


def migrate(live: Mapping[str, Any], *, to: str, also: Collection[str] = ()) -> Migration | None:
    """What an object's managedFields must become, so that a manager has what came before Git; None if they are so.

    Entries of subresources stay with whom they are. Those of another apiVersion than the new owner's are discarded, as
    csaupgrade does it: Git's apply takes what Git has, and what is not in Git stays, owned by nobody.

    Args:
        live: The object, read in the version in which Git has it.
        to: The manager as which the engine applies it.
        also: Managers whose fields pass besides: engines, where bootstrap takes an object back.
    """
    entries = [dict(copy.deepcopy(each)) for each in field_set.managed_entries(live)]
    old = [each for each in entries if _passes(each, to, also)]
    if not old:
        return None
    own = next((each for each in entries if _is_own(each, to)), None)
    base = own or _latest(old, str(live.get("apiVersion") or ""))
    version = base.get("apiVersion")
    taken = [each for each in old if each.get("apiVersion") == version]
    fields = FieldSet.of(base.get("fieldsV1"))
    for each in taken:
        fields |= FieldSet.of(each.get("fieldsV1"))
    if any(each.get("manager") == managers.ANCIENT for each in taken):
        # Its entry has also what was written by subresources: a status is no engine's.
        fields = FieldSet.of({name: each for name, each in fields.v1().items() if name != "f:status"})
    target = {**base, "manager": to, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields.v1()}
    left = [target if each is base else each for each in entries if each is base or each not in old]
    return Migration(left, _seen(taken), _seen(each for each in old if each not in taken))


def lost(
    live: Mapping[str, Any], wanted: Mapping[str, Any], *, to: str, answered: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """The fields that the first apply of an object removes after the migration, for people.

    Counted as the server counts: what the new owner has then and the object does not, unless another manager holds it;
    with what nobody owns inside of it. A list item goes as a whole, even if another holds a field of it and not the
    item.

    Where nobody's fields tell how the server counts, it is said to be lost: an item whose key the server completes in a
    way that cannot be known, a named part of a custom resource that another holds a field of. So what is not named
    here stays. What is named may come back at once as it is, as defaults of the server do, and what the server sets by
    itself may change with it: ``answered`` tells both.

    Args:
        live: The object, read in the version in which Git has it.
        wanted: What the engine applies, its marks included.
        to: The manager as which it applies it.
        answered: What the server made of the ``trial``.
    """
    gone = _gone(live, wanted, to) if answered is None else _missing(live, wanted, answered)
    return tuple(path_text(path) for path in sorted(_told(gone, live)))


def trial(live: Mapping[str, Any], wanted: Mapping[str, Any], *, to: str) -> list[dict[str, Any]]:
    """A JSON patch that makes of an object what the migration and the first apply would make of it.

    It is for a dry run alone, before anything is done: the server adds its defaults, asks webhooks, and refuses what is
    immutable. Its answer is the object as it will be; a custom resource may keep more. Empty if that is how it is.
    """
    shape = field_set.FieldShape(live)
    after = field_merge.without(field_merge.merged(live, wanted, shape), _gone(live, wanted, to))
    steps = [_step(f"/{name}", live, after, name) for name in {**live, **after} if name not in _NOT_TRIED]
    parts = ("labels", "annotations", "finalizers", "ownerReferences")
    steps += [_step(f"/metadata/{name}", live["metadata"], after["metadata"], name) for name in parts]
    return [each for each in steps if each]


def patch(live: Mapping[str, Any], migration: Migration) -> list[dict[str, Any]]:
    """The JSON patch of a migration; if somebody wrote the object in between, the server answers 409."""
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": migration.managed_fields},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
    ]


def _step(path: str, before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> dict[str, Any]:
    if before.get(name) == after.get(name):
        return {}
    # To add is to replace where something is.
    return {"op": "add", "path": path, "value": after[name]} if name in after else {"op": "remove", "path": path}


def _is_own(entry: Mapping[str, Any], to: str) -> bool:
    return entry.get("manager") == to and entry.get("operation") == "Apply" and not entry.get("subresource")


def _passes(entry: Mapping[str, Any], to: str, also: Collection[str]) -> bool:
    if entry.get("subresource") or _is_own(entry, to):
        return False
    manager = str(entry.get("manager") or "")
    # Its own updates are stale as well: an apply does not take them back.
    return manager == to or manager in also or is_old(manager)


def _latest(old: list[dict[str, Any]], version: str) -> dict[str, Any]:
    same = [each for each in old if each.get("apiVersion") == version]
    return max(same or old, key=lambda each: str(each.get("time") or ""))


def _seen(entries: Iterable[Mapping[str, Any]]) -> tuple[OwnerSeen, ...]:
    return tuple(
        OwnerSeen(manager=str(each.get("manager") or ""), operation=str(each.get("operation") or ""))
        for each in entries
    )


def _gone(live: Mapping[str, Any], wanted: Mapping[str, Any], to: str) -> set[Path]:
    """Paths of the live object that go, by the way in which the server prunes (structured-merge-diff, ``prune``)."""
    migration = migrate(live, to=to)
    entries = field_set.managed_entries(live) if migration is None else migration.managed_fields
    last = next((FieldSet.of(each.get("fieldsV1")) for each in entries if _is_own(each, to)), FieldSet())
    if not last:
        return set()
    shape = field_set.FieldShape(live)
    there = field_set.fields_of_object(live, shape).paths
    others: set[Path] = set()
    for each in entries:
        if not _is_own(each, to):
            others |= FieldSet.of(each.get("fieldsV1")).paths
    doubtful = set() if _is_built_in(live) else {path for path in last.paths if path[0] != "f:metadata"}
    # The name of an object is in every apply.
    kept = {("f:metadata",)} | _wanted(wanted, shape) | _named(others, doubtful)
    owned = _named(last.paths, set())
    unrelated = _cut(there, owned)
    lasting = _cut(there, there - unrelated - kept)
    return set(there - _cut(there, (there - lasting) & owned))


def _wanted(wanted: Mapping[str, Any], shape: field_set.FieldShape) -> set[Path]:
    """The fields of what is applied; also the ``data`` that ``stringData`` becomes."""
    forms = (wanted, normal_values.without_string_data(wanted))
    return {path for each in forms for path in field_set.fields_of_object(each, shape).paths}


def _is_built_in(live: Mapping[str, Any]) -> bool:
    """Whether a kind is one of those that have no maps of structures: a name that leads to fields is a structure's."""
    group, _, _ = str(live.get("apiVersion") or "").rpartition("/")
    return group in apply_comparison.BUILT_IN


def _named(paths: Iterable[Path], doubtful: set[Path]) -> set[Path]:
    """Paths with the names of structures on the way to them; items of lists count only where they are owned."""
    found = set(paths)
    for path in tuple(found):
        for length in range(1, len(path)):
            above = path[:length]
            if above[-1].startswith("f:") and above not in doubtful:
                found.add(above)
    return found


def _cut(paths: Iterable[Path], gone: Iterable[Path]) -> set[Path]:
    """What is left of some paths without others and all that is in those."""
    cut = set(gone)
    return {path for path in paths if not any(path[:length] in cut for length in range(1, len(path) + 1))}


def _told(gone: set[Path], live: Mapping[str, Any]) -> set[Path]:
    """The paths to tell: an item of a list stands for all that is in it, a part of an object is told by its fields."""
    told = set()
    above = {path[:length] for path in gone for length in range(1, len(path))}
    for path in gone:
        if any(path[length].startswith(("k:", "v:")) and path[: length + 1] in gone for length in range(len(path) - 1)):
            continue
        if path[-1].startswith("f:") and (path in above or _is_key(path)):
            continue
        told.add(path)
    is_helms = field_values.at(live, _MANAGED_BY) == helm_names.MANAGED_BY_HELM
    return {each for each in told if each not in _BOOKKEEPING and not (is_helms and each == _MANAGED_BY)}


def _is_key(path: Path) -> bool:
    """Whether a field is a part of the key of the item that it is in: it is there as long as that is."""
    return len(path) > 1 and path[-2].startswith("k:") and f'"{path[-1][2:]}":' in path[-2]


def _missing(live: Mapping[str, Any], wanted: Mapping[str, Any], answered: Mapping[str, Any]) -> set[Path]:
    """What Git does not have, and is not in an answer with the value that it has; also what only went with the rest."""
    shape = field_set.FieldShape(live)
    there = field_set.fields_of_object(live, shape).paths
    above = {path[:length] for path in there for length in range(1, len(path))}
    found = set()
    for path in there - _wanted(wanted, shape):
        if path[0] == "f:status":
            continue  # no apply reaches it, and its controller may have written it in between
        value = field_values.at(answered, path)
        # What is there in part is told by its parts.
        if value is field_values.ABSENT or (path not in above and value != field_values.at(live, path)):
            found.add(path)
    return found

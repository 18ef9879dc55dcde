"""Fields that somebody put on an object beside what Git has: by hand, or before the engine came.

What is there by default does not count: a field that comes back by itself when it is left out, in a dry run.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.model import argocd_names, flux_names, helm_names
from firstlight.ownership import field_values, managers
from firstlight.ownership.field_set import FieldSet, Path, plain
from firstlight.ownership.field_values import ABSENT, Leaf

# Who wrote which field of a live object, as its ``managedFields`` tell.


@dataclasses.dataclass(frozen=True)
class Writer:
    """One entry of an object's ``managedFields``."""

    manager: str
    operation: str
    subresource: str
    since: str
    """When it wrote last."""
    tree: Mapping[str, Any] = dataclasses.field(repr=False)
    """Its fields, as they are written."""

    @cached_property
    def fields(self) -> FieldSet:
        """Its fields."""
        return FieldSet.of(self.tree)

    @property
    def is_person(self) -> bool:
        """Whether it is a tool that people use by hand."""
        return managers.is_by_hand(self.manager)

    @property
    def is_old(self) -> bool:
        """Whether it is one that no longer writes once an engine does; people always may."""
        return managers.is_old(self.manager) and not self.is_person

    def has(self, path: Path) -> bool:
        """Whether it owns a field, something in it, or the whole that it is in."""
        wanted, above = plain(path), self.tree
        for step in wanted:
            if not above:
                return True
            if step not in above:
                return False
            above = above[step]
        return True


def writers_of(live: Mapping[str, Any]) -> tuple[Writer, ...]:
    """Everybody who owns fields of an object; those who wrote by its status aside."""
    return tuple(each for each in every_writer(live) if each.subresource != "status")


def every_writer(live: Mapping[str, Any]) -> tuple[Writer, ...]:
    """Everybody who owns fields of an object or of its status."""
    return tuple(
        Writer(
            manager=text(each, "manager"),
            operation=text(each, "operation"),
            subresource=text(each, "subresource"),
            since=text(each, "time"),
            tree=mapping(each, "fieldsV1"),
        )
        for each in sequence(live, "metadata", "managedFields")
    )


def writer_text(live: Mapping[str, Any], path: Path, *, manager: str) -> Writer | None:
    """Who owns a field beside a manager, the last one of several; the manager itself where nobody else does."""
    having = [each for each in every_writer(live) if each.has(path)]
    others = [each for each in having if each.manager != manager]
    return max(others or having, key=lambda each: each.since, default=None)


_BOOKKEEPING = (
    "kubectl.kubernetes.io/last-applied-configuration", "kubectl.kubernetes.io/restartedAt",
    "kubernetes.io/change-cause", "deployment.kubernetes.io/revision", "config.k8s.io/owning-inventory",
    helm_names.RELEASE_NAME_ANNOTATION, helm_names.RELEASE_NAMESPACE_ANNOTATION,
    flux_names.RECONCILE_REQUEST_ANNOTATION, flux_names.FORCE_REQUEST_ANNOTATION, flux_names.RESET_REQUEST_ANNOTATION,
    argocd_names.REFRESH_ANNOTATION,
)  # fmt: skip
"""Annotations by which tools remember or ask something: they say nothing of what an object is."""


_REPLICAS: field_values.Path = ("f:spec", "f:replicas")


@dataclasses.dataclass(frozen=True, slots=True)
class Stray:
    """One such field, and who put it there."""

    path: field_values.Path
    value: Any = dataclasses.field(repr=False)
    writer: Writer | None
    """None where nobody owns it, so that no engine would take it away."""
    is_pause: bool = False
    """Whether it keeps the engine away from the object, so that it counts whoever wrote it."""


def stray_fields_of(
    form: Mapping[str, Any], live: Mapping[str, Any], *, manager: str, is_kept: bool = False
) -> tuple[Stray, ...]:
    """Fields that Git does not have, and that people, or what came before the engine, own.

    Args:
        form: The object as its manager applies it.
        live: The object as it is.
        manager: Whose it is to be.
        is_kept: Whether bootstrap keeps it, so that nothing came before.
    """
    everybody = writers_of(live)
    is_applied = any(_is_of(each, manager) for each in everybody)
    found: dict[field_values.Path, Stray] = {}
    for one in every_writer(live):
        if one.manager == manager:
            # Who applies writes no more by updates, except to what is its own: anybody may use its name.
            is_stray = is_applied and one.operation == "Update" and not one.subresource
        else:
            is_stray = (one.is_person or (one.is_old and not is_kept)) and one.subresource in ("", "status")
        if not is_stray:
            continue
        others = [each for each in everybody if each.manager != one.manager or _is_of(each, manager)]
        for path, value in _fields(_own(one, manager), form, live, (), others):
            found.setdefault(path, Stray(path, value, one))
    return tuple(found[each] for each in sorted(found))


def _is_of(one: Writer, manager: str) -> bool:
    """Whether it is what a manager has applied."""
    return one.manager == manager and one.operation == "Apply" and not one.subresource


def _own(one: Writer, manager: str) -> dict[str, Any]:
    """The fields of a writer that may be strays: no status, of which the server takes metadata as well."""
    if one.subresource:
        return {name: each for name, each in one.tree.items() if name == "f:metadata"}
    tree = {name: each for name, each in one.tree.items() if name != "f:status"}
    if one.manager == manager and isinstance(inside := tree.get("f:metadata"), Mapping):
        tree["f:metadata"] = {name: each for name, each in inside.items() if name != "f:finalizers"}
    return tree


def scaled(form: Mapping[str, Any], live: Mapping[str, Any]) -> Stray | None:
    """The replicas of an object that Git leaves open and nobody owns: who uses a scale leaves no entry behind.

    Args:
        form: The object as its manager applies it.
        live: The object as it is.
    """
    value = field_values.at(live, _REPLICAS)
    if value is ABSENT or field_values.at(form, _REPLICAS) is not ABSENT:
        return None
    if any(each.has(_REPLICAS) for each in writers_of(live)):
        return None
    is_default = value == 1 and str(live.get("apiVersion") or "").startswith("apps/")
    return None if is_default else Stray(_REPLICAS, value, None)


def removal(strays: Iterable[Stray], live: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A JSON patch that leaves them out; the last items of lists first, so that positions stay right."""
    pointers = {pointer for each in strays if (pointer := field_values.pointer(each.path, live))}
    ordered = sorted(pointers, key=lambda each: [_sortable(step) for step in each.split("/")], reverse=True)
    return [{"op": "remove", "path": each} for each in ordered]


def real(strays: Iterable[Stray], cleaned: Mapping[str, Any] | None) -> tuple[Stray, ...]:
    """Those that did not come back by themselves.

    Args:
        strays: All of them.
        cleaned: The object as a dry run without them gave it back; None if the server refused that.
    """
    return tuple(each for each in strays if cleaned is None or field_values.at(cleaned, each.path) != each.value)


def as_leaf(stray: Stray) -> Leaf:
    """As a difference: there is something, and Git wants nothing."""
    return Leaf(stray.path, stray.value, ABSENT)


def _fields(
    owned: Mapping[str, Any], form: Any, live: Any, path: field_values.Path, others: Iterable[Writer]
) -> Iterator[tuple[field_values.Path, Any]]:
    for key, below in owned.items():
        value, here = field_values.child(live, key), (*path, key)
        if key == "." or value is ABSENT or here == ("f:metadata", "f:managedFields"):
            continue
        wanted = field_values.child(form, key)
        if wanted is ABSENT and not any(each.has(here) for each in others):
            if not (below and _is_empty(value)) and key.removeprefix("f:") not in _BOOKKEEPING:
                yield from _whole(key, below, value, here, others)
        elif below:
            yield from _fields(below, wanted, value, here, others)


def _whole(
    key: str, below: Mapping[str, Any], value: Any, path: field_values.Path, others: Iterable[Writer]
) -> Iterator[tuple[field_values.Path, Any]]:
    """All of something that nobody else has a part of; labels and annotations one by one, since tools have theirs."""
    if key in ("f:annotations", "f:labels") and isinstance(value, Mapping):
        yield from _fields({each: {} for each in below if each != "."}, {}, value, path, others)
    else:
        yield path, value


def _is_empty(value: Any) -> bool:
    return isinstance(value, Mapping | list) and not value


def _sortable(step: str) -> tuple[int, str]:
    return (int(step), "") if step.isdecimal() else (0, step)

"""Who wrote which field of a live object, as its ``managedFields`` tell."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.ownership import managers
from firstlight.ownership.field_set import FieldSet, Path, plain


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


def of(live: Mapping[str, Any]) -> tuple[Writer, ...]:
    """Everybody who owns fields of an object; those who wrote by its status aside."""
    return tuple(each for each in every(live) if each.subresource != "status")


def every(live: Mapping[str, Any]) -> tuple[Writer, ...]:
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


def who(live: Mapping[str, Any], path: Path, *, manager: str) -> Writer | None:
    """Who owns a field beside a manager, the last one of several; the manager itself where nobody else does."""
    having = [each for each in every(live) if each.has(path)]
    others = [each for each in having if each.manager != manager]
    return max(others or having, key=lambda each: each.since, default=None)

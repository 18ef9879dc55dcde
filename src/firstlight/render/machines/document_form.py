"""Fields of the v1alpha1 document said in the documents that replaced them in Talos 1.14, with the same meaning.

Fields move in groups: Talos refuses a document beside any of the old fields that it replaces, so a group moves as a
whole or stays as a whole. What has no successor keeps its group where it is, and is named. The cluster's identity and
keys have no group (Talos takes them beside documents).
"""

import copy
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.cluster import MachineRole

Steps = tuple[str, ...]
Document = dict[str, Any]
_DELETE = "$patch"
_ESCAPED = "$$patch"
"""As talhelper wants it, for which a single dollar begins a variable."""
_PATCHES = frozenset({_DELETE, _ESCAPED})


class CannotMove(Exception):
    """A group of fields stays where it is."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.field, self.why = field, why


@dataclasses.dataclass(frozen=True, slots=True)
class KeptFields:
    """A group that stays in the v1alpha1 document."""

    group: str
    field: str
    """The field because of which it stays."""
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class DocumentForm:
    """A v1alpha1 document in the new form."""

    rest: Mapping[str, Any]
    """What is left of it; empty if nothing is."""
    documents: tuple[Document, ...] = ()
    kept: tuple[KeptFields, ...] = ()
    moved: Mapping[str, Steps] = dataclasses.field(default_factory=dict)
    """The groups that are no longer in it, each with the first of its fields."""


@dataclasses.dataclass
class Fields:
    """A v1alpha1 document out of which fields are taken."""

    value: dict[str, Any]
    is_whole: bool
    """Whether it is a whole config: what a patch does not say, another file does."""
    role: MachineRole | None
    """Whose it is; None for machines of both roles."""
    is_patched: bool = False
    """Whether a patch says something in the group that is asked for, so that a whole config must have its document."""
    moved: list[Steps] = dataclasses.field(default_factory=list)

    @property
    def is_plane(self) -> bool:
        """Whether it is for control planes alone."""
        return self.role is MachineRole.CONTROL_PLANE

    def get(self, *steps: str) -> Any:
        """A value; None where there is none."""
        return value_at(self.value, *steps)

    def take(self, *steps: str) -> Any:
        """Take a value out; None where there is none.

        Raises:
            CannotMove: It is taken away by ``$patch``, which would mean something else in a document.
        """
        found = self.get(*steps)
        if found is None:
            return None
        if _has_patch(found):
            raise CannotMove(".".join(steps), "a $patch has no counterpart")
        parent = self.get(*steps[:-1])
        del parent[steps[-1]]
        self.moved.append(steps)
        return found

    def require_empty(self, *steps: str, why: str = "has no successor") -> None:
        """See that nothing is left of a mapping, and take it out.

        Raises:
            CannotMove: Something is.
        """
        left = self.get(*steps)
        if isinstance(left, Mapping) and left:
            raise CannotMove(".".join((*steps, str(next(iter(left))))), why)
        if left is not None:
            self.take(*steps)

    def require_plane(self, field: str, kind: str) -> None:
        """See that a document comes to control planes alone, since Talos refuses it on workers.

        Raises:
            CannotMove: It does not.
        """
        if not self.is_plane:
            raise CannotMove(field, f"only control planes take {kind}; move it to their own patch first")

    def require(self, document: Document, key: str, field: str) -> None:
        """See that a whole config has what a document must say.

        Raises:
            CannotMove: It does not.
        """
        if self.is_whole and document.get(key) is None:
            raise CannotMove(field, f"{document['kind']} must say {key}, and the config leaves it to Talos")


Group = Callable[[Fields], Iterator[Document]]


def in_documents(
    value: Mapping[str, Any], groups: Mapping[str, Group], *, is_whole: bool, role: MachineRole | None,
    keep: Collection[str] = (), beside: Collection[tuple[str, str]] = (), patched: Collection[str] = (),
) -> DocumentForm:  # fmt: skip
    """A v1alpha1 document in the new form, group by group.

    Args:
        value: The document: a whole config, or a patch.
        groups: What moves what, by name.
        is_whole: Whether it is a whole config.
        role: Whose it is; None for machines of both roles.
        keep: Groups that stay, since they do in another file of the cluster.
        beside: Kinds and names of documents in the same file, where one cannot be a second time.
        patched: Groups in which patches say something.
    """
    rest: dict[str, Any] = copy.deepcopy(dict(value))
    documents: list[Document] = []
    kept: list[KeptFields] = []
    moved: dict[str, Steps] = {}
    for name, move in groups.items():
        if name in keep:
            continue
        fields = Fields(copy.deepcopy(rest), is_whole, role, is_patched=name in patched)
        try:
            made = list(move(fields))
            for each in made:
                if (each["kind"], each.get("name", "")) in beside:
                    raise CannotMove(_named(fields, name), f"the file has a {each['kind']} already; join them by hand")
        except CannotMove as error:
            kept.append(KeptFields(name, error.field, error.why))
            continue
        rest = fields.value
        if fields.moved:
            moved[name] = fields.moved[0]
        documents += made
    return DocumentForm(_without_empty(rest, value), _joined(documents), tuple(kept), moved)


def _named(fields: Fields, group: str) -> str:
    return ".".join(fields.moved[0]) if fields.moved else group


def value_at(value: Any, *steps: str) -> Any:
    """What stands at a way through mappings; None where nothing does."""
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def document(kind: str, name: str = "", **said: Any) -> Document:
    """A document with what is said in it."""
    head = {"apiVersion": "v1alpha1", "kind": kind, **({"name": name} if name else {})}
    return head | {key: value for key, value in said.items() if value is not None}


def deletion(kind: str) -> Document:
    """A patch that takes a document away."""
    return document(kind) | {_DELETE: "delete"}


def escaped(value: Any) -> Any:
    """A value as talhelper wants it in a file."""
    if isinstance(value, Mapping):
        return {_ESCAPED if key == _DELETE else key: escaped(each) for key, each in value.items()}
    return [escaped(each) for each in value] if isinstance(value, list) else value


def _joined(documents: Sequence[Document]) -> tuple[Document, ...]:
    """One document for each kind and name: several groups may say something in it."""
    found: dict[tuple[str, str], Document] = {}
    for each in documents:
        key = each["kind"], each.get("name", "")
        found[key] = _merged(found[key], each) if key in found else each
    return tuple(found.values())


def _merged(one: Document, other: Document) -> Document:
    both = dict(one)
    for key, value in other.items():
        mine = both.get(key)
        both[key] = {**mine, **value} if isinstance(mine, Mapping) and isinstance(value, Mapping) else value
    return both


def _without_empty(rest: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What is left, without mappings that something was taken out of until nothing was left."""
    found: dict[str, Any] = {}
    for key, value in rest.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            inner = _without_empty(value, old)
            if inner or not old:
                found[key] = inner
        else:
            found[key] = value
    return found


def _has_patch(value: Any) -> bool:
    if isinstance(value, Mapping):
        return not _PATCHES.isdisjoint(value) or any(map(_has_patch, value.values()))
    return isinstance(value, list) and any(map(_has_patch, value))

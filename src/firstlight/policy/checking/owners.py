"""``firstlight-rules/owners.yaml``: who may approve changes, and how many of a team must."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from firstlight import errors
from firstlight.document import reading
from firstlight.document.reading import Document
from firstlight.model.remark import Grade

FILE = "firstlight-rules/owners.yaml"
EXAMPLE = "people: [{name: Ada, email: ada@example.org, roles: [lead]}]"
APPROVALS = 2
"""How many of a team must agree where the file does not say."""

Role = Literal["peer", "lead"]
_ROLES: tuple[Role, ...] = ("peer", "lead")
_FIELDS = ("name", "email", "roles")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who may approve."""

    name: str
    email: str
    roles: frozenset[Role]

    @property
    def is_lead(self) -> bool:
        """Whether a lead's approval is theirs to give."""
        return "lead" in self.roles

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """Everybody who may approve."""

    people: tuple[Person, ...]
    approvals: int = APPROVALS

    def by_email(self, email: str) -> Person | None:
        """Somebody by their address, however it is capitalised."""
        return next((each for each in self.people if each.email.casefold() == email.casefold()), None)


def load(data: bytes, *, path: str = FILE) -> Owners:
    """Read the file.

    Raises:
        errors.ConfigError: It says something that it must not say; with the line, and what to write instead.
    """
    contents = reading.read(data, path)
    wrong = [each for each in contents.remarks if each.grade in (Grade.ERROR, Grade.WARNING)]
    if wrong:  # a key that is given twice could hide somebody
        first = wrong[0]
        raise errors.ConfigError(first.message, path=path, line=first.place.line, hint=first.hint)
    if len(contents.documents) != 1:
        raise errors.ConfigError("there must be one document in it", path=path, hint=f"Write {EXAMPLE}")
    return _Reading(contents.documents[0]).owners()


class _Reading:
    """One document, with the way to say where something is wrong."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def owners(self) -> Owners:
        value = self._mapping(self._document.value, (), ("people", "team"))
        people = value.get("people")
        if not isinstance(people, list) or not people:
            raise self._wrong("people must be a list of at least one person", EXAMPLE, "people")
        found: list[Person] = []
        for number, each in enumerate(people):
            person = self._person(each, number)
            if any(person.email.casefold() == other.email.casefold() for other in found):
                raise self._wrong(f"{person.email} is listed twice", "Keep one of them.", "people", number)
            found.append(person)
        return Owners(people=tuple(found), approvals=self._approvals(value.get("team", {})))

    def _person(self, value: Any, number: int) -> Person:
        at = ("people", number)
        given = self._mapping(value, at, _FIELDS)
        name, email = given.get("name"), given.get("email")
        if not isinstance(name, str) or not name.strip():
            raise self._wrong("a person needs a name", "name: Ada", *at)
        if not isinstance(email, str) or email.count("@") != 1 or email.split() != [email] or {*email} & {*"<>"}:
            raise self._wrong(f"{name} needs an address", "email: ada@example.org", *at, "email")
        roles = given.get("roles", ["peer"])
        if not isinstance(roles, list) or not roles or any(each not in _ROLES for each in roles):
            raise self._wrong(f"the roles of {name} must be a list of peer and lead", "roles: [peer]", *at, "roles")
        return Person(name=" ".join(name.split()), email=email, roles=frozenset(roles))

    def _approvals(self, value: Any) -> int:
        count = self._mapping(value, ("team",), ("approvals",)).get("approvals", APPROVALS)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise self._wrong("team.approvals must be a number from 1 on", "approvals: 2", "team", "approvals")
        return count

    def _mapping(self, value: Any, at: tuple[str | int, ...], known: tuple[str, ...]) -> Mapping[str, Any]:
        name = str(at[0]) if at else "the file"
        if not isinstance(value, Mapping):
            raise self._wrong(
                f"{name} must be a mapping", EXAMPLE if not at or at[0] == "people" else "approvals: 2", *at
            )
        for key in value:
            if key not in known:
                raise self._wrong(f"{key!r} is no field here", f"{' or '.join(known)}", *at, key)
        return value

    def _wrong(self, message: str, instead: str, *steps: str | int) -> errors.ConfigError:
        place = self._document.place(*steps)
        hint = instead if instead.endswith(".") else f"Write {instead}"
        return errors.ConfigError(message, path=place.path, line=place.line, hint=hint)

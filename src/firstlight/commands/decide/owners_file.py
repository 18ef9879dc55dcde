"""``firstlight-rules/owners.yaml``: who may approve changes, and how many of a team must."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from firstlight.document import mistakes
from firstlight.document.mistakes import FormHints, FormMistakes, OwnExplanation
from firstlight.model.diagnostic import Diagnostic
from firstlight.repo.team_files import OWNERS

FILE = OWNERS
EXAMPLE = "people: [{name: Ada, email: ada@example.org, roles: [lead]}]"
APPROVALS = 2
"""How many of a team must agree where the file does not say."""

Role = Literal["peer", "lead"]
_HINTS = FormHints(
    required={"people": EXAMPLE.removeprefix("people: "), "name": "Ada", "email": "ada@example.org"},
    own=(
        OwnExplanation("pattern", ("name",), "is no name", "Write name: Ada"),
        OwnExplanation("pattern", ("email",), "is no address", "Write email: ada@example.org"),
    ),
)


class _Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the file."""


class Approver(_Form, frozen=True):
    """Somebody who may approve."""

    name: Annotated[str, Meta(pattern=r"\S")]
    email: Annotated[str, Meta(pattern=r"^[^@<>\s]+@[^@<>\s]+(?![\s\S])")]
    roles: Annotated[frozenset[Role], Meta(min_length=1)] = frozenset({"peer"})

    @property
    def is_lead(self) -> bool:
        """Whether a lead's approval is theirs to give."""
        return "lead" in self.roles

    def __str__(self) -> str:
        return f"{' '.join(self.name.split())} <{self.email}>"


class Team(_Form, frozen=True):
    """What a whole team must do."""

    approvals: Annotated[int, Meta(ge=1)] = APPROVALS


class ChangeOwners(_Form, frozen=True):
    """Everybody who may approve."""

    people: Annotated[tuple[Approver, ...], Meta(min_length=1)]
    team: Team = Team()

    @property
    def approvals(self) -> int:
        """How many of a team must agree."""
        return self.team.approvals

    def by_email(self, email: str) -> Approver | None:
        """Somebody by their address, however it is capitalised."""
        return next((each for each in self.people if each.email.casefold() == email.casefold()), None)


def both(one: ChangeOwners, other: ChangeOwners) -> ChangeOwners:
    """Who may approve by two lists: whoever is in both, as a lead where both say so."""
    mutual = []
    for person in one.people:
        same = other.by_email(person.email)
        if same is not None:
            roles: frozenset[Role] = person.roles & same.roles or frozenset({"peer"})
            mutual.append(Approver(name=person.name, email=person.email, roles=roles))
    return ChangeOwners(people=tuple(mutual), team=Team(approvals=max(one.approvals, other.approvals)))


def load(data: bytes) -> ChangeOwners:
    """Read the file.

    Raises:
        Mistaken: It says something that it must not say; with the line, and what to write instead.
    """
    found, document = mistakes.parsed(data, FILE, ChangeOwners, hints=_HINTS)
    twice = [
        Diagnostic.error(
            "approver-twice",
            f"{each.email} is listed twice",
            at=document.place("people", number),
            fix="Keep one of them.",
        )
        for number, each in enumerate(found.people)
        if found.by_email(each.email) is not each
    ]
    if twice:
        raise FormMistakes(twice)
    return found

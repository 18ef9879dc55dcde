"""The list of who may approve: what is read, and what is refused with its line."""

import pytest

from firstlight import errors
from firstlight.commands.decide import owners_file

GOOD = b"""\
people:
  - {name: Ada, email: ada@example.org, roles: [lead]}
  - {name: Bo, email: Bo@example.org}
team: {approvals: 3}
"""


def test_what_is_read() -> None:
    found = owners_file.load(GOOD)

    assert [str(each) for each in found.people] == ["Ada <ada@example.org>", "Bo <Bo@example.org>"]
    assert [each.is_lead for each in found.people] == [True, False]
    assert found.approvals == 3
    assert found.by_email("ADA@example.org") == found.people[0]
    assert found.by_email("eve@example.org") is None


def test_two_are_enough_where_nothing_is_said() -> None:
    assert owners_file.load(b"people: [{name: Ada, email: ada@example.org}]").approvals == 2


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("people: []", 1, "people is empty"),
        ("team: {approvals: 2}", 1, "people is missing"),
        ("people:\n- {name: Ada}", 2, "people[0].email is missing"),
        ("people:\n- {email: ada@example.org}", 2, "people[0].name is missing"),
        ("people:\n- {name: ' ', email: ada@example.org}", 2, "people[0].name is no name"),
        ("people:\n- {name: Ada, email: ada}", 2, "people[0].email is no address"),
        ("people:\n- {name: Ada, email: a@b@example.org}", 2, "people[0].email is no address"),
        ("people:\n- {name: Ada, email: 'a@example.org>'}", 2, "people[0].email is no address"),
        ('people:\n- {name: Ada, email: "a@example.org\\n"}', 2, "people[0].email is no address"),
        ("people:\n- {name: Ada, email: a@example.org, roles: [boss]}", 2, "must be lead or peer"),
        ("people:\n- {name: Ada, email: a@example.org, roles: []}", 2, "people[0].roles is empty"),
        ("people:\n- {name: Ada, email: a@example.org, roles: lead}", 2, "people[0].roles must be a list"),
        ("people:\n- {name: Ada, email: a@example.org, role: lead}", 2, "people[0].role is no field"),
        ("people:\n- {name: Ada, email: a@example.org}\n- {name: Bo, email: A@example.org}", 3, "listed twice"),
        ("people:\n- {name: Ada, email: a@example.org}\nteam: {approvals: 0}", 3, "must be at least 1"),
        ("people:\n- {name: Ada, email: a@example.org}\nteam: {approvals: true}", 3, "must be a number"),
        ("people:\n- {name: Ada, email: a@example.org}\nteam: 2", 3, "team must be a mapping"),
        ("people:\n- {name: Ada, email: a@example.org}\nowners: []", 3, "owners is no field"),
        ("people:\n- Ada", 2, "people[0] must be a mapping"),
        ("people:\n- {name: Ada, email: a@example.org}\npeople: []", 3, "given twice"),
        ("people: [", 2, "not closed"),
        ("", 0, "one document"),
    ],
)
def test_what_is_refused(text: str, line: int, says: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        owners_file.load(text.encode())

    assert says in caught.value.message
    assert caught.value.message.startswith(f"{owners_file.FILE}:{line}:" if line else f"{owners_file.FILE}: ")
    assert caught.value.path == owners_file.FILE

"""Who may be the same person: in doubt they are, since that only keeps them from approving."""

import pytest

from firstlight.commands.decide import trailers
from firstlight.commands.decide.trailers import TrailerPerson


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada Lovelace", "ada  lovelace"),
        ("Ada Lovelace", "Ada-Lovelace"),
        ("J\u00f6rg", "Jo\u0308rg"),
        ("Paul", "\u0420aul"),
        ("Bob", "B0b"),
        ("Ali", "A1i"),
        ("Arno", "Amo"),
        ("O\u2019Brien", "O'Brien"),
        ("\u0141ukasz", "Lukasz"),
        ("\u2160da", "Ida"),
        ("Ada\ufe0f", "Ada"),
        ("Stra\u00dfe", "Strasse"),
    ],
)
def test_names_that_look_alike(one: str, other: str) -> None:
    assert trailers.skeleton(one) == trailers.skeleton(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Ada", "Adam"), ("Bo", "Cy"), ("\u5f20\u4f1f", "\u738b\u82b3"), ("Clara", "Dara")]
)
def test_names_that_do_not(one: str, other: str) -> None:
    assert trailers.skeleton(one) != trailers.skeleton(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada@example.org", "ADA@Example.ORG"),
        ("ada+git@example.org", "ada+forge@example.org"),
        ("12345+ada@users.noreply.github.com", "ada@users.noreply.github.com"),
        ("a.da@gmail.com", "ada@googlemail.com"),
        ("ada@example.org", "\u0430da@example.org"),
    ],
)
def test_addresses_of_one_mailbox(one: str, other: str) -> None:
    assert trailers.mailbox(one) == trailers.mailbox(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada@example.org", "ada@example.com"),
        ("ada@example.org", "adam@example.org"),
        ("1+ada@users.noreply.github.com", "1+bo@users.noreply.github.com"),
        ("+a@example.org", "+b@example.org"),
        ("ada@exampleorg", "ada@example.org"),
    ],
)
def test_addresses_of_two(one: str, other: str) -> None:
    assert trailers.mailbox(one) != trailers.mailbox(other)


def test_nothing_is_not_the_same_as_nothing() -> None:
    assert not trailers.may_be_same(TrailerPerson("", ""), TrailerPerson("", ""))
    assert not trailers.may_be_same(
        TrailerPerson("\U0001f600", "a@example.org"), TrailerPerson("\U0001f600", "b@example.org")
    )

"""Places in the texts of the table of actors, and what is put there."""

import re
from collections.abc import Mapping
from typing import Protocol

_PLACE = re.compile(r"\{([a-z]+)(?::([A-Za-z0-9.-]+))?\}")


class Facts(Protocol):
    """What is known of an actor before it runs."""

    @property
    def plain(self) -> Mapping[str, str]:
        """By the name of the place: address, data, home, namespace and so on."""

    def port(self, number: int) -> int:
        """Where a port of a usual number is in this lab."""

    def actor(self, row: str) -> str:
        """The address of another row's actor in the same namespace."""


def fill(text: str, facts: Facts) -> str:
    """Put in what is known of an actor; places of contents stay.

    Raises:
        ValueError: There is no such place.
    """

    def value(found: re.Match[str]) -> str:
        kind, name = found.groups()
        if kind == "content":
            return found.group()
        if kind == "port" and name:
            return str(facts.port(int(name)))
        if kind == "actor" and name:
            return facts.actor(name)
        if name is None and kind in facts.plain:
            return facts.plain[kind]
        raise ValueError(f"{found.group()} is no place that can be filled in")

    return _PLACE.sub(value, text)


def fill_contents(text: str, places: Mapping[str, str]) -> str:
    """Put in where contents are."""
    return _PLACE.sub(lambda found: places[found[2]] if found[1] == "content" else found.group(), text)


def contents(text: str) -> tuple[str, ...]:
    """The contents that a text names."""
    return tuple(name for kind, name in _PLACE.findall(text) if kind == "content")


def ports(text: str) -> tuple[int, ...]:
    """The ports that a text names."""
    return tuple(int(name) for kind, name in _PLACE.findall(text) if kind == "port")

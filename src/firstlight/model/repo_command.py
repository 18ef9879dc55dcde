"""The commands that a repo wants to run: those of hooks, and of gates that are commands."""

import dataclasses
import shlex
from collections.abc import Iterable, Iterator

from firstlight.model.component import Component
from firstlight.model.own_gate import CommandGate
from firstlight.model.place import Place

_SHOWN = 160
"""Characters of a command line that are shown in a message."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RepoCommand:
    """One command, and what for."""

    words: tuple[str, ...]
    component: str
    what: str
    """``hook``, ``unless of a hook``, ``gate 2``."""
    place: Place


def of(component: Component) -> Iterator[RepoCommand]:
    """The commands that come with a component, in the order in which they would run."""
    for number, gate in enumerate(component.gates, 1):
        if isinstance(gate, CommandGate):
            yield RepoCommand(words=gate.run, component=component.name, what=f"gate {number}", place=gate.place)
    for hook in component.hooks:
        yield RepoCommand(words=hook.unless, component=component.name, what="unless of a hook", place=hook.place)
        yield RepoCommand(words=hook.run, component=component.name, what="hook", place=hook.place)


def wanted(components: Iterable[Component]) -> tuple[RepoCommand, ...]:
    """The commands of components, each once however many want it."""
    found: dict[tuple[str, ...], RepoCommand] = {}
    for component in components:
        for each in of(component):
            found.setdefault(each.words, each)
    return tuple(found.values())


def shown(words: tuple[str, ...]) -> str:
    """A command as a person would type it, and not too long."""
    line = shlex.join(words)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"

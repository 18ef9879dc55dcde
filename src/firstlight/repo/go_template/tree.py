"""A template as a tree: text, actions, blocks, and the pipelines in them."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Literal:
    """A string, number, boolean or nil."""

    value: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Dot:
    """The cursor, ``.``."""


@dataclasses.dataclass(frozen=True, slots=True)
class Variable:
    """``$`` or ``$name``."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Name:
    """A function."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Fields:
    """``.a.b`` of the cursor, of a variable, or of what parentheses give."""

    of: "Operand"
    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """A function or value with its arguments."""

    words: tuple["Operand", ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Pipe:
    """Commands that pass their result on, and the variables that are given the last one."""

    commands: tuple[Command, ...]
    variables: tuple[str, ...] = ()
    is_assignment: bool = False
    """``$x = …`` changes a variable that is there already; ``$x := …`` makes one."""


Operand = Literal | Dot | Variable | Name | Fields | Pipe


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """What stands between the actions."""

    text: str
    line: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """``{{ pipe }}``."""

    pipe: Pipe
    line: int
    source: str
    """As it is written, with its braces."""


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """``if``, ``with`` and ``range``; an ``else if`` is a block alone in ``otherwise``."""

    keyword: str
    pipe: Pipe
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...]
    line: int
    source: str
    end: int = 0
    """The line of its ``end``."""


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """``{{ template "name" pipe }}``."""

    name: str
    pipe: Pipe | None
    line: int
    source: str


@dataclasses.dataclass(frozen=True, slots=True)
class Jump:
    """``break`` or ``continue``."""

    keyword: str
    line: int


Node = Text | Action | Block | Call | Jump


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """A parsed template with what it defines."""

    nodes: tuple[Node, ...]
    definitions: dict[str, tuple[Node, ...]]

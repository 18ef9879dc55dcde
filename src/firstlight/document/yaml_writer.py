"""Values written as YAML that Go reads back as the same, in both dialects.

Stock emitters write ``685e3``, ``08`` and ``y`` bare, which Go reads as numbers and a boolean. Here a text stands
without quotes only if every reader takes it for one. Several lines become a literal (``|``) where that is exact.
"""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document import scalars, yaml_values

_INDICATORS = frozenset(",[]{}#&*!|>'\"%@`?:=<~")
"""No text begins with these unquoted: they mean something there, or look as if they did."""
_IN_FLOW = frozenset(",[]{}?:")
"""Where brackets are, no text has these unquoted; readers disagree about some of them."""
_OTHER_READERS = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-9]{1,2})+(?:\.[0-9_]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*")
"""Not to Go, but to readers of YAML 1.1: ``12:30`` is a number, and dates have more forms."""
_NOT_LITERAL = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_LONG_KEY = 1000
"""Characters from which on a key needs a ``?``: libyaml and Go look 1024 ahead for the colon."""


@dataclasses.dataclass(frozen=True, slots=True)
class YamlStyle:
    """How a file is indented."""

    step: int = 2
    """Columns from a key to the keys below it."""
    dash: int = 2
    """Columns from a key to the dashes below it; 0 is usual as well."""
    quote: str = ""
    """The quotes of texts that need none."""
    keeps: bool = True
    """Whether line ends at the end of a text may be written as empty lines, which those that follow would join."""
    has_literals: bool = True
    """Whether several lines may be written as such; comments that follow with the same indentation would join them."""


DEFAULT_STYLE = YamlStyle()


def dump(value: Any, *, style: YamlStyle = DEFAULT_STYLE) -> str:
    """One document.

    Raises:
        ValueError: A value cannot be written so that Go reads it back; the message says where it is.
    """
    if is_collection(value):
        return collection(value, 0, style=style) + "\n"
    return after_key(value, -style.step, style=style)[1:] + "\n"


def dump_all(values: Iterable[Any], *, style: YamlStyle = DEFAULT_STYLE) -> str:
    """Several documents with ``---`` between them.

    Raises:
        ValueError: A value cannot be written so that Go reads it back; the message says where it is.
    """
    return "---\n".join(dump(value, style=style) for value in values)


def after_key(value: Any, column: int, *, style: YamlStyle, where: str = "$", level: int = 0) -> str:
    """What follows the colon of a key at ``column``: a space and a scalar, or lines; without the last line's end."""
    if is_collection(value):
        inner = column + (style.step if isinstance(value, Mapping) else style.dash)
        return "\n" + " " * inner + collection(value, inner, style=style, where=where, level=level)
    if isinstance(value, str) and (lines := literal(value, max(column, 0) + style.step, step=style.step, style=style)):
        return " " + lines
    return " " + flow(value, style=style, is_inside=False, where=where)


def after_dash(value: Any, column: int, *, style: YamlStyle, where: str = "$", level: int = 0) -> str:
    """What follows a dash at ``column``; a mapping begins on the same line."""
    if is_collection(value):
        return " " + collection(value, column + 2, style=style, where=where, level=level)
    if isinstance(value, str) and (lines := literal(value, column + 2, step=2, style=style)):
        return " " + lines
    return " " + flow(value, style=style, is_inside=False, where=where)


def collection(value: Any, column: int, *, style: YamlStyle, where: str = "$", level: int = 0) -> str:
    """A mapping or list that is not empty, as a block; the first line without its indentation."""
    if level > yaml_values.DEPTH_LIMIT:
        raise ValueError(f"{where}: nested deeper than {yaml_values.DEPTH_LIMIT} levels")
    pad = "\n" + " " * column
    if not isinstance(value, Mapping):
        return pad.join(
            "-" + after_dash(each, column, style=style, where=f"{where}[{n}]", level=level + 1)
            for n, each in enumerate(value)
        )
    return pad.join(
        f"{key(name, where=where, pad=pad)}"
        f"{after_key(each, column, style=style, where=f'{where}.{name}', level=level + 1)}"
        for name, each in value.items()
    )


def key(name: Any, *, where: str = "$", pad: str = "\n") -> str:
    """A key with its colon."""
    if not isinstance(name, str):
        raise ValueError(f"{where}: the key {name!r} is no text")
    written = text(name, where=where)
    return f"{written}:" if len(written) < _LONG_KEY else f"? {written}{pad}:"


def flow(
    value: Any, *, style: YamlStyle = DEFAULT_STYLE, is_inside: bool = True, where: str = "$", level: int = 0
) -> str:
    """A value on one line; ``is_inside`` of brackets more characters need quotes."""
    if level > yaml_values.DEPTH_LIMIT:
        raise ValueError(f"{where}: nested deeper than {yaml_values.DEPTH_LIMIT} levels")
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return text(value, quote=style.quote, is_inside=is_inside, where=where)
        case int() if -(1 << 63) <= value < 1 << 64:
            return str(int(value))
        case int():
            raise ValueError(f"{where}: a number does not fit into 64 bits; write it as a text")
        case float() if math.isfinite(value):
            return repr(float(value))
        case float():
            raise ValueError(f"{where}: {value} is no number that Kubernetes takes")
        case Mapping():
            pairs = (
                f"{flow_key(name, where)} {flow(each, style=style, where=f'{where}.{name}', level=level + 1)}"
                for name, each in value.items()
            )
            return "{" + ", ".join(pairs) + "}"
        case list() | tuple():
            items = (flow(each, style=style, where=f"{where}[{n}]", level=level + 1) for n, each in enumerate(value))
            return "[" + ", ".join(items) + "]"
    raise ValueError(f"{where}: a {type(value).__name__} cannot be written as YAML")


def text(value: str, *, quote: str = "", is_inside: bool = False, where: str = "$") -> str:
    """A text on one line: bare if everybody reads it as it stands, else in quotes."""
    value = str.__str__(value)
    if value.isprintable():
        if not quote and is_bare(value) and not (is_inside and _IN_FLOW.intersection(value)):
            return value
        if quote == "'" or (not quote and ('"' in value or "\\" in value) and "'" not in value):
            return "'" + value.replace("'", "''") + "'"
    return f'"{"".join(_escaped(each, where) for each in value)}"'


def is_bare(value: str) -> bool:
    """Whether a printable text needs no quotes outside of brackets."""
    return (
        value[:1] not in _INDICATORS
        and value.strip() == value != ""
        and not value.startswith(("- ", "---", "..."))
        and value != "-"
        and ": " not in value
        and " #" not in value
        and not value.endswith(":")
        and scalars.is_text(value)
        and not _OTHER_READERS.fullmatch(value)
    )


def literal(value: str, column: int, *, step: int, style: YamlStyle = DEFAULT_STYLE) -> str:
    """Several lines as a literal at ``column``, which is ``step`` from its parent; empty if it cannot be one."""
    value = str.__str__(value)
    if "\n" not in value or _NOT_LITERAL.search(value):
        return ""
    if not style.has_literals or (value.endswith("\n\n") and not style.keeps):
        return ""
    body = value.rstrip("\n")
    last = body[body.rfind("\n") + 1 :]
    if not last.strip(" \t"):  # lines of blanks at the end would be taken for no lines
        return ""
    header = "|"
    if value.lstrip("\n")[0] in " \t":  # else its own blanks would be taken for indentation
        if step > 9:
            return ""
        header += str(step)
    ends = len(value) - len(body)
    header += "-" if ends == 0 else "" if ends == 1 else "+"
    pad = "\n" + " " * column
    lines = "".join(pad + line if line else "\n" for line in body.split("\n"))
    return header + lines + "\n" * max(ends - 1, 0)


def flow_key(name: Any, where: str = "$") -> str:
    """A key with its colon, inside of brackets."""
    if not isinstance(name, str):
        raise ValueError(f"{where}: the key {name!r} is no text")
    written = text(name, is_inside=True, where=where)
    return f"{written}:" if len(written) < _LONG_KEY else f"? {written} :"


def is_collection(value: Any) -> bool:
    """Whether a value is a mapping or list with something in it."""
    return isinstance(value, Mapping | list | tuple) and len(value) > 0


def _escaped(character: str, where: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"{where}: half of a surrogate pair is no character")
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

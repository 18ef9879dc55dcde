"""YAML as omnictl reads it: values with their lines, plain scalars as Go's library understands them.

Python and Go disagree about plain scalars: ``12:34:56`` is a number to PyYAML and a text to Go, ``0o644`` the other
way round. omnictl reads an inline patch and writes it again before it sends it, so that ``1.10`` arrives as ``1.1``.
The same happens here; the tests hold ``omnictl cluster template render`` against it.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NoReturn

import yaml

from firstlight import errors
from firstlight.document import scalars, yaml_values
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place

SIZE_LIMIT = 32 * 1024 * 1024
"""Bytes of one file or patch: the largest message that a Talos machine accepts."""
VALUE_LIMIT = 1_000_000
"""Values of one patch after its aliases are resolved: a few lines of aliases can mean billions."""

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = {f"{_TAG}{kind}" for kind in ("null", "bool", "int", "float", "timestamp", "merge", "value")}
_RESOLVER = yaml.SafeLoader("")
_NULLS = {"", "~", "null", "Null", "NULL"}
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_YES = {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"}
_NO = {"n", "N", "no", "No", "NO", "off", "Off", "OFF"}
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")


class OmniTemplateError(errors.ConfigError):
    """Something that omnictl or Omni's server refuses in a template, with its code."""

    def __init__(self, code: str, message: str, *, path: str, line: int = 0, hint: str = "") -> None:
        super().__init__(message, path=path, line=line, hint=hint)
        self.diagnostic = Diagnostic.error(code, message, at=Place(path, line), fix=hint)


def documents(text: str, path: str, *, first_line: int = 1) -> list[yaml.Node]:
    """The documents of a file, an empty one as a null.

    Raises:
        OmniTemplateError: It is not YAML, a key stands twice in one mapping, or it is nested too deeply.
    """
    shift = first_line - 1
    try:
        if line := yaml_values.too_deep(text):
            raise OmniTemplateError(
                "omni-yaml-wrong", f"nested deeper than {yaml_values.DEPTH_LIMIT} levels", path=path, line=line + shift
            )
        found = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        line = mark.line + 1 + shift if mark else first_line
        raise OmniTemplateError("omni-yaml-wrong", problem, path=path, line=line) from error
    for document in found:
        if repeated := _repeated(document):
            key, line = repeated
            raise OmniTemplateError(
                "omni-yaml-wrong", f"{key} is given twice", path=path, line=line + shift, hint="Keep one of them."
            )
    return found


def line_of(node: yaml.Node | yaml.Event) -> int:
    """The 1-based line where a value begins."""
    return int(node.start_mark.line) + 1 if node.start_mark else 0


def is_null(node: yaml.Node) -> bool:
    """Nothing is written there, or a null: Go then leaves the field as if its key were missing."""
    return isinstance(node, yaml.ScalarNode) and not node.style and node.value in _NULLS


def entries(node: yaml.MappingNode, path: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """Key and value nodes by key, merge keys (``<<``) resolved."""
    return {key.value: (key, value) for key, value in _pairs(node, path)}


class YamlFields:
    """A mapping with declared keys, asked for one by one; scalars are texts, as Go reads them into texts."""

    def __init__(self, path: str, node: yaml.Node, what: str, keys: Collection[str]) -> None:
        self.path, self.what, self.line = path, what, line_of(node)
        if not isinstance(node, yaml.MappingNode):
            self.fail("omni-field-type-wrong", f"{what} is not a mapping", hint=f"Its keys: {', '.join(sorted(keys))}.")
        self._entries = entries(node, path)
        for key, (at, _) in self._entries.items():
            if key not in keys:
                self.fail(
                    "omni-field-unknown",
                    f"{what} has no key {key}",
                    line=line_of(at),
                    hint=f"It has these: {', '.join(sorted(keys))}.",
                )

    def fail(self, code: str, message: str, key: str = "", *, line: int = 0, hint: str = "") -> NoReturn:
        """Say what is wrong, at the line of ``key`` if there is one."""
        raise OmniTemplateError(code, message, path=self.path, line=line or self.line_of(key), hint=hint)

    def line_of(self, key: str) -> int:
        """The line of a key; that of the whole if it is not there."""
        return line_of(self._entries[key][0]) if key and key in self._entries else self.line

    def node(self, key: str) -> yaml.Node | None:
        """What stands there, if it is not null."""
        found = self._entries.get(key)
        return None if found is None or is_null(found[1]) else found[1]

    def text(self, key: str) -> str:
        """A scalar as it is written; empty if there is none."""
        node = self.node(key)
        if node is None:
            return ""
        if not isinstance(node, yaml.ScalarNode):
            self.fail("omni-field-type-wrong", f"{key} is not a text", key)
        return str(node.value)

    def flag(self, key: str) -> bool:
        """A truth value, with the old spellings that Go accepts where it expects one."""
        text = self.text(key)
        if text in _YES or _BOOLS.get(text):
            return True
        if text and text not in _NO and text not in _BOOLS:
            self.fail("omni-field-type-wrong", f"{key} is {text!r}", key, hint="Write true or false.")
        return False

    def texts(self, key: str) -> tuple[tuple[str, int], ...]:
        """A list of scalars, with their lines."""
        found = []
        for node in self.items(key):
            if not isinstance(node, yaml.ScalarNode):
                self.fail(
                    "omni-field-type-wrong",
                    f"an entry of {key} is not a text",
                    line=line_of(node),
                    hint="Write the value alone.",
                )
            found.append((str(node.value), line_of(node)))
        return tuple(found)

    def text_map(self, key: str) -> dict[str, str]:
        """A mapping of scalars."""
        node = self.node(key)
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.fail(
                "omni-field-type-wrong", f"{key} is not a mapping", key, hint=f"Write {key}: {{my-key: my-value}}."
            )
        found = {}
        for name, (at, value) in entries(node, self.path).items():
            if not isinstance(value, yaml.ScalarNode):
                self.fail("omni-field-type-wrong", f"{key}.{name} is not a text", line=line_of(at))
            found[name] = "" if is_null(value) else str(value.value)
        return found

    def child(self, key: str, keys: Collection[str]) -> "YamlFields | None":
        """A mapping inside."""
        node = self.node(key)
        return None if node is None else YamlFields(self.path, node, f"{self.what}.{key}", keys)

    def items(self, key: str) -> list[yaml.Node]:
        """The entries of a list."""
        node = self.node(key)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.fail(
                "omni-field-type-wrong",
                f"{key} is not a list",
                key,
                hint="Write one entry for each line, after a dash.",
            )
        return list(node.value)


def find(node: yaml.Node, steps: Sequence[str], path: str) -> tuple[yaml.Node, int] | None:
    """The value below these keys and the line of the last one."""
    line = line_of(node)
    for step in steps:
        found = entries(node, path).get(step) if isinstance(node, yaml.MappingNode) else None
        if found is None:
            return None
        line, node = line_of(found[0]), found[1]
    return node, line


def value(node: yaml.Node, path: str) -> Any:
    """What Go understands; dates become texts, as they do when they are sent.

    Raises:
        OmniTemplateError: A tag that is nobody's, a key that is not a scalar, or aliases that mean far too much.
    """
    budget = [VALUE_LIMIT, SIZE_LIMIT]

    def read(node: yaml.Node, level: int) -> Any:
        budget[0] -= 1
        if isinstance(node, yaml.ScalarNode):
            budget[1] -= len(node.value)
        if min(budget) < 0 or level > yaml_values.DEPTH_LIMIT:
            raise OmniTemplateError("omni-yaml-wrong", "its aliases mean too much", path=path, line=line_of(node))
        if isinstance(node, yaml.MappingNode):
            return {
                _scalar(key, path): read(child, level + 1)
                for key, child in _pairs(node, path)
                if isinstance(key, yaml.ScalarNode)
            }
        if isinstance(node, yaml.SequenceNode):
            return [read(child, level + 1) for child in node.value]
        assert isinstance(node, yaml.ScalarNode)
        return _scalar(node, path)

    return read(node, 0)


def text(data: Any) -> str:
    """Data as YAML that Go reads back to the same: texts quoted, numbers as Go writes them."""
    return "".join(_write(data)) + "\n"


def _pairs(
    node: yaml.MappingNode, path: str, known: dict[int, list[tuple[yaml.ScalarNode, yaml.Node]]] | None = None
) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    known = {} if known is None else known  # each is merged once, however often others merge it
    if id(node) in known:
        return known[id(node)]
    own: list[tuple[yaml.ScalarNode, yaml.Node]] = []
    merged: list[tuple[yaml.ScalarNode, yaml.Node]] = []
    known[id(node)] = own  # one that merges itself adds nothing
    for key, child in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise OmniTemplateError("omni-yaml-wrong", "a key is not a text", path=path, line=line_of(key))
        if key.tag != f"{_TAG}merge":
            own.append((key, child))
            continue
        for source in child.value if isinstance(child, yaml.SequenceNode) else [child]:
            if not isinstance(source, yaml.MappingNode):
                raise OmniTemplateError("omni-yaml-wrong", "<< is followed by no mapping", path=path, line=line_of(key))
            merged += _pairs(source, path, known)
    names = {key.value for key, _ in own}
    for key, child in merged:  # what is written there wins, then what is merged first
        if key.value not in names:
            names.add(key.value)
            own.append((key, child))
    return own


def _scalar(node: yaml.ScalarNode, path: str) -> Any:
    written = str(node.value)
    if node.tag != f"{_TAG}str" and node.tag not in _PLAIN_TAGS:
        raise OmniTemplateError(
            "omni-yaml-wrong",
            f"the tag {node.tag.replace(_TAG, '!!')} means nothing here",
            path=path,
            line=line_of(node),
        )
    if node.tag == f"{_TAG}str" and (node.style or _is_marked(written)):
        return written
    return scalars.talos(written)


def _is_marked(written: str) -> bool:
    """Whether a plain text is one only because !!str stands before it."""
    implied = _RESOLVER.resolve(yaml.ScalarNode, written, (True, False))  # type: ignore[no-untyped-call]
    return bool(implied != f"{_TAG}str")


def _write(data: Any) -> Iterator[str]:
    match data:
        case dict():
            yield "{"
            for index, (key, child) in enumerate(data.items()):
                yield ", " if index else ""
                yield from _write(key)
                yield ": "
                yield from _write(child)
            yield "}"
        case list():
            yield "["
            for index, child in enumerate(data):
                yield ", " if index else ""
                yield from _write(child)
            yield "]"
        case str():
            # JSON's escapes are YAML's, but YAML takes some characters for line ends that JSON leaves alone.
            yield _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(data, ensure_ascii=False))
        case None:
            yield "null"
        case bool():
            yield "true" if data else "false"
        case float():
            yield _float(data)
        case _:
            yield str(data)


def _float(number: float) -> str:
    """As Go's strconv writes the shortest form: an exponent from a million on."""
    if math.isnan(number):
        return ".nan"
    if math.isinf(number):
        return ".inf" if number > 0 else "-.inf"
    return scalars.format_float(number)


def _repeated(document: yaml.Node) -> tuple[str, int] | None:
    waiting: list[yaml.Node] = [document]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:  # anchors may be used many times, or even contain themselves
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, child in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if key.value in keys:
                        return str(key.value), line_of(key)
                    keys.add(key.value)
                waiting.append(child)
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    return None

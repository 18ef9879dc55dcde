"""The nodes of a text with their positions: for the line of a value, and for edits.

Reading forgets positions, since most values are never asked for theirs. Here a text is parsed again, once, when the
first one is. The tree is built by a loop: libyaml's own composer calls itself, and a hostile text ends the process.
"""

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from firstlight.document import yaml_values
from firstlight.document.yaml_values import DialectRules

NODE_LIMIT = 500_000
"""Events of a text that is worth a tree: a bundle of CRDs with five megabytes has a third of that."""

MAPPING, SEQUENCE, SCALAR, ALIAS = "mapping", "sequence", "scalar", "alias"
_NONE: list[Any] = []
_BIG = 256 * 1024
"""Characters from which on only a few trees are kept: the tree of a text takes many times its memory."""


class YamlNode:
    """A scalar, mapping, sequence or alias, and where it stands.

    It keeps numbers instead of libyaml's events and marks: of those Python's garbage collector would have to look at
    five for each node, which takes longer than to make them.
    """

    __slots__ = ("_found", "anchor", "children", "column", "end", "kind", "line", "start", "style", "tag", "text")

    def __init__(self, kind: str, event: Any, text: str, style: str, children: "list[YamlNode]") -> None:
        mark = event.start_mark
        self.kind = kind
        self.line: int = mark.line
        self.column: int = mark.column
        """Both from 0."""
        self.start: int = mark.index
        """Characters before it, and before what follows it; behind a block collection that is whatever comes next."""
        self.end: int = event.end_mark.index
        self.anchor: str | None = event.anchor
        self.tag: str | None = None
        self.text = text
        """Of a scalar, without its quotes."""
        self.style = style
        """The first character of a scalar that is not plain; the brackets of a collection that has them."""
        self.children = children
        """Items of a sequence; keys and values of a mapping by turns; of an alias, the node that it stands for."""
        self._found: dict[str, dict[str, int]] | None = None

    @property
    def is_mapping(self) -> bool:
        """Whether it has keys and values."""
        return self.kind is MAPPING

    @property
    def is_sequence(self) -> bool:
        """Whether it has items."""
        return self.kind is SEQUENCE

    @property
    def is_scalar(self) -> bool:
        """Whether it is a text, a number or the like."""
        return self.kind is SCALAR

    @property
    def is_alias(self) -> bool:
        """Whether it only names another."""
        return self.kind is ALIAS

    @property
    def is_plain(self) -> bool:
        """Whether it is a scalar whose meaning depends on its text."""
        return self.kind is SCALAR and not self.style and self.tag is None

    def pairs(self) -> Iterator[tuple["YamlNode", "YamlNode"]]:
        """Keys and values of a mapping."""
        return zip(self.children[::2], self.children[1::2], strict=True)

    def find(self, key: str, rules: DialectRules) -> "tuple[YamlNode, YamlNode] | None":
        """The key and the value that a mapping has itself; of several the last, which is the one that counts."""
        if self._found is None:
            self._found = {}
        known = self._found.get(rules.name)
        if known is None:
            known = {key_of(self.children[n], rules): n for n in range(0, len(self.children), 2)}
            self._found[rules.name] = known
        at = known.get(key)
        return None if at is None else (self.children[at], self.children[at + 1])

    def merged(self) -> "Iterator[YamlNode]":
        """The mappings that ``<<`` takes in."""
        for key, value in self.pairs():
            if key.is_merge:
                for each in value.children if value.is_sequence else [value]:
                    if each.target.is_mapping:
                        yield each.target

    @property
    def target(self) -> "YamlNode":
        """The node itself, or what it is an alias of."""
        return self.children[0] if self.is_alias and self.children else self

    @property
    def is_merge(self) -> bool:
        """Whether it is the key ``<<``."""
        return self.is_plain and self.text == "<<"


def key_of(node: YamlNode, rules: DialectRules) -> str:
    """What a key is called; one that is none has a name that nobody asks for."""
    node = node.target
    if not node.is_scalar:
        return "\0"
    text = node.text
    if not node.is_plain:
        return text
    try:
        key = rules.keys[text]
    except ValueError:
        return "\0"
    return key if isinstance(key, str) else "<<"


def documents(text: str) -> list[YamlNode | None]:
    """The root of every document; it ends with None where the text is broken or too deep."""
    return _few(text) if len(text) > _BIG else _many(text)


@functools.lru_cache(maxsize=512)
def _many(text: str) -> list[YamlNode | None]:
    return _parse(text)


@functools.lru_cache(maxsize=2)
def _few(text: str) -> list[YamlNode | None]:
    return _parse(text)


def _parse(text: str) -> list[YamlNode | None]:
    roots: list[YamlNode | None] = []
    stack: list[YamlNode] = []
    into: Any = roots
    anchors: dict[str, YamlNode] = {}
    get: Any = CParser(text).get_event
    try:
        for _ in itertools.repeat(None, NODE_LIMIT):
            event = get()
            kind = event.__class__
            if kind is ScalarEvent:
                node = YamlNode(SCALAR, event, event.value, event.style or "", _NONE)
                into.append(node)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                is_mapping = kind is MappingStartEvent
                brackets = ("{}" if is_mapping else "[]") if event.flow_style else ""
                node = YamlNode(MAPPING if is_mapping else SEQUENCE, event, "", brackets, [])
                into.append(node)
                into = node.children
                stack.append(node)
                if len(stack) > yaml_values.DEPTH_LIMIT:
                    break
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                stack.pop().end = event.end_mark.index
                into = stack[-1].children if stack else roots
                continue
            elif kind is AliasEvent:
                into.append(YamlNode(ALIAS, event, "", "", [anchors[event.anchor]] if event.anchor in anchors else []))
                continue
            elif kind is DocumentStartEvent:
                anchors = {}
                continue
            elif kind is StreamEndEvent:
                return roots
            else:
                continue
            if event.tag is not None:
                node.tag = event.tag
            if node.anchor is not None:
                anchors[node.anchor] = node
    except yaml.YAMLError:
        pass
    if stack:
        roots.pop()
    return [*roots, None]


def position(text: str, index: int, steps: Sequence[str | int], rules: DialectRules) -> tuple[int, int]:
    """Line and column, from 1, of what stands at ``steps`` in a document, or of the nearest parent that exists."""
    roots = documents(text)
    node = roots[index] if index < len(roots) else None
    if node is None:
        return 0, 0
    found_at = node
    for step in steps:
        node = node.target
        found: YamlNode | None = None
        if node.is_mapping:
            pair = _search(node, str(step), rules)
            if pair:
                found_at, found = pair
        elif node.is_sequence and isinstance(step, int) and -len(node.children) <= step < len(node.children):
            found_at = found = node.children[step]
        if found is None:
            break
        node = found
    return found_at.line + 1, found_at.column + 1


def _search(node: YamlNode, key: str, rules: DialectRules) -> tuple[YamlNode, YamlNode] | None:
    """A key of a mapping, or of what is merged into it."""
    waiting, seen = [node], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if pair := each.find(key, rules):
            return pair
        waiting += reversed(list(each.merged()))
    return None


def repeated(root: YamlNode, rules: DialectRules) -> Iterator[tuple[str, YamlNode, YamlNode]]:
    """Keys that stand twice in one mapping: the name, the first and the second."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_mapping:
            first: dict[str, YamlNode] = {}
            for key, _ in node.pairs():
                name = key_of(key, rules)
                if name in first:
                    yield name, first[name], key
                else:
                    first[name] = key
        if not node.is_alias:
            waiting += reversed(node.children)


def overridden(root: YamlNode, rules: DialectRules) -> Iterator[tuple[str, YamlNode, YamlNode]]:
    """Keys that a ``<<`` below them replaces: the name, the key, and the ``<<``."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_mapping:
            first: dict[str, YamlNode] = {}
            for key, value in node.pairs():
                name = key_of(key, rules)
                if key.is_merge:
                    for each in value.children if value.is_sequence else [value]:
                        names = {key_of(child, rules) for child in each.target.children[::2]}
                        yield from ((name, first[name], key) for name in first.keys() & names)
                else:
                    first[name] = key
        if not node.is_alias:
            waiting += reversed(node.children)


# Where a value stands in a YAML text of one document.


_SEGMENT = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d+)\]")


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The 1-based line of the value at ``path``, or of the nearest parent that exists."""
    line, _ = position(text, 0, path, yaml_values.KUBERNETES)
    return line or 1


def parse_path(path: str) -> tuple[str | int, ...]:
    """A path as msgspec writes it (``$.nodes[0].role``) in steps."""
    return tuple(match["key"] if match["key"] is not None else int(match["index"]) for match in _SEGMENT.finditer(path))


def repeated_key(text: str) -> tuple[str, int] | None:
    """A key that stands twice in one mapping, with the line of the second; parsers keep the last without a word.

    Raises:
        yaml.YAMLError: There is more than one document.
    """
    roots = documents(text)
    if len(roots) > 1:
        raise yaml.YAMLError("there is more than one document")
    for root in roots:
        for name, _, second in repeated(root, yaml_values.KUBERNETES) if root else ():
            return name, second.line + 1
    return None

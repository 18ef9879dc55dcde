"""The syntax of OpenTofu's language, by tree-sitter: blocks of a file, and the parts of some expressions."""

import dataclasses
import functools
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from firstlight.repo.tofu.hcl_values import Node, line_of, text_of

if TYPE_CHECKING:
    import tree_sitter

FILE_SIZE = 2_000_000
"""Bytes of a file; the largest modules have some ten thousand."""
NESTING = 200
"""Brackets inside each other that are parsed: what walks the tree calls itself."""
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", '\\"': '"', "\\\\": "\\"}


@functools.cache
def _parser() -> "tree_sitter.Parser":
    import tree_sitter  # most repos have no such file
    import tree_sitter_hcl

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_hcl.language()))


@dataclasses.dataclass(frozen=True, slots=True)
class HclBlock:
    """A block of a file: ``resource "helm_release" "cilium" { … }``."""

    type: str
    labels: tuple[str, ...]
    path: str
    line: int
    attributes: dict[str, Node]
    """Expressions by name."""
    inner: tuple["HclBlock", ...] = ()
    """The blocks inside of it: ``set { … }``."""


def blocks(data: bytes, path: str) -> tuple[list[HclBlock], int]:
    """Return the blocks of a file, and the line of the first syntax error, 0 without one."""
    if len(data) > FILE_SIZE or _is_deep(data):
        return [], 1
    root = _parser().parse(data).root_node
    bodies = [each for each in root.named_children if each.type == "body"]
    found = [_block(each, path) for body in bodies for each in body.named_children if each.type == "block"]
    return found, _first_error(root)


def attributes(data: bytes) -> dict[str, Node]:
    """Return the attributes at the top of a file of values (``.tfvars``)."""
    if len(data) > FILE_SIZE or _is_deep(data):
        return {}
    root = _parser().parse(data).root_node
    return {name: node for body in root.named_children if body.type == "body" for name, node in _attributes(body)}


def parse_template(text: str) -> Node | None:
    """Return the tree of a template file; its lines are one later than those of the file."""
    data = text.encode(errors="replace")
    if len(data) > FILE_SIZE or _is_deep(data):
        return None
    root = _parser().parse(b"x = <<FIRSTLIGHT_END\n" + data + b"\nFIRSTLIGHT_END\n").root_node
    return next(_find(root, "heredoc_template"), None)


def _block(node: Node, path: str) -> HclBlock:
    kind = text_of(node.named_children[0]) if node.named_children else ""
    labels = tuple(
        text_of(each).strip('"') for each in node.named_children[1:] if each.type in ("string_lit", "identifier")
    )
    body = next((each for each in node.named_children if each.type == "body"), None)
    if body is None:
        return HclBlock(kind, labels, path, line_of(node), {})
    inner = tuple(_block(each, path) for each in body.named_children if each.type == "block")
    return HclBlock(kind, labels, path, line_of(node), dict(_attributes(body)), inner)


def _attributes(body: Node) -> Iterator[tuple[str, Node]]:
    for each in body.named_children:
        if each.type == "attribute" and len(each.named_children) >= 2:
            yield text_of(each.named_children[0]), each.named_children[1]


def bare_key(node: Node) -> str | None:
    """Return the key of an object that is written without quotes."""
    child = node.named_children[0] if len(node.named_children) == 1 else None
    return text_of(child) if child is not None and child.type == "variable_expr" else None


@dataclasses.dataclass(frozen=True, slots=True)
class ForParts:
    """``{for key, value in collection : at => result if condition}``."""

    names: tuple[str, ...]
    collection: Node
    key: Node | None
    value: Node
    condition: Node | None


def for_parts(node: Node) -> ForParts | None:
    """Return the parts of a for expression."""
    intro = next((each for each in node.named_children if each.type == "for_intro"), None)
    if intro is None:
        return None
    names = tuple(text_of(each) for each in intro.named_children if each.type == "identifier")
    collection = next((each for each in intro.named_children if each.type == "expression"), None)
    results = [each for each in node.named_children if each.type == "expression"]
    condition = next((each for each in node.named_children if each.type == "for_cond"), None)
    test = next((each for each in condition.named_children if each.type == "expression"), None) if condition else None
    if collection is None or not results or not names:
        return None
    is_object = node.type == "for_object_expr" and len(results) > 1
    return ForParts(names, collection, results[0] if is_object else None, results[-1 if not is_object else 1], test)


@dataclasses.dataclass(frozen=True, slots=True)
class DirectiveParts:
    """``%{ if … }body%{ else }otherwise%{ endif }``, or ``%{ for … }body%{ endfor }``."""

    expression: Node
    is_loop: bool
    names: tuple[str, ...]
    body: tuple[Node, ...]
    body_bounds: tuple[int, int]
    otherwise: tuple[Node, ...] = ()
    otherwise_bounds: tuple[int, int] = (0, 0)


def directive_parts(node: Node) -> DirectiveParts | None:
    """Return the parts of a directive of a template."""
    inner = node.named_children[0] if node.named_children else None
    if inner is None or inner.type not in ("template_if", "template_for"):
        return None
    head, *rest = inner.children
    expression = next((each for each in head.named_children if each.type == "expression"), None)
    if expression is None or not rest:
        return None
    between = next((at for at, each in enumerate(rest) if each.type == "template_else_intro"), len(rest) - 1)
    return DirectiveParts(
        expression,
        inner.type == "template_for",
        tuple(text_of(each) for each in head.named_children if each.type == "identifier"),
        (head, *rest[: between + 1]),
        (head.end_byte, rest[between].start_byte),
        tuple(rest[between:]),
        (rest[between].end_byte, rest[-1].start_byte) if between < len(rest) - 1 else (0, 0),
    )


def source(node: Node, start: int, end: int) -> str:
    """Return what a file has between two offsets; literals of the tree lack the white space around them."""
    root = node
    while root.parent is not None:
        root = root.parent
    text: bytes = root.text or b""
    return text[start - root.start_byte : end - root.start_byte].decode(errors="replace")


def quoted_bounds(node: Node) -> tuple[int, int]:
    """Return the offsets of what stands between the quotes."""
    return node.start_byte + 1, max(node.start_byte + 1, node.end_byte - 1)


def heredoc_bounds(node: Node) -> tuple[int, int]:
    """Return the offsets of the lines between the identifiers of a heredoc."""
    names = [each for each in node.children if each.type == "heredoc_identifier"]
    if len(names) < 2:
        return node.end_byte, node.end_byte
    inside = source(node, names[0].end_byte, names[-1].start_byte)
    skipped = len(inside[: inside.find("\n") + 1].encode())
    last = len(inside[inside.rfind("\n") + 1 :].encode())
    return names[0].end_byte + skipped, max(names[0].end_byte + skipped, names[-1].start_byte - last)


def strips_before(node: Node) -> bool:
    """Return whether a tag takes away the white space before it: ``${~ … }``."""
    opening = text_of(node)[:3]
    return opening in ("${~", "%{~")


def strips_after(nodes: Sequence[Node], offset: int) -> bool:
    """Return whether the tag that ends at an offset takes away the white space after it: ``%{ … ~}``."""
    return any(each.end_byte == offset and text_of(each).endswith("~}") for each in nodes)


def unescaped(text: str) -> str:
    """Return a quoted text with its escapes resolved."""
    if "\\" in text:
        for written, meant in _ESCAPES.items():
            text = text.replace(written, meant)
    return text.replace("$${", "${").replace("%%{", "%{")


def unindented(text: str) -> str:
    """Return the text of ``<<-`` without the indentation that all of its lines share."""
    return textwrap.dedent(text)


def _first_error(root: Node) -> int:
    if not root.has_error:
        return 0
    return next((line_of(each) for each in _walk(root) if each.is_error or each.is_missing), 1)


def _find(node: Node, kind: str) -> Iterator[Node]:
    return (each for each in _walk(node) if each.type == kind)


def _walk(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here
        waiting += reversed(here.children)


def _is_deep(data: bytes) -> bool:
    depth = 0
    for byte in data:
        if byte in b"([{":
            depth += 1
            if depth > NESTING:
                return True
        elif byte in b")]}":
            depth = max(0, depth - 1)
    return False

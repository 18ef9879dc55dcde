"""One change of a text as a span and what takes its place; what is outside of the span stays as it is.

All of it works on the nodes of the text and on the lines that they stand in. What is made here is not trusted:
``splicing`` reads the result and compares.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import text_layout, yaml_tree, yaml_writer
from firstlight.document.yaml_tree import YamlNode
from firstlight.document.yaml_values import DialectRules
from firstlight.document.yaml_writer import YamlStyle


class EditRefused(Exception):
    """An edit cannot be made without changing more than was asked for; the line counts from 1."""

    def __init__(self, message: str, node: YamlNode | None = None, *, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.hint = message, node.line + 1 if node else 0, hint


@dataclasses.dataclass(frozen=True, slots=True)
class TextEdit:
    """What stands between two positions becomes something else."""

    start: int
    end: int
    new: str


@dataclasses.dataclass(frozen=True, slots=True)
class EditSpot:
    """A node with the collection that it is in."""

    node: YamlNode
    parent: YamlNode | None
    at: int
    """Its number among the parent's children."""
    in_flow: bool
    """Whether brackets are around it."""


def find(
    root: YamlNode, steps: Sequence[str | int], rules: DialectRules
) -> tuple[list[EditSpot], tuple[str | int, ...]]:
    """The spots along a path, and the steps that nothing is found for.

    Raises:
        Refused: The path leads through an alias, an anchor, a merge, or a key that is there twice.
    """
    used = _used_anchors(root)
    spots = [EditSpot(root, None, 0, in_flow=False)]
    for n, step in enumerate(steps):
        spot = spots[-1]
        node = spot.node
        if node.is_alias:
            raise EditRefused(f"*{node.anchor} stands for something that is written elsewhere", node)
        if node.anchor in used:
            raise EditRefused(f"it is used again as *{node.anchor}, which would change as well", node)
        at = _child(node, step, rules)
        if at is None:
            return spots, tuple(steps[n:])
        spots.append(EditSpot(node.children[at], node, at, in_flow=spot.in_flow or bool(node.style)))
    last = spots[-1].node
    if not last.is_alias and last.anchor in used:
        raise EditRefused(f"it is used again as *{last.anchor}, which would change as well", last)
    if lost := _anchors(last) & (used - _used_anchors(last)):
        raise EditRefused(f"&{min(lost)} in it is used elsewhere", last)
    return spots, ()


def _child(node: YamlNode, step: str | int, rules: DialectRules) -> int | None:
    """The number of the child that a step leads to; None if there is none yet."""
    if node.is_sequence:
        if not isinstance(step, int) or not 0 <= step <= len(node.children):
            raise EditRefused(f"there is a list with {len(node.children)} items, and no {step!r} in it", node)
        return step if step < len(node.children) else None
    if node.is_mapping:
        name = str(step)
        found = [n for n in range(0, len(node.children), 2) if yaml_tree.key_of(node.children[n], rules) == name]
        if len(found) > 1:
            raise EditRefused(f"{name} is given twice", node.children[found[1]], hint="Keep one of them.")
        if not found and any(each.find(name, rules) for each in _merged(node)):
            raise EditRefused(f"{name} comes from what << merges", node, hint=f"Change it there, or write {name} here.")
        return found[0] + 1 if found else None
    if node.is_plain and rules.plain[node.text] is None:
        return None
    raise EditRefused(f"there is a single value, and no {step!r} in it", node)


def _merged(node: YamlNode) -> list[YamlNode]:
    found, waiting = list[YamlNode](), list(node.merged())
    while waiting:
        each = waiting.pop()
        if not any(each is known for known in found):
            found.append(each)
            waiting += each.merged()
    return found


def _used_anchors(root: YamlNode) -> set[str]:
    return {node.anchor for node in _below(root) if node.is_alias and node.anchor}


def _anchors(root: YamlNode) -> set[str]:
    return {node.anchor for node in _below(root) if not node.is_alias and node.anchor}


def _below(root: YamlNode) -> Iterator[YamlNode]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if not node.is_alias:
            waiting += node.children


def replace(spot: EditSpot, value: Any, root: YamlNode, text: str, *, has_literals: bool = True) -> TextEdit:
    """Put a value in the place of a node."""
    node, parent = spot.node, spot.parent
    style = text_layout.style_of(root, parent or node, text, has_literals=has_literals)
    if node.is_scalar:
        style = dataclasses.replace(style, quote=node.style if node.style in ("'", '"') and not node.tag else "")
    if node.tag and not node.tag.startswith("tag:yaml.org,2002:"):
        raise EditRefused(f"it has the tag {node.tag}, which means something to somebody", node)
    if spot.in_flow:
        return _replace_in_flow(spot, yaml_writer.flow(value, style=style), text)
    if parent is None:
        return _replace_root(node, value, style, text)
    marker = _marker(spot, text)
    column = text_layout.column_of(parent, text)
    is_lines = node.style in ("|", ">")
    if is_lines and has_literals and isinstance(value, str) and (edit := _replace_lines(spot, value, column, text)):
        return edit
    end = text_layout.end_of(node, text)
    gap = text[marker + 1 : node.start]
    if (node.is_mapping or node.is_sequence) and not node.style:
        return _replace_block(spot, value, style, marker, column, text)
    after = _after(parent, value, column, style)
    tail_end = text_layout.line_end(text, end)
    if is_lines:
        header_end = text_layout.line_end(text, node.start)
        comment = text[node.start : header_end].partition(" #")
        tail, tail_end = (f" #{comment[2]}" if comment[1] else ""), max(end, header_end)
    else:
        tail = text[end:tail_end].rstrip()
    first, *lines = after.split("\n", 1)
    if not lines and not is_lines:
        return TextEdit(node.start, end, first[1:] if gap else first)
    if "\n" in gap and lines:
        tail = tail or gap.split("\n")[0].rstrip()
    return TextEdit(marker + 1, tail_end, first + tail + ("\n" + lines[0] if lines else ""))


def _after(parent: YamlNode, value: Any, column: int, style: YamlStyle) -> str:
    return (yaml_writer.after_key if parent.is_mapping else yaml_writer.after_dash)(value, column, style=style)


def _replace_lines(spot: EditSpot, value: str, column: int, text: str) -> TextEdit | None:
    """Lines in the place of lines, with the indentation and the header's comment that are there."""
    node = spot.node
    header = text_layout.header_of(node, text)
    at = text.index(header, node.start)
    header_end = text_layout.line_end(text, at)
    body = text[text_layout.after_line(text, at) : node.end]
    first = next((line for line in body.splitlines() if line.strip()), "")
    digits = "".join(each for each in header if each.isdigit())
    inner = column + int(digits) if digits else len(first) - len(first.lstrip(" ")) if first else column + 2
    keeps = "+" in header
    written = yaml_writer.literal(value, inner, step=inner - column, style=YamlStyle(keeps=keeps))
    if not written:
        return None
    new_header, lines = written.split("\n", 1)
    end = max(text_layout.end_of(node, text), header_end)
    return TextEdit(at, end, new_header + text[at + len(header) : header_end] + "\n" + lines)


def _replace_in_flow(spot: EditSpot, written: str, text: str) -> TextEdit:
    node = spot.node
    if node.start == node.end and spot.parent and spot.parent.is_mapping:  # {key} or {key:}
        key = spot.parent.children[spot.at - 1]
        colon = text_layout.skip_blank(text, key.end)
        if text[colon : colon + 1] == ":":
            return TextEdit(colon + 1, colon + 1, f" {written}")
        return TextEdit(key.end, key.end, f": {written}")
    return TextEdit(node.start, node.end, written)


def _replace_root(node: YamlNode, value: Any, style: YamlStyle, text: str) -> TextEdit:
    start, end = node.start, text_layout.end_of(node, text)
    before = text[text_layout.line_start(text, start) : start]
    if yaml_writer.is_collection(value):
        written = yaml_writer.collection(value, 0, style=style)
        if before.strip():
            return TextEdit(start - len(before) + len(before.rstrip()), text_layout.line_end(text, end), "\n" + written)
        if start == end:
            return TextEdit(start, end, written + "\n")
        return TextEdit(start - len(before), text_layout.line_end(text, end), written)
    written = yaml_writer.dump(value, style=style).removesuffix("\n")
    if start == end:
        gap = " " if before.strip() else ""
        return TextEdit(start, end, gap + written + ("" if text[end:].strip(" ")[:1] in ("\n", "\r") else "\n"))
    return TextEdit(start, text_layout.line_end(text, end) if not node.is_scalar else end, written)


def _replace_block(spot: EditSpot, value: Any, style: YamlStyle, marker: int, column: int, text: str) -> TextEdit:
    """A value in the place of a block mapping or list."""
    node, parent = spot.node, spot.parent
    assert parent is not None
    start, end = text_layout.content_of(node, text), text_layout.line_end(text, text_layout.end_of(node, text))
    gap = text[marker + 1 : start]
    if not yaml_writer.is_collection(value):
        first, *lines = _after(parent, value, column, style).split("\n", 1)
        head = gap.split("\n")[0].rstrip() if "\n" in gap else ""
        head = head if head.lstrip().startswith("#") else ""
        return TextEdit(marker + 1, end, first + head + ("\n" + lines[0] if lines else ""))
    inner = text_layout.column_of(node, text)
    if inner <= column and isinstance(value, Mapping):  # dashes may stand below their key, keys may not
        inner = column + style.step
        line = text_layout.line_start(text, start)
        return TextEdit(line, end, " " * inner + yaml_writer.collection(value, inner, style=style))
    return TextEdit(start, end, yaml_writer.collection(value, inner, style=style))


def _marker(spot: EditSpot, text: str) -> int:
    """The colon or dash before a node."""
    parent = spot.parent
    assert parent is not None
    if parent.is_mapping:
        at, sign = text_layout.skip_blank(text, parent.children[spot.at - 1].end), ":"
    elif spot.at:
        at, sign = text_layout.skip_blank(text, text_layout.end_of(parent.children[spot.at - 1], text)), "-"
    else:
        at, sign = text_layout.content_of(parent, text), "-"
    if text[at : at + 1] != sign:
        raise EditRefused("it is written in a way that cannot be edited safely", spot.node)
    return at


def add(
    spot: EditSpot, steps: Sequence[str | int], value: Any, root: YamlNode, text: str, *, has_literals: bool = True
) -> TextEdit:
    """Add what a path lacks to the collection at its end; a null becomes a collection."""
    for step in reversed(steps[1:]):
        if isinstance(step, int) and step != 0:
            raise EditRefused(f"a new list has no item {step}", spot.node)
        value = [value] if isinstance(step, int) else {step: value}
    node, step = spot.node, steps[0]
    if not node.is_mapping and not node.is_sequence:
        if isinstance(step, int) and step != 0:
            raise EditRefused(f"a new list has no item {step}", node)
        return replace(spot, [value] if isinstance(step, int) else {step: value}, root, text, has_literals=has_literals)
    style = text_layout.style_of(root, node, text, has_literals=has_literals)
    if node.style:
        return _add_in_flow(node, step, value, style, text)
    column = text_layout.column_of(node, text)
    entry = (
        yaml_writer.key(str(step), pad="\n" + " " * column) + yaml_writer.after_key(value, column, style=style)
        if node.is_mapping
        else "-" + yaml_writer.after_dash(value, column, style=style)
    )
    at = text_layout.line_end(text, text_layout.end_of(node, text))
    return TextEdit(at, at, "\n" + " " * column + entry)


def _add_in_flow(node: YamlNode, step: str | int, value: Any, style: YamlStyle, text: str) -> TextEdit:
    written = yaml_writer.flow(value, style=style)
    entry = f"{yaml_writer.flow_key(str(step))} {written}" if node.is_mapping else written
    if not node.children:
        return TextEdit(node.end - 1, node.end - 1, entry)
    first_of_last = node.children[-2 if node.is_mapping else -1]
    end = text_layout.end_of(node.children[-1], text)
    gap = " "
    if first_of_last.line > node.line:
        line = text_layout.line_start(text, first_of_last.start)
        indentation = text[line : first_of_last.start]
        gap = "\n" + indentation if not indentation.strip() else " "
    return TextEdit(end, end, f",{gap}{entry}")


def insert(spot: EditSpot, value: Any, root: YamlNode, text: str, *, has_literals: bool = True) -> TextEdit:
    """Put a new item before an item of a list."""
    parent = spot.parent
    assert parent is not None
    style = text_layout.style_of(root, parent, text, has_literals=has_literals)
    if parent.style:
        return TextEdit(spot.node.start, spot.node.start, yaml_writer.flow(value, style=style) + ", ")
    column = text_layout.column_of(parent, text)
    entry = "-" + yaml_writer.after_dash(value, column, style=style)
    if spot.at == 0:
        at = _marker(spot, text)
        return TextEdit(at, at, entry + "\n" + " " * column)
    at = text_layout.line_end(text, text_layout.end_of(parent.children[spot.at - 1], text))
    return TextEdit(at, at, "\n" + " " * column + entry)


def remove(spots: Sequence[EditSpot], root: YamlNode, text: str) -> TextEdit:
    """Take a node out, with its key or dash; what would be empty then is written as such."""
    spot = spots[-1]
    parent = spot.parent
    if parent is None:
        raise EditRefused("a document is not removed from a file", spot.node)
    width = 2 if parent.is_mapping else 1
    if len(parent.children) == width:
        return replace(spots[-2], {} if parent.is_mapping else [], root, text)
    first = spot.at - width + 1
    has_next = spot.at + 1 < len(parent.children)
    if parent.style:
        if has_next:
            return TextEdit(parent.children[first].start, parent.children[spot.at + 1].start, "")
        return TextEdit(text_layout.end_of(parent.children[first - 1], text), text_layout.end_of(spot.node, text), "")
    start = parent.children[first].start if parent.is_mapping else _marker(spot, text)
    line = text_layout.line_start(text, start)
    end = text_layout.end_of(spot.node, text)
    if not text[line:start].strip():
        after = text_layout.after_line(text, end)
        if after == len(text) and not text.endswith("\n") and line:  # the line before becomes the last, without an end
            return TextEdit(text_layout.line_end(text, text_layout.line_start(text, line - 1)), after, "")
        return TextEdit(line, after, "")
    if not has_next:
        raise EditRefused("it is written in a way that cannot be edited safely", spot.node)
    following = text_layout.skip_blank(text, text_layout.line_end(text, end))
    if "#" in text[text_layout.line_end(text, end) : following]:
        return TextEdit(len(text[:start].rstrip()), text_layout.line_end(text, end), "")
    return TextEdit(start, following, "")

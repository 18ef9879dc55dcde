"""Where things of a text begin and end on the page: what an edit needs to know besides the nodes."""

from collections import Counter
from collections.abc import Iterator

from firstlight.document.yaml_tree import YamlNode
from firstlight.document.yaml_writer import YamlStyle


def line_start(text: str, at: int) -> int:
    """The beginning of the line."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """The end of the line, before its line end."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if end > at and text[end - 1 : end] == "\r" else end


def after_line(text: str, at: int) -> int:
    """The beginning of the next line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def end_of(node: YamlNode, text: str) -> int:
    """Behind the last character that belongs to a node: libyaml's end of a block is where the next thing begins."""
    while not node.style and node.children and not node.is_alias:
        node = node.children[-1]
    if node.is_scalar and node.style in ("|", ">"):
        if "+" in header_of(node, text):
            return len(text[: node.end].removesuffix("\n").removesuffix("\r"))
        return len(text[: node.end].rstrip()) if node.text.strip() else line_end(text, node.start)
    return node.end


def header_of(node: YamlNode, text: str) -> str:
    """The indicators of a literal or folded scalar, such as ``|2-``."""
    at = end = text.index(node.style, _behind_properties(node, text))
    while text[end : end + 1] in ("|", ">", "+", "-") or text[end : end + 1].isdigit():
        end += 1
    return text[at:end]


def content_of(node: YamlNode, text: str) -> int:
    """Where a node begins behind its anchor and tag."""
    return skip_blank(text, _behind_properties(node, text)) if node.anchor or node.tag else node.start


def column_of(node: YamlNode, text: str) -> int:
    """The column of a block's keys or dashes."""
    if not node.anchor and not node.tag:
        return node.column
    at = content_of(node, text)
    return at - line_start(text, at)


def _behind_properties(node: YamlNode, text: str) -> int:
    """Behind an anchor and a tag."""
    at = node.start
    while text[at : at + 1] in ("&", "!"):
        while text[at : at + 1].strip():
            at += 1
        while text[at : at + 1] in (" ", "\t"):
            at += 1
    return at


def skip_blank(text: str, at: int) -> int:
    """Behind white space and comments."""
    while at < len(text):
        if text[at].isspace() or text[at] == "\ufeff":
            at += 1
        elif text[at] == "#":
            at = line_end(text, at)
        else:
            break
    return at


def style_of(root: YamlNode, near: YamlNode, text: str, *, has_literals: bool) -> YamlStyle:
    """How a document is indented: as the neighbours are, else as most of it."""
    steps, dashes = Counter[int](), Counter[int]()
    for parent, child in _nested(root):
        weight = 1000 if parent is near else 1
        (steps if child.is_mapping else dashes)[column_of(child, text) - column_of(parent, text)] += weight
    step = steps.most_common(1)[0][0] if steps else 2
    dash = dashes.most_common(1)[0][0] if dashes else 2
    return YamlStyle(step=step, dash=dash, quote=_quote(near), keeps=False, has_literals=has_literals)


def _nested(root: YamlNode) -> Iterator[tuple[YamlNode, YamlNode]]:
    """Block mappings with the block collections that are values in them."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.style or node.is_alias or node.is_scalar:
            continue
        if node.is_mapping:
            for value in node.children[1::2]:
                if (value.is_mapping or value.is_sequence) and not value.style:
                    yield node, value
        waiting += node.children


def _quote(near: YamlNode) -> str:
    """The quotes that all texts around have."""
    nodes = near.children if near.is_sequence else near.children[1::2]
    styles = {each.style for each in nodes if each.is_scalar}
    return styles.pop() if len(styles) == 1 and styles <= {"'", '"'} else ""

"""Fields that are texts to helmfile, whatever YAML takes them for: a version 1.10 is not 1.1."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import tree, values
from firstlight.document.reading import Document
from firstlight.document.tree import Node

_FIELDS = ("name", "namespace", "chart", "directory", "version", "condition")
_SETTINGS = ("set", "setString", "setTemplate")


def restore(document: Document, value: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a helmfile's document with numbers and booleans as they are written, where texts are meant."""
    roots = tree.documents(document.text)
    root = roots[document.index] if document.index < len(roots) else None
    made = dict(value)
    if root is None:
        return made
    if isinstance(made.get("releases"), list):
        nodes = list(_items(_child(root, "releases")))
        made["releases"] = [
            _release(each, nodes[n] if n < len(nodes) else None) for n, each in enumerate(made["releases"])
        ]
    if isinstance(made.get("templates"), Mapping):
        home = _child(root, "templates")
        made["templates"] = {name: _release(each, _child(home, str(name))) for name, each in made["templates"].items()}
    if isinstance(made.get("commonLabels"), Mapping):
        made["commonLabels"] = _labels(made["commonLabels"], _child(root, "commonLabels"))
    return made


def _release(value: Any, node: Node | None) -> Any:
    if not isinstance(value, Mapping) or node is None:
        return value
    made = {key: _text(each, _child(node, key)) if key in _FIELDS else each for key, each in value.items()}
    for key in _SETTINGS:
        if isinstance(made.get(key), list):
            nodes = list(_items(_child(node, key)))
            made[key] = [_setting(each, nodes[n] if n < len(nodes) else None) for n, each in enumerate(made[key])]
    if isinstance(made.get("labels"), Mapping):
        made["labels"] = _labels(made["labels"], _child(node, "labels"))
    return made


def _setting(value: Any, node: Node | None) -> Any:
    if not isinstance(value, Mapping) or node is None:
        return value
    made = {key: _text(each, _child(node, key)) for key, each in value.items()}
    if isinstance(made.get("values"), list):
        nodes = list(_items(_child(node, "values")))
        made["values"] = [_text(each, nodes[n] if n < len(nodes) else None) for n, each in enumerate(made["values"])]
    return made


def _labels(value: Mapping[str, Any], node: Node | None) -> dict[str, Any]:
    return {key: _text(each, _child(node, str(key))) for key, each in value.items()}


def _text(value: Any, node: Node | None) -> Any:
    is_number = isinstance(value, (int, float)) and node is not None and node.target.is_scalar
    return node.target.text if is_number and node is not None else value


def _child(node: Node | None, key: str) -> Node | None:
    """The value of a key, also one that comes by ``<<``."""
    if node is None or not node.target.is_mapping:
        return None
    pair = node.target.find(key, values.TALOS)
    if pair is not None:
        return pair[1]
    found = (other.target.find(key, values.TALOS) for other in node.target.merged() if other.target.is_mapping)
    return next((pair[1] for pair in found if pair is not None), None)


def _items(node: Node | None) -> Iterator[Node]:
    return iter(node.target.children if node is not None and node.target.is_sequence else ())

"""Values that OpenTofu gives a Helm release: files, texts, encoded values and single settings."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model import secret_words
from firstlight.model.place import Place
from firstlight.model.source import Values
from firstlight.repo.go_template import unknown_values
from firstlight.repo.tofu.hcl_syntax import HclBlock
from firstlight.repo.tofu.hcl_values import EncodedYaml, FileText, HclObject, UnknownValue, line_of
from firstlight.repo.tofu.tofu_module import TofuModule

_RUN = "a part of it is known only to a run of OpenTofu"


def values_of(module: TofuModule, block: HclBlock, names: Mapping[str, Any]) -> Iterator[Values]:
    """Yield the values in the order in which they win."""
    node = block.attributes.get("values")
    place = Place(block.path, line_of(node) if node is not None else block.line)
    given = module.value(block, "values", **names)
    for each in given if isinstance(given, list) else [given] if given is not None else []:
        yield from _layer(module, each, place)
    for inner in block.inner:
        if inner.type == "set":
            here = Place(block.path, inner.line)
            yield _single(module.text(inner, "name", **names), module.value(inner, "value", **names), here)
        elif inner.type in ("set_sensitive", "set_list", "set_wo", "dynamic"):
            yield Values(place=Place(block.path, inner.line), unresolved=f"{inner.type}: {_RUN}")
    settings = module.value(block, "set", **names)
    for each in settings if isinstance(settings, list) else []:
        if isinstance(each, Mapping):
            yield _single(str(each.get("name") or ""), each.get("value"), place)
    if any(name in block.attributes for name in ("set_sensitive", "set_list", "set_wo")) or isinstance(
        settings, UnknownValue
    ):
        yield Values(place=place, unresolved=_RUN)


def _layer(module: TofuModule, value: Any, place: Place) -> Iterator[Values]:
    if isinstance(value, UnknownValue):
        yield Values(place=place, unresolved=f"{value.source}: {value.reason}")
    elif isinstance(value, FileText) and module.tree.is_file(value.path) and module.tree.text(value.path) == value:
        yield Values(place=place, file=value.path)
    elif isinstance(value, EncodedYaml):
        here = value.value.place if isinstance(value.value, HclObject) else place
        yield from _inline(value.value, here)
    elif isinstance(value, str):
        contents = yaml_reader.read(value.encode(errors="replace"), place.path)
        here = Place(value.path, value.line) if isinstance(value, FileText) else place
        for each in contents.documents[:1]:
            yield from _inline(each.value, here)


def _inline(value: Any, place: Place) -> Iterator[Values]:
    """The values that are known; what is not known is said beside them."""
    if not isinstance(value, Mapping):
        return
    known, is_whole = _known(value)
    yield Values(place=place, inline=known)
    if not is_whole:
        yield Values(place=place, unresolved=_RUN)


def _known(value: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    found: dict[str, Any] = {}
    is_whole = True
    for key, each in value.items():
        if isinstance(each, Mapping):
            found[str(key)], whole = _known(each)
            is_whole = is_whole and whole
        elif _is_marked(each):
            is_whole = False
        else:
            found[str(key)] = each
    return found, is_whole


def _is_marked(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_marked, value.values()))
    if isinstance(value, list):
        return any(map(_is_marked, value))
    return isinstance(value, UnknownValue) or (isinstance(value, str) and unknown_values.has_mark(value))


def _single(name: str, value: Any, place: Place) -> Values:
    if isinstance(value, bool):
        value = str(value).lower()
    if not name or _is_marked(value) or not isinstance(value, str | int | float):
        return Values(place=place, target=name, unresolved=_RUN)
    if secret_words.is_secret_setting(name):
        return Values(place=place, target=name, unresolved="a secret in a setting")
    return Values(place=place, target=name, text=str(value))

"""The few expressions of yq that helmfiles use to look into other files, answered without running it."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.document import reading
from firstlight.repo.go_template import NotKnown, TemplateError
from firstlight.repo.go_template.printing import text
from firstlight.repo.go_template.sprig_data import to_yaml

_VALUED = {"-o", "--output-format", "-p", "--input-format", "-I", "--indent"}
_SELECT = re.compile(
    r"select\(\s*(?:(documentIndex|di)\s*==\s*(\d{1,6})|(\.[\w.\[\]\"'-]+)\s*==\s*[\"']([^\"']*)[\"'])\s*\)\s*(?:\|\s*)?"
)
_PATH = re.compile(r"\.(?:([A-Za-z_][\w-]*)|\[?\"([^\"]*)\"\]?)|\[(\d{1,6})\]|\[\"([^\"]*)\"\]")
_FALLBACK = re.compile(r"\s*//\s*(?:\"([^\"]*)\"|([\w.-]+)|(\{\}|\[\]))\s*$")


def evaluate(arguments: Sequence[str], read: Callable[[str], str], given: str | None = None) -> str:
    """What ``yq ARGUMENTS`` prints.

    Args:
        arguments: Without the program itself.
        read: Gives the text of a file.
        given: The standard input, if there is one.

    Raises:
        TemplateError: The expression is not one of those that are answered here.
    """
    words = list(arguments)
    plain: list[str] = []
    is_json = False
    while words:
        word = words.pop(0)
        if word in _VALUED:
            is_json = is_json or (words[:1] == ["json"] and word in ("-o", "--output-format"))
            words = words[1:]
        elif word in ("-o=json", "--output-format=json", "-j"):
            is_json = True
        elif not word.startswith("-"):
            plain.append(word)
    if plain[:1] and plain[0] in ("e", "eval", "ea", "eval-all"):
        plain.pop(0)
    if not plain or is_json or len(plain) > 2 or (len(plain) == 1 and given is None):
        raise NotKnown("this form of yq is not known to reading alone", name="yq")
    source = read(plain[1]) if len(plain) == 2 else given or ""
    contents = reading.read(source.encode("utf-8", errors="replace"), "", dialect=reading.Dialect.TALOS)
    if not contents.documents:
        raise TemplateError("yq finds no YAML there", name="yq")
    found = [value for value, is_there in (_one(document, plain[0]) for document in contents.documents) if is_there]
    return "---\n".join(
        f"{to_yaml(value) if isinstance(value, (Mapping, list)) else _scalar(value)}\n" for value in found
    )


def _one(document: reading.Document, expression: str) -> tuple[Any, bool]:
    """The value for one document, and whether the document is selected."""
    rest = expression.strip()
    fallback = _FALLBACK.search(rest)
    if fallback is not None:
        rest = rest[: fallback.start()].strip()
    while (select := _SELECT.match(rest)) is not None:
        index, number, path, wanted = select.groups()
        if index and document.index != int(number):
            return None, False
        if path and text(_walk(document.value, path)) != wanted:
            return None, False
        rest = rest[select.end() :]
    value = _walk(document.value, rest)
    if value is None and fallback is not None:
        value = next((each for each in fallback.groups()[:2] if each is not None), {} if fallback[3] == "{}" else [])
    return value, True


def _walk(value: Any, path: str) -> Any:
    if path in (".", ""):
        return value
    at = 0
    while at < len(path):
        match = _PATH.match(path, at)
        if match is None:
            raise NotKnown(f"the expression {path} of yq is not known to reading alone", name="yq")
        plain, quoted, index, key = match.groups()
        name = next((each for each in (plain, quoted, key) if each is not None), None)
        if name is not None:
            value = value.get(name) if isinstance(value, Mapping) else None
        else:
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
        at = match.end()
    return value


def _scalar(value: Any) -> str:
    return "null" if value is None else text(value)

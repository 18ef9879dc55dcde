"""Edits spliced into a YAML text: what was not asked for does not change, not a space and not a comment.

A loader and a dumper would write the whole file anew. Here one span of the text is replaced. The result is read again
and compared with what was meant, so that the worst that can happen is a refusal.
"""

import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from firstlight import errors
from firstlight.document import scalars, text_edits, yaml_reader, yaml_tree, yaml_writer
from firstlight.document.yaml_reader import YamlDialect
from firstlight.document.yaml_values import DialectRules
from firstlight.model.diagnostic import Severity

Steps = Sequence[str | int]


class _Make(Protocol):
    """How an edit is made, once the text is known to be YAML."""

    def __call__(
        self, root: yaml_tree.YamlNode, body: str, rules: DialectRules, *, has_literals: bool
    ) -> text_edits.TextEdit: ...


_BOM = "\ufeff"


def set_value(
    text: str,
    steps: Steps,
    value: Any,
    *,
    document: int = 0,
    path: str = "",
    dialect: YamlDialect = YamlDialect.KUBERNETES,
) -> str:
    """The text with another value at ``steps``; what the path lacks is made.

    Raises:
        errors.ConfigError: That cannot be done without changing something else; ``path`` is what the file is called.
    """

    def make(root: yaml_tree.YamlNode, body: str, rules: DialectRules, *, has_literals: bool) -> text_edits.TextEdit:
        spots, missing = text_edits.find(root, steps, rules)
        if missing:
            return text_edits.add(spots[-1], missing, value, root, body, has_literals=has_literals)
        return text_edits.replace(spots[-1], value, root, body, has_literals=has_literals)

    def mean(old: Any) -> Any:
        return _changed(old, steps, lambda parent, step: _put(parent, step, value))

    return _splice(text, make, mean, document=document, path=path, dialect=dialect)


def insert(
    text: str,
    steps: Steps,
    value: Any,
    *,
    document: int = 0,
    path: str = "",
    dialect: YamlDialect = YamlDialect.KUBERNETES,
) -> str:
    """The text with a new item in a list, before the one at ``steps``.

    Raises:
        errors.ConfigError: That cannot be done without changing something else; ``path`` is what the file is called.
    """

    def make(root: yaml_tree.YamlNode, body: str, rules: DialectRules, *, has_literals: bool) -> text_edits.TextEdit:
        spots, missing = text_edits.find(root, steps, rules)
        parent = spots[-1].parent
        if missing:
            return text_edits.add(spots[-1], missing, value, root, body, has_literals=has_literals)
        if parent is None or not parent.is_sequence:
            raise text_edits.EditRefused("there is no list to insert into", spots[-1].node)
        return text_edits.insert(spots[-1], value, root, body, has_literals=has_literals)

    def put(parent: Any, step: str | int) -> None:
        if isinstance(parent, list) and isinstance(step, int):
            parent.insert(step, value)
        else:
            _put(parent, step, value)

    return _splice(
        text, make, lambda old: _changed(old, steps, put), document=document, path=path, dialect=dialect
    )  # fmt: skip


def append(
    text: str,
    steps: Steps,
    value: Any,
    *,
    document: int = 0,
    path: str = "",
    dialect: YamlDialect = YamlDialect.KUBERNETES,
) -> str:
    """The text with one more item at the end of the list at ``steps``, which is made if it is not there.

    Raises:
        errors.ConfigError: That cannot be done without changing something else; ``path`` is what the file is called.
    """
    contents = yaml_reader.read_text(text.removeprefix(_BOM), path, dialect=dialect)
    found = next((each.value for each in contents.documents if each.index == document), None)
    for step in steps:
        try:
            found = found[step]  # type: ignore[index]
        except (LookupError, TypeError):
            found = None
    length = len(found) if isinstance(found, list) else 0
    return set_value(text, [*steps, length], value, document=document, path=path, dialect=dialect)


def remove(
    text: str, steps: Steps, *, document: int = 0, path: str = "", dialect: YamlDialect = YamlDialect.KUBERNETES
) -> str:
    """The text without what stands at ``steps``, its key or dash included; comments above it stay.

    Raises:
        errors.ConfigError: It is not there, or cannot be removed without changing something else.
    """

    def make(root: yaml_tree.YamlNode, body: str, rules: DialectRules, *, has_literals: bool) -> text_edits.TextEdit:
        spots, missing = text_edits.find(root, steps, rules)
        if missing:
            raise text_edits.EditRefused(f"there is no {missing[0]!r}", spots[-1].node)
        return text_edits.remove(spots, root, body)

    def drop(parent: Any, step: str | int) -> None:
        del parent[step]

    return _splice(
        text, make, lambda old: _changed(old, steps, drop), document=document, path=path, dialect=dialect
    )  # fmt: skip


def _splice(
    text: str, make: _Make, mean: Callable[[Any], Any], *, document: int, path: str, dialect: YamlDialect
) -> str:  # fmt: skip
    """Make an edit, and look whether it is what was meant: the first of a few ways to write it that is."""
    shown = path or "the text"
    bom, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    before = _read(body, shown, dialect)
    end = "\r\n" if "\r\n" in body else "\n"
    line = 0
    # Comments that follow a literal may become part of it; quotes are safe from that.
    for has_literals in (True, False):
        try:
            edit = _edit(body, make, mean, document=document, dialect=dialect, has_literals=has_literals)
            meant = {**before, document: _normal(mean(before.get(document)), dialect)}
        except text_edits.EditRefused as refused:
            raise errors.ConfigError(refused.message, path=shown, line=refused.line, hint=refused.hint) from refused
        except ValueError as error:
            raise errors.ConfigError(str(error), path=shown) from error
        line = line or body.count("\n", 0, edit.start) + 1
        edited = body[: edit.start] + edit.new.replace("\n", end) + body[edit.end :]
        # A literal at the end of a file has its last line end only if the file has one.
        for candidate in (edited, edited + end):
            contents = yaml_reader.read_text(candidate, path, dialect=dialect)
            after = {each.index: each.value for each in contents.documents}
            if not _errors(contents) and _same({k: v for k, v in meant.items() if v is not None}, after):
                return bom + candidate
    raise errors.ConfigError(
        "it is written in a way that cannot be edited safely", path=shown, line=line, hint="Change it by hand."
    )


def _edit(
    body: str, make: _Make, mean: Callable[[Any], Any], *, document: int, dialect: YamlDialect, has_literals: bool
) -> text_edits.TextEdit:
    roots = yaml_tree.documents(body)
    if not roots and document == 0:
        gap = "" if not body or body.endswith("\n") else "\n"
        return text_edits.TextEdit(len(body), len(body), gap + yaml_writer.dump(mean(None)))
    if document >= len(roots) or (root := roots[document]) is None:
        raise text_edits.EditRefused(f"there is no document {document}")
    return make(root, body, yaml_reader.rules_of(dialect), has_literals=has_literals)


def _read(body: str, shown: str, dialect: YamlDialect) -> dict[int, Any]:
    contents = yaml_reader.read_text(body, shown, dialect=dialect)
    for diagnostic in _errors(contents):
        raise errors.ConfigError(diagnostic.message, path=shown, line=diagnostic.place.line, hint=diagnostic.fix)
    return {each.index: each.value for each in contents.documents}


def _errors(contents: yaml_reader.YamlContents) -> list[Any]:
    return [each for each in contents.diagnostics if each.severity is Severity.ERROR]


def _changed(old: Any, steps: Steps, change: Callable[[Any, str | int], None]) -> Any:
    """What a document is to be: a copy with the change at the end of the path, whose missing parts are made."""
    holder: dict[str, Any] = {"": copy.deepcopy(old)}
    parent: Any = holder
    path: list[str | int] = ["", *steps]
    for step, following in itertools.pairwise(path):
        child = _get(parent, step)
        if child is None:
            child = [] if isinstance(following, int) else {}
            _put(parent, step, child)
        parent = child
    try:
        change(parent, path[-1])
    except (LookupError, TypeError) as error:
        raise ValueError(f"there is no {path[-1]!r}") from error
    return holder[""]


def _get(parent: Any, step: str | int) -> Any:
    if isinstance(parent, list):
        return parent[step] if isinstance(step, int) and 0 <= step < len(parent) else None
    return parent.get(str(step)) if isinstance(parent, dict) else None


def _put(parent: Any, step: str | int, value: Any) -> None:
    if isinstance(parent, dict):
        parent[str(step)] = value
    elif isinstance(parent, list) and step == len(parent):
        parent.append(value)
    else:
        parent[step] = value


def _normal(value: Any, dialect: YamlDialect) -> Any:
    """A value as it is read back."""
    if isinstance(value, Mapping):
        return {key: _normal(each, dialect) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(each, dialect) for each in value]
    return scalars.as_json(value) if dialect is YamlDialect.KUBERNETES else value


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same, types included."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(*pair) for pair in zip(one, other, strict=True))
    return (type(one) is type(other) or (isinstance(one, str) and isinstance(other, str))) and (
        one == other or (one != one and other != other)
    )

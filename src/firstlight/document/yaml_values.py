"""Events of libyaml in, plain values out: what every file of a repo goes through, so written for speed.

The parser is C; the time goes into the events that it makes, and into this loop. What is rare (tags, anchors, merges)
costs the rest one test that is false.
"""

import base64
import codecs
import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from firstlight.document import scalars

ALIASED_LIMIT = 400_000
"""Values that aliases may stand for in one file: where Go's libraries draw the line for a document."""
EVENT_LIMIT = 3_000_000
"""Values, keys, beginnings and ends in one file. The largest that Talos takes has a third of that, if it is written by
people; a hostile one of that size could have sixteen million."""

_TAG = "tag:yaml.org,2002:"
BARE_TAG = re.compile(r"(?:&\S+\s+)?!\s")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_EACH_BYTE = "firstlight.each-byte"
codecs.register_error(_EACH_BYTE, lambda error: ("\ufffd" * (error.end - error.start), error.end))  # type: ignore[attr-defined]
"""Go's JSON replaces every byte that is not UTF-8, Python what could have been one character."""
_TAGS = 100
_COLLECTIONS = {f"{_TAG}map", f"{_TAG}seq"}
_NO_TEXT, _NO_TEXT_FIX = "a key is a list or a mapping", "Write a text, in quotes if need be."
_SCALAR: Any = ScalarEvent
_NO_KEY: Any = object()
_MERGE: Any = object()
_WORDS = {"int": int, "float": float, "bool": bool, "null": type(None)}


class YamlRefused(Exception):
    """A document is YAML, but Go would not take it; the mark says where."""

    def __init__(self, code: str, message: str, *, mark: Any, fix: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.mark, self.fix = code, message, mark, fix


class YamlTooDeep(YamlRefused):
    """Libyaml would take minutes to read on."""


class YamlTooMuch(Exception):
    """A file has more values than anybody writes, or nests them so deeply that libyaml takes minutes for it."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DialectRules:
    """One dialect, with what it remembers."""

    name: str
    resolve: Callable[[str], Any]
    """A plain scalar as the library reads it."""
    finish: Callable[[Any], Any]
    """What becomes of it in the end."""
    plain: scalars.ScalarCache
    keys: scalars.ScalarCache
    merge_wins: bool
    """Whether what is merged replaces what is written above it."""


def _rules(
    name: str,
    resolve: Callable[[str], Any],
    finish: Callable[[Any], Any],
    key: Callable[[str], str],
    *,
    merge_wins: bool,
) -> DialectRules:
    plain = scalars.ScalarCache(lambda text: finish(resolve(text)))
    keys = scalars.ScalarCache(lambda text: _MERGE if text == "<<" else key(text))
    return DialectRules(name, resolve, finish, plain, keys, merge_wins)


KUBERNETES = _rules(
    "Kubernetes", scalars.kubernetes, scalars.as_json,
    lambda text: scalars.key_of(scalars.kubernetes(text)), merge_wins=True,
)  # fmt: skip
TALOS = _rules("Talos", scalars.talos, lambda value: value, scalars.typed_key, merge_wins=False)


@dataclasses.dataclass(slots=True, eq=False)
class ReadNotes:
    """What comes up while a file is read; ``has_repeated`` and ``tags`` are for one document."""

    budget: Iterator[None] = dataclasses.field(default_factory=lambda: itertools.repeat(None, EVENT_LIMIT))
    has_repeated: bool = False
    """A key stands twice in a mapping, or what is merged replaces what is written."""
    tags: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Tags that mean nothing to Go, with the mark of the first."""
    aliased: int = 0
    """Values that aliases stand for."""

    def add_tag(self, event: Any) -> None:
        """Remember a tag, unless there are far too many."""
        if len(self.tags) <= _TAGS:
            self.tags.setdefault(event.tag.replace(_TAG, "!!"), event.start_mark)


def build(get: Callable[[], Any], rules: DialectRules, notes: ReadNotes) -> Any:
    """The value of one document; the parser stands behind its start.

    One long loop, since a call for each event would take as long as the loop itself.

    Raises:
        Refused: Go would not take it.
        TooMuch: The file is to be left alone.
        yaml.YAMLError: It is not YAML.
    """
    plain, keys, first = rules.plain, rules.keys, scalars.FIRST
    into: Any = []
    root, is_mapping, key = into, False, _NO_KEY
    stack: list[tuple[Any, bool, Any]] = []
    anchors: dict[str, Any] = {}
    merged: dict[int, set[str]] = {}
    for _ in notes.budget:
        event = get()
        kind = event.__class__
        if kind is ScalarEvent:
            value: Any = event.value
            is_plain, is_quoted = event.implicit
            if is_plain:
                try:
                    if is_mapping and key is _NO_KEY:
                        value = keys[value]
                    elif value[:1] in first:
                        value = plain[value]
                except ValueError as error:
                    raise YamlRefused("yaml-value-wrong", str(error), mark=event.start_mark) from error
            elif not is_quoted:
                value = _scalar(event, rules, notes, is_key=is_mapping and key is _NO_KEY)
            if event.anchor is not None:
                anchors[event.anchor] = event
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            value = into
            into, is_mapping, key = stack.pop()
            if key is _MERGE:
                _merge(into, value, rules, notes, merged, event.start_mark)
            key = _NO_KEY
            continue
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            value = {} if kind is MappingStartEvent else []
            if event.anchor is not None:
                anchors[event.anchor] = value
            if event.tag is not None and event.tag not in _COLLECTIONS:
                notes.add_tag(event)
            if not is_mapping:
                into.append(value)
            elif key is _NO_KEY:
                raise YamlRefused("yaml-key-not-text", _NO_TEXT, mark=event.start_mark, fix=_NO_TEXT_FIX)
            elif key is not _MERGE:
                into[key] = value
            stack.append((into, is_mapping, key))
            if len(stack) > DEPTH_LIMIT:
                raise YamlTooDeep("yaml-too-deep", f"nested deeper than {DEPTH_LIMIT} levels", mark=event.start_mark)
            into, is_mapping, key = value, kind is MappingStartEvent, _NO_KEY
            continue
        elif kind is AliasEvent:
            is_key = is_mapping and key is _NO_KEY
            value = _aliased(event, anchors, stack, into, rules, notes, is_key=is_key, is_merged=key is _MERGE)
        else:
            return root[0]  # the end of the document
        if not is_mapping:
            into.append(value)
        elif key is _NO_KEY:
            key = value
            if key in into and not (merged and key in merged.get(id(into), ())):
                notes.has_repeated = True
        else:
            if key is _MERGE:
                _merge(into, value, rules, notes, merged, event.start_mark)
            else:
                into[key] = value
            key = _NO_KEY
    raise YamlTooMuch


def skip(get: Callable[[], Any], notes: ReadNotes) -> None:
    """Leave the rest of a document out.

    Raises:
        TooMuch: The file is to be left alone.
        yaml.YAMLError: It is not YAML.
    """
    level = 0
    for _ in notes.budget:
        event = get()
        if isinstance(event, DocumentEndEvent):
            return
        if isinstance(event, CollectionStartEvent):
            level += 1
            if level > DEPTH_LIMIT:
                break
        elif isinstance(event, CollectionEndEvent):
            level -= 1
    raise YamlTooMuch


def with_bare_tags(get: Callable[[], Any], text: str) -> Callable[[], Any]:
    """The events of a text that may have a ``!`` of its own: a text follows, to Kubernetes; libyaml forgets that."""

    def corrected() -> Any:
        event = get()
        if event.__class__ is _SCALAR and event.implicit[0] and BARE_TAG.match(text, event.start_mark.index):
            event.implicit, event.tag = (False, False), "!"
        return event

    return corrected


def _scalar(event: ScalarEvent, rules: DialectRules, notes: ReadNotes, *, is_key: bool) -> Any:
    """A scalar with a tag, or one that an alias stands for."""
    text = str(event.value)
    is_plain, is_quoted = event.implicit
    try:
        if is_quoted:
            return text
        if is_plain:
            return rules.keys[text] if is_key else rules.plain[text]
        value = _tagged(event, rules, notes)
        if not is_key:
            return rules.finish(value)
        return scalars.key_of(value if rules is KUBERNETES or value is None or event.tag == f"{_TAG}binary" else text)
    except ValueError as error:
        raise YamlRefused("yaml-value-wrong", str(error), mark=event.start_mark) from error


def _tagged(event: ScalarEvent, rules: DialectRules, notes: ReadNotes) -> Any:
    text, tag = str(event.value), str(event.tag)
    if tag == "!":
        return None if rules is TALOS and not text else text
    word = tag.removeprefix(_TAG)
    if word == tag or word not in {*_WORDS, "str", "binary", "timestamp", "merge"}:
        notes.add_tag(event)
        return text
    if word == "binary":
        joined = text.replace("\n", "").replace("\r", "")
        if len(joined) % 4 or not _BASE64.fullmatch(joined):
            raise ValueError("what follows !!binary is not base64")
        return base64.b64decode(joined).decode("utf-8", errors=_EACH_BYTE)
    if word == "timestamp":
        if scalars.time(text) is None:
            raise ValueError("what follows !!timestamp is no time that Go knows")
        return rules.resolve(text)
    if word in _WORDS:
        value = rules.resolve(text)
        if word == "float" and type(value) is int:
            return float(value)
        if type(value) is not _WORDS[word]:
            raise ValueError(f"what follows !!{word} is something else")
        return value
    return text


def _aliased(
    event: AliasEvent,
    anchors: dict[str, Any],
    stack: list[tuple[Any, bool, Any]],
    into: Any,
    rules: DialectRules,
    notes: ReadNotes,
    *,
    is_key: bool,
    is_merged: bool,
) -> Any:
    """What an alias stands for, as a value of its own."""
    name = str(event.anchor)
    if name not in anchors:
        # The name is not told: what begins with a star may be a password that somebody forgot to quote.
        message = "no anchor stands before the alias that begins here"
        raise YamlRefused(
            "yaml-alias-unknown",
            message,
            mark=event.start_mark,
            fix="Quote it if a text that begins with a star is meant.",
        )
    target = anchors[name]
    notes.aliased += 1
    if isinstance(target, ScalarEvent):
        value = _scalar(target, rules, notes, is_key=is_key)
        return "<<" if value is _MERGE else value
    if is_key:
        raise YamlRefused("yaml-key-not-text", _NO_TEXT, mark=event.start_mark, fix=_NO_TEXT_FIX)
    if target is into or any(target is each for each, _, _ in stack):
        raise YamlRefused("yaml-alias-circular", f"&{name} contains itself", mark=event.start_mark)
    if is_merged and not isinstance(target, dict):
        raise YamlRefused("yaml-merge-wrong", "<< is followed by no mapping", mark=event.start_mark)
    try:
        return _copy(target, len(stack), notes)
    except ValueError as error:
        raise YamlRefused(
            "yaml-aliases-too-large", str(error), mark=event.start_mark, fix="Write it out without anchors."
        ) from error


def _copy(value: Any, level: int, notes: ReadNotes) -> Any:
    notes.aliased += 1
    if notes.aliased > ALIASED_LIMIT:
        raise ValueError(f"its aliases stand for more than {ALIASED_LIMIT} values")
    if isinstance(value, dict):
        if level >= DEPTH_LIMIT:
            raise ValueError(f"its aliases nest deeper than {DEPTH_LIMIT} levels")
        return {key: _copy(each, level + 1, notes) for key, each in value.items()}
    if isinstance(value, list):
        if level >= DEPTH_LIMIT:
            raise ValueError(f"its aliases nest deeper than {DEPTH_LIMIT} levels")
        return [_copy(each, level + 1, notes) for each in value]
    return value


def _merge(
    into: dict[str, Any], value: Any, rules: DialectRules, notes: ReadNotes, merged: dict[int, set[str]], mark: Any
) -> None:
    """Take over what ``<<`` names; of several the first wins."""
    sources = value if isinstance(value, list) else [value]
    inherited = merged.setdefault(id(into), set())
    written = into.keys() - inherited
    for source in reversed(sources):
        if not isinstance(source, dict):
            raise YamlRefused(
                "yaml-merge-wrong",
                "<< is followed by no mapping",
                mark=mark,
                fix="Write <<: *name, or a list of such names.",
            )
        for key, each in source.items():
            if key not in written:
                into[key] = each
                inherited.add(key)
            elif rules.merge_wins:
                notes.has_repeated |= into[key] != each
                into[key] = each


# How deeply a YAML text is nested; asked before anything composes it, since libyaml's composer overflows the stack.


DEPTH_LIMIT = 200
"""Levels: a machine config has about ten, and libyaml ends the process at some thousands."""


def too_deep(text: str) -> int:
    """The line where a text goes deeper than the limit; 0 if it does not.

    Raises:
        yaml.YAMLError: It is not YAML.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH_LIMIT:
                mark = event.start_mark
                return mark.line + 1 if mark else 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return 0

"""YAML that strangers wrote: read as Kubernetes reads it or refused, but never the end of this process."""

import codecs
import dataclasses
import enum
import re
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import DocumentStartEvent, StreamEndEvent

from firstlight.document import yaml_problems, yaml_tree, yaml_values
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place

_PLAIN_SIZE = 1 << 20
_ALIAS = re.compile(rb"(?:^|[\s\[{,:])\*[^\s*]")
_BRACKETS = 1000
_INDENTED = (b" " * 200, b"- " * 100)


class YamlUnreadable(ValueError):
    """A text that is not YAML, or means something that only its author knows."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(f"it is not YAML: {diagnostic.message}")
        self.diagnostic = diagnostic


def load_all(text: str | bytes) -> list[Any]:
    """Every document of a text, empty ones as None.

    Raises:
        ValueError: It cannot be read; ``problem_of`` says where.
    """
    data = text.encode("utf-8", errors="surrogatepass") if isinstance(text, str) else text
    contents = read(data, "")
    for diagnostic in contents.diagnostics:
        if diagnostic.severity is not Severity.WARNING:
            raise YamlUnreadable(diagnostic)
    values: list[Any] = [None] * contents.count
    for document in contents.documents:
        values[document.index] = document.value
    return values


def problem_of(error: ValueError) -> tuple[str, int]:
    """What is wrong, and in which line; 0 if that is not known."""
    if isinstance(error, YamlUnreadable):
        return error.diagnostic.message, error.diagnostic.place.line
    return str(error), 0


def why_refused(data: bytes) -> tuple[str, int] | None:
    """Why our reader does not take a file that other programs might choke on, and in which line.

    Most files are too plain for that and are not even parsed: they are small, flat, and have neither aliases nor
    directives. What is only a mistake in them is told by the program that reads them.
    """
    is_plain = (
        len(data) <= _PLAIN_SIZE
        and b"%TAG" not in data
        and data.count(b"[") + data.count(b"{") <= _BRACKETS
        and not any(each in data for each in _INDENTED)
        and not (b"&" in data and _ALIAS.search(data))
    )
    if is_plain:
        return None
    diagnostics = read(data, "").diagnostics
    return next(((each.message, each.place.line) for each in diagnostics if each.severity is Severity.ERROR), None)


# YAML files as documents: plain values with the way back to their lines.


SIZE_LIMIT = 32 * 1024 * 1024
"""Bytes of one file: the largest message that a Talos machine accepts, and far more than an object in etcd may have."""

_DIRECTIVE = re.compile("^%TAG", re.MULTILINE)
_DIRECTIVES = 100
"""Directives of one file: libyaml compares each with each."""
_BARE_TAG = re.compile(r"!(?<![^\s\[{,]!)\s")
_REMARKS = 100
_NOT_PRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class YamlDialect(enum.Enum):
    """Whose rules a file is read by."""

    KUBERNETES = "kubernetes"
    """``sigs.k8s.io/yaml``: ``on``, ``yes`` and ``y`` are booleans, keys are texts, numbers are those of JSON."""
    TALOS = "talos"
    """``go.yaml.in/yaml/v4``, which Talos and Omni use: ``on`` and ``yes`` are texts."""


_RULES = {YamlDialect.KUBERNETES: yaml_values.KUBERNETES, YamlDialect.TALOS: yaml_values.TALOS}


@dataclasses.dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document of a file."""

    path: str
    line: int
    """Of its first key."""
    index: int
    """Its number in the file, from 0; empty documents are left out but counted."""
    value: Any = dataclasses.field(repr=False)
    """Not shown: it may be that of a Secret."""
    text: str = dataclasses.field(repr=False)
    """The whole file, without a byte-order mark."""
    dialect: YamlDialect = YamlDialect.KUBERNETES

    def place(self, *steps: str | int) -> Place:
        """Where the value at ``steps`` stands, or the nearest parent that exists; of a key it is the key's place."""
        return Place(self.path, *yaml_tree.position(self.text, self.index, steps, _RULES[self.dialect]))


@dataclasses.dataclass(frozen=True, slots=True)
class YamlContents:
    """A file: its documents, and what is wrong with it."""

    documents: tuple[YamlDocument, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    count: int = 0
    """Documents up to the first that cannot be parsed, empty ones and those that are refused included."""


def read(data: bytes, path: str, *, dialect: YamlDialect = YamlDialect.KUBERNETES) -> YamlContents:
    """Read a file; what is broken is a diagnostic, and the documents before it are kept."""
    if len(data) > SIZE_LIMIT:
        diagnostic = Diagnostic.error(
            "yaml-too-large", f"the file is larger than {SIZE_LIMIT >> 20} MiB", at=Place(path)
        )
        return YamlContents((), (diagnostic,))
    try:
        text = decode(data)
    except UnicodeDecodeError as error:
        return YamlContents((), (_undecodable(error, data, path),))
    return _read(text, path, dialect)


def read_text(text: str, path: str, *, dialect: YamlDialect = YamlDialect.KUBERNETES) -> YamlContents:
    """Read a text that has no byte-order mark."""
    return _read(text, path, dialect)


def rules_of(dialect: YamlDialect) -> yaml_values.DialectRules:
    """The rules of a dialect."""
    return _RULES[dialect]


def decode(data: bytes) -> str:
    """The text of a file, which is UTF-8, or UTF-16 with a byte-order mark.

    Raises:
        UnicodeDecodeError: It is neither.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    return data.decode("utf-8-sig") if data.startswith(codecs.BOM_UTF8) else data.decode()


def _undecodable(error: UnicodeDecodeError, data: bytes, path: str) -> Diagnostic:
    if error.encoding.startswith("utf-16"):
        return Diagnostic.error("yaml-not-utf-8", "the file is broken UTF-16", at=Place(path), fix="Save it as UTF-8.")
    line = data.count(b"\n", 0, error.start) + 1
    column = len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode("utf-8", errors="replace")) + 1
    message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
    return Diagnostic.error("yaml-not-utf-8", message, at=Place(path, line, column), fix="Save the file as UTF-8.")


def _read(text: str, path: str, dialect: YamlDialect) -> YamlContents:
    documents: list[YamlDocument] = []
    diagnostics: list[Diagnostic] = []
    rules, index, notes = _RULES[dialect], -1, yaml_values.ReadNotes()
    if text.count("%TAG") > _DIRECTIVES and len(_DIRECTIVE.findall(text)) > _DIRECTIVES:
        return YamlContents(
            (), (Diagnostic.error("yaml-too-large", "there are more %TAG lines than anybody writes", at=Place(path)),)
        )
    parser: Any = CParser(text)
    get = parser.get_event
    if rules is yaml_values.KUBERNETES and _BARE_TAG.search(text):
        get = yaml_values.with_bare_tags(get, text)
    try:
        while (event := get()).__class__ is not StreamEndEvent:
            if event.__class__ is not DocumentStartEvent:
                continue
            index += 1
            line = parser.peek_event().start_mark.line + 1
            notes.has_repeated, notes.tags = False, {}
            try:
                value = yaml_values.build(get, rules, notes)
            except yaml_values.YamlRefused as refused:
                diagnostics.append(_refused(refused, text, path))
                if isinstance(refused, yaml_values.YamlTooDeep):
                    break
                yaml_values.skip(get, notes)
                continue
            if notes.has_repeated or notes.tags:
                diagnostics += _noted(notes, text, path, index, dialect)
            if value is not None:
                documents.append(YamlDocument(path, line, index, value, text, dialect))
    except yaml.reader.ReaderError:
        return _with_control_character(text, path, dialect)
    except yaml_values.YamlTooMuch:
        diagnostics.append(
            Diagnostic.error("yaml-too-large", "there is more in the file than anybody writes by hand", at=Place(path))
        )
    except yaml.YAMLError as error:
        found = yaml_problems.explain(error, text, path=path)
        if not diagnostics or not found.code == diagnostics[-1].code == "yaml-template":  # often refused twice
            diagnostics.append(found)
    return YamlContents(tuple(documents), tuple(_limited(diagnostics)), index + 1)


def _limited(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The first hundred diagnostics: more of one file say nothing new, and a hostile one has millions."""
    if len(diagnostics) <= _REMARKS:
        return diagnostics
    last = diagnostics[_REMARKS]
    more = dataclasses.replace(last, message=f"{last.message}; and {len(diagnostics) - _REMARKS - 1} more")
    return [*diagnostics[:_REMARKS], more]


def _refused(refused: yaml_values.YamlRefused, text: str, path: str) -> Diagnostic:
    place = Place(path, refused.mark.line + 1, refused.mark.column + 1)
    if yaml_problems.is_template(yaml_problems.line_at(text, refused.mark.index)):
        return yaml_problems.template(place)
    return Diagnostic.error(refused.code, refused.message, at=place, fix=refused.fix)


def _noted(notes: yaml_values.ReadNotes, text: str, path: str, index: int, dialect: YamlDialect) -> list[Diagnostic]:
    rules, diagnostics = _RULES[dialect], []
    for tag, mark in notes.tags.items():
        message = f"the tag {tag} means nothing to {rules.name}, which reads what follows without it"
        diagnostics.append(
            Diagnostic.unknown("yaml-tag-unknown", message, at=Place(path, mark.line + 1, mark.column + 1))
        )
    root = yaml_tree.documents(text)[index] if notes.has_repeated else None
    if root is None:
        return diagnostics
    for name, first, second in yaml_tree.repeated(root, rules):
        message = f"{_shown(name)} is given twice, first in line {first.line + 1}; the last one counts"
        severity = Severity.WARNING if dialect is YamlDialect.KUBERNETES else Severity.ERROR
        diagnostics.append(
            Diagnostic(
                code="key-given-twice",
                severity=severity,
                message=message,
                places=(Place(path, second.line + 1, second.column + 1), Place(path, first.line + 1, first.column + 1)),
                fix="Keep one of them.",
                subject=_shown(name),
            )
        )
    if rules.merge_wins:
        for name, key, merge in yaml_tree.overridden(root, rules):
            message = f"<< replaces {_shown(name)} of line {key.line + 1}, which stands above it"
            hint = "Write << before the keys that are to differ."
            place = Place(path, merge.line + 1, merge.column + 1)
            diagnostics.append(Diagnostic.warning("yaml-merge-overrides", message, at=place, fix=hint))
    return diagnostics


def _shown(name: str) -> str:
    """A key as it can be printed: what a repo holds may try to write to a terminal."""
    return name if name.isprintable() and len(name) <= 100 else f"{name[:100]!r}"


def _with_control_character(text: str, path: str, dialect: YamlDialect) -> YamlContents:
    """What stands above such a character, and where it is: libyaml reads ahead, and gives up before it tells."""
    found = _NOT_PRINTABLE.search(text)
    start = found.start() if found else 0
    line, line_start = text.count("\n", 0, start) + 1, text.rfind("\n", 0, start) + 1
    code = f"U+{ord(text[start]):04X}" if found else "a character"
    message = f"there is a control character ({code}) that YAML does not take"
    diagnostic = Diagnostic.error(
        "yaml-control-character",
        message,
        at=Place(path, line, start - line_start + 1),
        fix='Delete it, or write it as "\\x.." in quotes.',
    )
    before = _read(text[: text.rfind("\n---", 0, start) + 1], path, dialect)
    return YamlContents(before.documents, (*before.diagnostics, diagnostic), before.count)

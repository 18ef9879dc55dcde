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
from firstlight.model.remark import Grade, Place, Remark

_PLAIN_SIZE = 1 << 20
_ALIAS = re.compile(rb"(?:^|[\s\[{,:])\*[^\s*]")
_BRACKETS = 1000
_INDENTED = (b" " * 200, b"- " * 100)


class YamlUnreadable(ValueError):
    """A text that is not YAML, or means something that only its author knows."""

    def __init__(self, remark: Remark) -> None:
        super().__init__(f"it is not YAML: {remark.message}")
        self.remark = remark


def load_all(text: str | bytes) -> list[Any]:
    """Every document of a text, empty ones as None.

    Raises:
        ValueError: It cannot be read; ``problem_of`` says where.
    """
    data = text.encode("utf-8", errors="surrogatepass") if isinstance(text, str) else text
    contents = read(data, "")
    for remark in contents.remarks:
        if remark.grade is not Grade.WARNING:
            raise YamlUnreadable(remark)
    values: list[Any] = [None] * contents.count
    for document in contents.documents:
        values[document.index] = document.value
    return values


def problem_of(error: ValueError) -> tuple[str, int]:
    """What is wrong, and in which line; 0 if that is not known."""
    if isinstance(error, YamlUnreadable):
        return error.remark.message, error.remark.place.line
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
    remarks = read(data, "").remarks
    return next(((each.message, each.place.line) for each in remarks if each.grade is Grade.ERROR), None)


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
    remarks: tuple[Remark, ...] = ()
    count: int = 0
    """Documents up to the first that cannot be parsed, empty ones and those that are refused included."""


def read(data: bytes, path: str, *, dialect: YamlDialect = YamlDialect.KUBERNETES) -> YamlContents:
    """Read a file; what is broken is a remark, and the documents before it are kept."""
    if len(data) > SIZE_LIMIT:
        remark = Remark(Place(path), Grade.ERROR, f"the file is larger than {SIZE_LIMIT >> 20} MiB")
        return YamlContents((), (remark,))
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


def _undecodable(error: UnicodeDecodeError, data: bytes, path: str) -> Remark:
    if error.encoding.startswith("utf-16"):
        return Remark(Place(path), Grade.ERROR, "the file is broken UTF-16", "Save it as UTF-8.")
    line = data.count(b"\n", 0, error.start) + 1
    column = len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode("utf-8", errors="replace")) + 1
    message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
    return Remark(Place(path, line, column), Grade.ERROR, message, "Save the file as UTF-8.")


def _read(text: str, path: str, dialect: YamlDialect) -> YamlContents:
    documents: list[YamlDocument] = []
    remarks: list[Remark] = []
    rules, index, notes = _RULES[dialect], -1, yaml_values.ReadNotes()
    if text.count("%TAG") > _DIRECTIVES and len(_DIRECTIVE.findall(text)) > _DIRECTIVES:
        return YamlContents((), (Remark(Place(path), Grade.ERROR, "there are more %TAG lines than anybody writes"),))
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
                remarks.append(_refused(refused, text, path))
                if isinstance(refused, yaml_values.YamlTooDeep):
                    break
                yaml_values.skip(get, notes)
                continue
            if notes.has_repeated or notes.tags:
                remarks += _noted(notes, text, path, index, dialect)
            if value is not None:
                documents.append(YamlDocument(path, line, index, value, text, dialect))
    except yaml.reader.ReaderError:
        return _with_control_character(text, path, dialect)
    except yaml_values.YamlTooMuch:
        remarks.append(Remark(Place(path), Grade.ERROR, "there is more in the file than anybody writes by hand"))
    except yaml.YAMLError as error:
        message, line, column, hint = yaml_problems.explain(error, text)
        if not remarks or remarks[-1].message != message:  # a template is often refused twice
            remarks.append(Remark(Place(path, line, column), Grade.ERROR, message, hint))
    return YamlContents(tuple(documents), tuple(_limited(remarks)), index + 1)


def _limited(remarks: list[Remark]) -> list[Remark]:
    """The first hundred remarks: more of one file say nothing new, and a hostile one has millions."""
    if len(remarks) <= _REMARKS:
        return remarks
    last = remarks[_REMARKS]
    more = dataclasses.replace(last, message=f"{last.message}; and {len(remarks) - _REMARKS - 1} more")
    return [*remarks[:_REMARKS], more]


def _refused(refused: yaml_values.YamlRefused, text: str, path: str) -> Remark:
    place = Place(path, refused.mark.line + 1, refused.mark.column + 1)
    if yaml_problems.is_template(yaml_problems.line_at(text, refused.mark.index)):
        return Remark(place, Grade.ERROR, yaml_problems.TEMPLATE, yaml_problems.TEMPLATE_HINT)
    return Remark(place, Grade.ERROR, refused.message, refused.hint)


def _noted(notes: yaml_values.ReadNotes, text: str, path: str, index: int, dialect: YamlDialect) -> list[Remark]:
    rules, remarks = _RULES[dialect], []
    for tag, mark in notes.tags.items():
        message = f"the tag {tag} means nothing to {rules.name}, which reads what follows without it"
        remarks.append(Remark(Place(path, mark.line + 1, mark.column + 1), Grade.UNKNOWN, message))
    root = yaml_tree.documents(text)[index] if notes.has_repeated else None
    if root is None:
        return remarks
    for name, first, second in yaml_tree.repeated(root, rules):
        message = f"{_shown(name)} is given twice, first in line {first.line + 1}; the last one counts"
        grade = Grade.WARNING if dialect is YamlDialect.KUBERNETES else Grade.ERROR
        remarks.append(Remark(Place(path, second.line + 1, second.column + 1), grade, message, "Keep one of them."))
    if rules.merge_wins:
        for name, key, merge in yaml_tree.overridden(root, rules):
            message = f"<< replaces {_shown(name)} of line {key.line + 1}, which stands above it"
            hint = "Write << before the keys that are to differ."
            place = Place(path, merge.line + 1, merge.column + 1)
            remarks.append(Remark(place, Grade.WARNING, message, hint))
    return remarks


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
    remark = Remark(
        Place(path, line, start - line_start + 1), Grade.ERROR, message, 'Delete it, or write it as "\\x.." in quotes.'
    )
    before = _read(text[: text.rfind("\n---", 0, start) + 1], path, dialect)
    return YamlContents(before.documents, (*before.remarks, remark), before.count)

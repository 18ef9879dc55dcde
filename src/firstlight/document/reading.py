"""YAML files as documents: plain values with the way back to their lines."""

import codecs
import dataclasses
import enum
import re
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import DocumentStartEvent, StreamEndEvent

from firstlight.document import problems, tree, values
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark

SIZE_LIMIT = 32 * 1024 * 1024
"""Bytes of one file: the largest message that a Talos machine accepts, and far more than an object in etcd may have."""

_DIRECTIVE = re.compile("^%TAG", re.MULTILINE)
_DIRECTIVES = 100
"""Directives of one file: libyaml compares each with each."""
_BARE_TAG = re.compile(r"!(?<![^\s\[{,]!)\s")
_REMARKS = 100
_NOT_PRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Dialect(enum.Enum):
    """Whose rules a file is read by."""

    KUBERNETES = "kubernetes"
    """``sigs.k8s.io/yaml``: ``on``, ``yes`` and ``y`` are booleans, keys are texts, numbers are those of JSON."""
    TALOS = "talos"
    """``go.yaml.in/yaml/v4``, which Talos and Omni use: ``on`` and ``yes`` are texts."""


_RULES = {Dialect.KUBERNETES: values.KUBERNETES, Dialect.TALOS: values.TALOS}


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
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
    dialect: Dialect = Dialect.KUBERNETES

    def place(self, *steps: str | int) -> Place:
        """Where the value at ``steps`` stands, or the nearest parent that exists; of a key it is the key's place."""
        return Place(self.path, *tree.position(self.text, self.index, steps, _RULES[self.dialect]))


@dataclasses.dataclass(frozen=True, slots=True)
class Contents:
    """A file: its documents, and what is wrong with it."""

    documents: tuple[Document, ...]
    remarks: tuple[Remark, ...] = ()
    count: int = 0
    """Documents up to the first that cannot be parsed, empty ones and those that are refused included."""


def read(data: bytes, path: str, *, dialect: Dialect = Dialect.KUBERNETES) -> Contents:
    """Read a file; what is broken is a remark, and the documents before it are kept."""
    if len(data) > SIZE_LIMIT:
        remark = Remark(Place(path), Grade.ERROR, f"the file is larger than {SIZE_LIMIT >> 20} MiB")
        return Contents((), (remark,))
    try:
        text = decode(data)
    except UnicodeDecodeError as error:
        return Contents((), (_undecodable(error, data, path),))
    return _read(text, path, dialect)


def read_text(text: str, path: str, *, dialect: Dialect = Dialect.KUBERNETES) -> Contents:
    """Read a text that has no byte-order mark."""
    return _read(text, path, dialect)


def rules_of(dialect: Dialect) -> values.Rules:
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


def _read(text: str, path: str, dialect: Dialect) -> Contents:
    documents: list[Document] = []
    remarks: list[Remark] = []
    rules, index, notes = _RULES[dialect], -1, values.Notes()
    if text.count("%TAG") > _DIRECTIVES and len(_DIRECTIVE.findall(text)) > _DIRECTIVES:
        return Contents((), (Remark(Place(path), Grade.ERROR, "there are more %TAG lines than anybody writes"),))
    parser: Any = CParser(text)
    get = parser.get_event
    if rules is values.KUBERNETES and _BARE_TAG.search(text):
        get = values.with_bare_tags(get, text)
    try:
        while (event := get()).__class__ is not StreamEndEvent:
            if event.__class__ is not DocumentStartEvent:
                continue
            index += 1
            line = parser.peek_event().start_mark.line + 1
            notes.has_repeated, notes.tags = False, {}
            try:
                value = values.build(get, rules, notes)
            except values.Refused as refused:
                remarks.append(_refused(refused, text, path))
                if isinstance(refused, values.TooDeep):
                    break
                values.skip(get, notes)
                continue
            if notes.has_repeated or notes.tags:
                remarks += _noted(notes, text, path, index, dialect)
            if value is not None:
                documents.append(Document(path, line, index, value, text, dialect))
    except yaml.reader.ReaderError:
        return _with_control_character(text, path, dialect)
    except values.TooMuch:
        remarks.append(Remark(Place(path), Grade.ERROR, "there is more in the file than anybody writes by hand"))
    except yaml.YAMLError as error:
        message, line, column, hint = problems.explain(error, text)
        if not remarks or remarks[-1].message != message:  # a template is often refused twice
            remarks.append(Remark(Place(path, line, column), Grade.ERROR, message, hint))
    return Contents(tuple(documents), tuple(_limited(remarks)), index + 1)


def _limited(remarks: list[Remark]) -> list[Remark]:
    """The first hundred remarks: more of one file say nothing new, and a hostile one has millions."""
    if len(remarks) <= _REMARKS:
        return remarks
    last = remarks[_REMARKS]
    more = dataclasses.replace(last, message=f"{last.message}; and {len(remarks) - _REMARKS - 1} more")
    return [*remarks[:_REMARKS], more]


def _refused(refused: values.Refused, text: str, path: str) -> Remark:
    place = Place(path, refused.mark.line + 1, refused.mark.column + 1)
    if problems.is_template(problems.line_at(text, refused.mark.index)):
        return Remark(place, Grade.ERROR, problems.TEMPLATE, problems.TEMPLATE_HINT)
    return Remark(place, Grade.ERROR, refused.message, refused.hint)


def _noted(notes: values.Notes, text: str, path: str, index: int, dialect: Dialect) -> list[Remark]:
    rules, remarks = _RULES[dialect], []
    for tag, mark in notes.tags.items():
        message = f"the tag {tag} means nothing to {rules.name}, which reads what follows without it"
        remarks.append(Remark(Place(path, mark.line + 1, mark.column + 1), Grade.UNKNOWN, message))
    root = tree.documents(text)[index] if notes.has_repeated else None
    if root is None:
        return remarks
    for name, first, second in tree.repeated(root, rules):
        message = f"{_shown(name)} is given twice, first in line {first.line + 1}; the last one counts"
        grade = Grade.WARNING if dialect is Dialect.KUBERNETES else Grade.ERROR
        remarks.append(Remark(Place(path, second.line + 1, second.column + 1), grade, message, "Keep one of them."))
    if rules.merge_wins:
        for name, key, merge in tree.overridden(root, rules):
            message = f"<< replaces {_shown(name)} of line {key.line + 1}, which stands above it"
            hint = "Write << before the keys that are to differ."
            place = Place(path, merge.line + 1, merge.column + 1)
            remarks.append(Remark(place, Grade.WARNING, message, hint))
    return remarks


def _shown(name: str) -> str:
    """A key as it can be printed: what a repo holds may try to write to a terminal."""
    return name if name.isprintable() and len(name) <= 100 else f"{name[:100]!r}"


def _with_control_character(text: str, path: str, dialect: Dialect) -> Contents:
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
    return Contents(before.documents, (*before.remarks, remark), before.count)

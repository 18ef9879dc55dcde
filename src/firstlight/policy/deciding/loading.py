"""Files with rules in, the book out: ours, and before them a team's."""

import functools
import importlib.resources
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from firstlight.document.mistakes import Mistaken, parsed
from firstlight.document.reading import Document
from firstlight.model.place import Place
from firstlight.model.remark import Remark
from firstlight.policy.deciding import proving
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.case_form import CaseFile
from firstlight.policy.deciding.form import RuleFile

_PACKAGE = "firstlight.policy"
_Read = tuple[RuleFile, Document]


def book(files: Sequence[tuple[str, bytes]] = ()) -> Book:
    """Our rules and a team's, which come first; files are given with their paths.

    Raises:
        Mistaken: A team's file says something that it must not say; everything that is wrong is said at once.
    """
    return _joined(_read(files, known=[each for each, _ in _ours()]), _ours()) if files else _our_book()


def alone(files: Sequence[tuple[str, bytes]]) -> Book:
    """A book of these files in place of ours.

    Raises:
        Mistaken: Something is wrong with one of them.
    """
    return _joined((), _read(files, known=()))


def our_files() -> list[tuple[str, bytes]]:
    """Our own files, with their paths."""
    root = importlib.resources.files(_PACKAGE).joinpath("rules")
    names = sorted(each.name for each in root.iterdir() if each.name.endswith(".yaml"))
    return [(f"rules/{name}", root.joinpath(name).read_bytes()) for name in names]


def rule_schema() -> dict[str, Any]:
    """The JSON Schema of a file with rules."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(RuleFile)}


def case_schema() -> dict[str, Any]:
    """The JSON Schema of a file with tests of rules."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(CaseFile)}


def _read(
    files: Iterable[tuple[str, bytes]], *, known: Sequence[RuleFile], is_proved: bool = True
) -> tuple[_Read, ...]:
    """Files in the order of their paths, if nothing is wrong with any of them."""
    read: list[_Read] = []
    remarks: list[Remark] = []
    for path, data in sorted(files):
        try:
            read.append(parsed(data, path, RuleFile))
        except Mistaken as mistaken:
            remarks += mistaken.remarks
    if is_proved:
        remarks += _problems(read, known)
    if remarks:
        raise Mistaken(remarks)
    return tuple(read)


def _problems(read: Sequence[_Read], known: Sequence[RuleFile]) -> Iterator[Remark]:
    names = proving.Names([*known, *(each for each, _ in read)])
    for file, document in read:
        yield from proving.problems(file, document, names)
    yield from proving.doubles(read)


@functools.cache
def _ours() -> tuple[_Read, ...]:
    # A test has proved them.
    return _read(our_files(), known=(), is_proved=False)


@functools.cache
def _our_book() -> Book:
    return _joined((), _ours())


def _joined(own: Sequence[_Read], ours: Sequence[_Read]) -> Book:
    everything = [*own, *ours]

    def all_of(section: Callable[[RuleFile], Iterable[Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for file, _ in everything:
            for each in section(file):
                found.setdefault(each.id, each)
        return found

    places: dict[str, Callable[[], Place]] = {}
    for file, document in everything:
        for section in ("rules", "factors"):
            for number, each in enumerate(getattr(file, section)):
                places.setdefault(each.id, functools.partial(document.place, section, number))
    return Book(
        rules=tuple(all_of(lambda file: file.rules).values()),
        factors=tuple(all_of(lambda file: file.factors).values()),
        trees=tuple(all_of(lambda file: file.trees).values()),
        criteria=all_of(lambda file: file.criteria),
        procedures=all_of(lambda file: file.procedures),
        checks=tuple(all_of(lambda file: file.checks).values()),
        places=_Places(places),
        own=frozenset(each.id for file, _ in own for each in file.rules),
        synonyms=_merged(file.synonyms for file, _ in everything),
        examples=_merged(file.examples for file, _ in everything),
    )


def _merged(tables: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for table in tables:
        for word, others in table.items():
            found.setdefault(word.lower(), []).extend(each.lower() for each in others)
    return found


class _Places(Mapping[str, Place]):
    """Where things are written; only looked up when somebody asks, since a text must be parsed again for it."""

    def __init__(self, lookups: Mapping[str, Callable[[], Place]]) -> None:
        self._lookups = lookups

    def __getitem__(self, name: str) -> Place:
        return self._lookups[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._lookups)

    def __len__(self) -> int:
        return len(self._lookups)

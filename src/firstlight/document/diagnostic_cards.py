"""Cards of codes: what each code of a diagnostic means, why it matters, and what to do.

Cards are data beside the code that makes the diagnostics: a ``diagnostics.yaml`` in any package, the rules of the
audit and the symptoms of the doctor. They are found by walking the installed package, so that no room has to be
imported, and are read when somebody asks for them.
"""

import dataclasses
import functools
import importlib.resources
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources.abc import Traversable
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Severity

FILE = "diagnostics.yaml"
AUDIT = "commands/audit/rules"
DOCTOR = "commands/doctor"
"""The rooms that judge by their cards, and have more in them."""
_SYMPTOMS = "symptoms.yaml"
_NEEDED = ("title", "why", "fix")
_NEEDED_OF_SYMPTOMS = ("title", "fix", "layer")


class CardsWrong(ValueError):
    """A file of cards is not what it must be."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticCard:
    """What a code means."""

    code: str
    title: str
    why: str
    """What happens because of it; empty for symptoms of the doctor."""
    fix: str
    """What to do."""
    severity: Severity | None = None
    """None where it depends on the case."""
    home: str
    """The directory that the card belongs to, below the package: ``repo/kustomize``."""
    sources: tuple[str, ...] = ()
    """Where to read more about it."""


@functools.cache
def cards() -> Mapping[str, DiagnosticCard]:
    """Return all cards by their codes.

    Raises:
        CardsWrong: A file is wrong, or two have the same code.
    """
    found: dict[str, DiagnosticCard] = {}
    for each in _all():
        if each.code in found:
            raise CardsWrong(f"{each.code} has a card in {found[each.code].home} and another in {each.home}")
        found[each.code] = each
    return found


def _all() -> Iterator[DiagnosticCard]:
    root = importlib.resources.files("firstlight")
    for home, file in _files(root, ""):
        yield from read(file.read_bytes(), home=home)
    for file in sorted(root.joinpath(AUDIT).iterdir(), key=lambda each: each.name):
        yield from read_rules(file.read_bytes(), home=AUDIT)
    yield from read_symptoms(root.joinpath(DOCTOR, _SYMPTOMS).read_bytes(), home=DOCTOR)


def _files(directory: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for each in sorted(directory.iterdir(), key=lambda one: one.name):
        if each.name == FILE:
            yield path, each
        # Python names alone: no directory that something else has put there.
        elif each.name.isidentifier() and each.is_dir():
            yield from _files(each, f"{path}/{each.name}".lstrip("/"))


def read(data: bytes, *, home: str) -> Iterator[DiagnosticCard]:
    """Read a ``diagnostics.yaml``: codes, each with its title, why and fix.

    Raises:
        CardsWrong: It is something else.
    """
    path = f"{home}/{FILE}"
    for code, fields in _mapping(_value(data, path), path).items():
        where = f"{path}: {code}"
        _require(_mapping(fields, where), where, needed=_NEEDED, known=(*_NEEDED, "severity"))
        yield _card(code, fields, home)


def read_symptoms(data: bytes, *, home: str) -> Iterator[DiagnosticCard]:
    """Read the symptoms of the doctor; why each matters is told by what it explains in a cluster.

    Raises:
        CardsWrong: It is something else.
    """
    path = f"{home}/{_SYMPTOMS}"
    for code, fields in _mapping(_value(data, path), path).items():
        where = f"{path}: {code}"
        _require(_mapping(fields, where), where, needed=_NEEDED_OF_SYMPTOMS, known=(*_NEEDED_OF_SYMPTOMS, "why"))
        yield _card(code, fields, home)


def read_rules(data: bytes, *, home: str) -> Iterator[DiagnosticCard]:
    """Read a file with rules of the audit, ours or a team's; its other keys are the audit's own business.

    Raises:
        CardsWrong: A rule has no card.
    """
    rules = _mapping(_value(data, home), home).get("rules", ())
    for rule in rules if isinstance(rules, list) else ():
        code = _mapping(rule, home).get("id")
        _require(rule, f"{home}: {code}", needed=_NEEDED, known=rule)
        yield _card(str(code), rule, home)


def _value(data: bytes, home: str) -> Any:
    contents = yaml_reader.read(data, home)
    for problem in contents.diagnostics:
        raise CardsWrong(f"{problem.place}: {problem.message}")
    return contents.documents[0].value if len(contents.documents) == 1 else None


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise CardsWrong(f"{where}: not a mapping")
    return value


def _require(fields: Mapping[str, Any], where: str, *, needed: Iterable[str], known: Iterable[str]) -> None:
    if missing := sorted(key for key in needed if not (isinstance(fields.get(key), str) and fields[key].strip())):
        raise CardsWrong(f"{where}: {', '.join(missing)} must be a text")
    if unknown := sorted(set(map(str, fields)) - set(known)):
        raise CardsWrong(f"{where}: {', '.join(unknown)} is not a key of a card")
    if fields.get("severity") not in (None, *Severity):
        raise CardsWrong(f"{where}: {fields['severity']} is not a severity")


def _card(code: str, fields: Mapping[str, Any], home: str) -> DiagnosticCard:
    severity = fields.get("severity")
    return DiagnosticCard(
        code=code,
        title=fields["title"],
        why=fields.get("why", ""),
        fix=fields["fix"],
        severity=Severity(severity) if severity else None,
        home=home,
        sources=tuple(map(str, fields.get("sources", ()))),
    )

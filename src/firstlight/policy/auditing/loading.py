"""Files with audit rules in, the book out: ours, a team's before them, and those that installed packages bring."""

import dataclasses
import functools
import importlib
import importlib.metadata
import importlib.resources
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from firstlight.document.mistakes import Mistaken, parsed, short
from firstlight.document.reading import Document
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.policy.auditing import excusing, finding_by_data
from firstlight.policy.auditing.form import AuditFile, Pattern, Rule
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

Check = Callable[[Scene], Iterable[Hit]]
ENTRY_POINTS = "firstlight.audit"
"""The group of entry points by which packages bring rules: each is a ``PackagedRule``, or a list of them."""
_CHECKS = "firstlight.policy.auditing.checks"
_ID = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
"""What comments can name that excuse findings of a rule."""


@dataclasses.dataclass(frozen=True, slots=True)
class PackagedRule:
    """A rule that an installed package brings: its card, and the function that finds it."""

    rule: Rule
    check: Check


@dataclasses.dataclass(frozen=True, kw_only=True)
class Book:
    """What an audit looks for."""

    rules: Mapping[str, Rule]
    """By id, a team's before ours."""
    patterns: tuple[Pattern, ...] = ()
    own: frozenset[str] = frozenset()
    """Ids of the rules that the team has written itself."""
    replaced: Mapping[str, Place] = dataclasses.field(default_factory=dict)
    """Ids of our rules that others of the team's have taken the place of, and where those are."""
    packaged: Mapping[str, Check] = dataclasses.field(default_factory=dict, repr=False)

    def check(self, rule: Rule) -> Check:
        """The function that finds what a rule is about."""
        if rule.id in self.packaged:
            return self.packaged[rule.id]
        if rule.check:
            return _function(rule.check)
        return functools.partial(finding_by_data.hits, rule)


def book(files: Sequence[tuple[str, bytes]] = (), packaged: Iterable[PackagedRule] = ()) -> Book:
    """Our rules and a team's, which come first; files are given with their paths.

    Raises:
        Mistaken: A file says something that it must not say; everything that is wrong is said at once.
    """
    own, ours, brought = _read(files), _ours(), tuple(packaged)
    fixed = {each.id: each for file in ours for each in file.rules if each.group == excusing.GROUP}
    seen: dict[str, Place] = {}
    remarks = [remark for file, document in own for remark in _problems(file, document, seen, fixed)]
    if remarks:
        raise Mistaken(remarks)
    rules: dict[str, Rule] = dict(fixed)
    for rule in (
        *(each for file, _ in own for each in file.rules),
        *(each.rule for each in brought),
        *(each for file in ours for each in file.rules),
    ):
        rules.setdefault(rule.id, rule)
    patterns: dict[str, Pattern] = {}
    for pattern in (each for file in (*(file for file, _ in own), *ours) for each in file.patterns):
        patterns.setdefault(pattern.id, pattern)
    mine = frozenset(each.id for file, _ in own for each in file.rules)
    return Book(
        rules=rules,
        patterns=tuple(patterns.values()),
        own=mine,
        replaced={each.id: seen[each.id] for file in ours for each in file.rules if each.id in mine},
        packaged={each.rule.id: each.check for each in brought if each.rule.id not in mine},
    )


def packaged_rules() -> list[PackagedRule]:
    """The rules of installed packages."""
    found: list[PackagedRule] = []
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        loaded = point.load()
        found += [loaded] if isinstance(loaded, PackagedRule) else list(loaded)
    return found


def _read(files: Iterable[tuple[str, bytes]]) -> list[tuple[AuditFile, Document]]:
    read: list[tuple[AuditFile, Document]] = []
    remarks: list[Remark] = []
    for path, data in sorted(files):
        try:
            read.append(parsed(data, path, AuditFile))
        except Mistaken as mistaken:
            remarks += mistaken.remarks
    if remarks:
        raise Mistaken(remarks)
    return read


def _problems(
    file: AuditFile, document: Document, seen: dict[str, Place], fixed: Mapping[str, Rule]
) -> Iterator[Remark]:  # fmt: skip
    """What the form alone does not see."""
    for number, rule in enumerate(file.rules):
        place = document.place("rules", number)
        if not _ID.fullmatch(rule.id):
            hint = "Write letters, digits, dots and dashes alone."
            yield Remark(place, Grade.ERROR, f"{rule.id[:60]!r} cannot be the id of a rule", hint)
        if rule.id in fixed:
            hint = "Give yours another id: what is excused stays in sight."
            yield Remark(place, Grade.ERROR, f"rule {rule.id} cannot be replaced", hint)
        if rule.id in seen:
            yield Remark(place, Grade.ERROR, f"there is another rule {rule.id} at {seen[rule.id]}", "Keep one of them.")
        seen.setdefault(rule.id, place)
        if bool(rule.check) == bool(rule.find):
            hint = "Write find: with what it finds, or check: with the name of a function of firstlight's."
            yield Remark(place, Grade.ERROR, f"rule {rule.id} needs either find or check", hint)
        if rule.check and _resolved(rule.check) is None:
            yield Remark(place, Grade.ERROR, f"there is no check {short(rule.check)}", "Write find: instead.")
        if rule.find and not rule.says:
            yield Remark(place, Grade.ERROR, f"rule {rule.id} has nothing to say", "Write says: with a sentence.")
        for problem in finding_by_data.problems(rule):
            yield Remark(place, Grade.ERROR, f"rule {rule.id}: {problem}")


def our_files() -> list[tuple[str, bytes]]:
    """Our own files, with their paths."""
    root = importlib.resources.files("firstlight.policy").joinpath("audit_rules")
    names = sorted(each.name for each in root.iterdir() if each.name.endswith(".yaml"))
    return [(f"audit_rules/{name}", root.joinpath(name).read_bytes()) for name in names]


@functools.cache
def _ours() -> tuple[AuditFile, ...]:
    # A test has proved them.
    return tuple(file for file, _ in _read(our_files()))


def _function(name: str) -> Check:
    found = _resolved(name)
    assert found is not None, name
    return found


@functools.cache
def _files_of_checks() -> frozenset[str]:
    return frozenset(each.name for each in pkgutil.iter_modules(importlib.import_module(_CHECKS).__path__))


def _resolved(name: str) -> Check | None:
    file, _, function = name.rpartition(".")
    module = f"{_CHECKS}.{file}"
    # Only what is there is imported: a name is a stranger's, and Python follows each of its dots.
    if file not in _files_of_checks():
        return None
    found: Check | None = getattr(importlib.import_module(module), function, None)
    # Not what a module has from elsewhere, nor what it keeps to itself.
    is_check = inspect.isfunction(found) and found.__module__ == module and not function.startswith("_")
    return found if is_check else None

"""Files with audit rules in, the book out: ours, a team's before them, and those that installed packages bring."""

import dataclasses
import functools
import importlib
import importlib.metadata
import importlib.resources
import inspect
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from firstlight import errors
from firstlight.commands.audit import declarative_rules, excuses, finding_basis, former_checks
from firstlight.commands.audit.rule_form import AuditFile, AuditPattern, AuditRule
from firstlight.document.mistakes import FormMistakes, parsed, short
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo import team_files
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.work_tree import YAML, WorkTree

Check = Callable[[AuditRule, PlatformView], Iterable[Finding]]
"""Finds what a rule is about; it makes each finding by ``rule.finding(…)``."""
ENTRY_POINTS = "firstlight.audit"
"""The group of entry points by which packages bring rules: each is a ``PackagedRule``, or a list of them."""
_CHECKS = "firstlight.commands.audit.checks"
_ID = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
"""What comments can name that excuse findings of a rule."""


@dataclasses.dataclass(frozen=True, slots=True)
class PackagedRule:
    """A rule that an installed package brings: its card, and the function that finds it."""

    rule: AuditRule
    check: Check


@dataclasses.dataclass(frozen=True, kw_only=True)
class AuditRulebook:
    """What an audit looks for."""

    rules: Mapping[str, AuditRule]
    """By id, a team's before ours."""
    patterns: tuple[AuditPattern, ...] = ()
    own: frozenset[str] = frozenset()
    """Ids of the rules that the team has written itself."""
    replaced: Mapping[str, Place] = dataclasses.field(default_factory=dict)
    """Ids of our rules that others of the team's have taken the place of, and where those are."""
    packaged: Mapping[str, Check] = dataclasses.field(default_factory=dict, repr=False)

    def check(self, rule: AuditRule) -> Check:
        """The function that finds what a rule is about."""
        if rule.id in self.packaged:
            return self.packaged[rule.id]
        if rule.check:
            return _function(rule.check)
        return declarative_rules.findings


def read_rulebook(files: Sequence[tuple[str, bytes]] = (), packaged: Iterable[PackagedRule] = ()) -> AuditRulebook:
    """Our rules and a team's, which come first; files are given with their paths.

    Raises:
        Mistaken: A file says something that it must not say; everything that is wrong is said at once.
    """
    own, ours, brought = _read(files), _ours(), tuple(packaged)
    fixed = {each.id: each for file in ours for each in file.rules if each.group == excuses.GROUP}
    seen: dict[str, Place] = {}
    diagnostics = [diagnostic for file, document in own for diagnostic in _problems(file, document, seen, fixed)]
    if diagnostics:
        raise FormMistakes(diagnostics)
    rules: dict[str, AuditRule] = dict(fixed)
    for rule in (
        *(each for file, _ in own for each in file.rules),
        *(each.rule for each in brought),
        *(each for file in ours for each in file.rules),
    ):
        rules.setdefault(rule.id, rule)
    patterns: dict[str, AuditPattern] = {}
    for pattern in (each for file in (*(file for file, _ in own), *ours) for each in file.patterns):
        patterns.setdefault(pattern.id, pattern)
    mine = frozenset(each.id for file, _ in own for each in file.rules)
    return AuditRulebook(
        rules=rules,
        patterns=tuple(patterns.values()),
        own=mine,
        replaced={each.id: seen[each.id] for file in ours for each in file.rules if each.id in mine},
        packaged={each.rule.id: each.check for each in brought if each.rule.id not in mine},
    )


def our_findings(name: str, scene: PlatformView) -> Iterable[Finding]:
    """What our own rule of this id finds, also where a team's has taken its place: remedies are made for ours."""
    rule = next(each for file in _ours() for each in file.rules if each.id == name)
    return _function(rule.check)(rule, scene)


def packaged_rules() -> list[PackagedRule]:
    """The rules of installed packages."""
    found: list[PackagedRule] = []
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        loaded = point.load()
        found += [loaded] if isinstance(loaded, PackagedRule) else list(loaded)
    return found


def _read(files: Iterable[tuple[str, bytes]]) -> list[tuple[AuditFile, YamlDocument]]:
    read: list[tuple[AuditFile, YamlDocument]] = []
    diagnostics: list[Diagnostic] = []
    for path, data in sorted(files):
        try:
            read.append(parsed(data, path, AuditFile))
        except FormMistakes as mistaken:
            diagnostics += mistaken.diagnostics
    if diagnostics:
        raise FormMistakes(diagnostics)
    return read


def _problems(
    file: AuditFile, document: YamlDocument, seen: dict[str, Place], fixed: Mapping[str, AuditRule]
) -> Iterator[Diagnostic]:  # fmt: skip
    """What the form alone does not see."""
    for number, rule in enumerate(file.rules):
        place = document.place("rules", number)
        if not _ID.fullmatch(rule.id):
            hint = "Write letters, digits, dots and dashes alone."
            yield Diagnostic.error(
                "field-name-wrong", f"{rule.id[:60]!r} cannot be the id of a rule", at=place, fix=hint
            )
        if rule.id in fixed:
            hint = "Give yours another id: what is excused stays in sight."
            yield Diagnostic.error(
                "audit-rule-not-replaceable", f"rule {rule.id} cannot be replaced", at=place, fix=hint
            )
        if rule.id in seen:
            yield Diagnostic.error(
                "rule-id-twice",
                f"there is another rule {rule.id} at {seen[rule.id]}",
                at=place,
                fix="Keep one of them.",
            )
        seen.setdefault(rule.id, place)
        if bool(rule.check) == bool(rule.find):
            hint = "Write find: with what it finds, or check: with the name of a function of firstlight's."
            yield Diagnostic.error(
                "audit-rule-find-wrong", f"rule {rule.id} needs either find or check", at=place, fix=hint
            )
        if rule.check and _resolved(rule.check) is None:
            yield Diagnostic.error(
                "audit-check-unknown", f"there is no check {short(rule.check)}", at=place, fix="Write find: instead."
            )
        if rule.find and not rule.says:
            yield Diagnostic.error(
                "audit-rule-says-missing",
                f"rule {rule.id} has nothing to say",
                at=place,
                fix="Write says: with a sentence.",
            )
        for code, message in declarative_rules.problems(rule):
            yield Diagnostic.error(code, f"rule {rule.id}: {message}", at=place)


def our_files() -> list[tuple[str, bytes]]:
    """Our own files, with their paths."""
    root = importlib.resources.files("firstlight.commands.audit").joinpath("rules")
    names = sorted(each.name for each in root.iterdir() if each.name.endswith(".yaml"))
    return [(f"rules/{name}", root.joinpath(name).read_bytes()) for name in names]


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
    file, _, function = former_checks.FORMER.get(name, name).rpartition(".")
    module = f"{_CHECKS}.{file}"
    # Only what is there is imported: a name is a stranger's, and Python follows each of its dots.
    if file not in _files_of_checks():
        return None
    found: Check | None = getattr(importlib.import_module(module), function, None)
    # Not what a module has from elsewhere, nor what it keeps to itself.
    is_check = inspect.isfunction(found) and found.__module__ == module and not function.startswith("_")
    return found if is_check else None


# Rules of ours that a team's own have taken the place of: whoever reads an audit must know.


REPLACED_RULE = "rule-replaced"


def replaced_findings(book: AuditRulebook, *, tried: Collection[str]) -> Iterator[Finding]:
    """One for each of them, if the rule about them was among those that were tried."""
    card = book.rules.get(REPLACED_RULE)
    if card is None or REPLACED_RULE not in tried:
        return
    for name, place in book.replaced.items():
        yield card.finding(f"this takes the place of firstlight's rule {name}", at=place, key=name)


# All rules over a scene: what each finds, once for all clusters that share it.


def findings(
    scene: PlatformView, book: AuditRulebook, *, only: Iterable[str] = (), clusters: Iterable[str] = ()
) -> list[Finding]:
    """What all rules find, the worst first, without what could not be judged.

    Args:
        scene: What they look at.
        book: The rules.
        only: Ids of rules; all by default.
        clusters: Only findings that concern one of these, or the repo as a whole; all by default.
    """
    return [each for each in judged(scene, book, only=only, clusters=clusters) if each.basis.is_known]


def judged(
    scene: PlatformView, book: AuditRulebook, *, only: Iterable[str] = (), clusters: Iterable[str] = ()
) -> list[Finding]:
    """What all rules find, the worst first; what could not be judged has an unknown basis.

    Args:
        scene: What they look at.
        book: The rules.
        only: Ids of rules; all by default.
        clusters: Only findings that concern one of these, or the repo as a whole; all by default.
    """
    wanted, concerned = frozenset(only), frozenset(clusters)
    found = [
        each
        for rule in book.rules.values()
        if not wanted or rule.id in wanted
        for each in _of_rule(rule, book.check(rule), scene)
        if not concerned or not each.clusters or concerned & set(each.clusters)
    ]
    return in_order(found)


def in_order(found: Iterable[Finding]) -> list[Finding]:
    """The worst first, then by place."""
    return sorted(found, key=lambda each: (-each.severity.rank, each.places, each.code, each.message))


def _of_rule(rule: AuditRule, check: Check, scene: PlatformView) -> Iterator[Finding]:
    """What one rule finds; the same place in several clusters is one finding."""
    merged: dict[tuple[tuple[Place, ...], str, str], Finding] = {}
    for each in check(rule, scene):
        if each.code != rule.id:
            raise ValueError(f"the check of {rule.id} returned a finding of {each.code}")
        found = finding_basis.counted(rule, each, scene)
        key = found.places, found.message, found.subject
        first = merged.get(key)
        if first is None:
            merged[key] = found
        else:
            clusters = tuple(sorted({*first.clusters, *found.clusters}))
            evidence = tuple(dict.fromkeys((*first.evidence, *found.evidence)))
            # It is as bad as it is in the cluster where it is surest.
            first = first if first.basis.rank <= found.basis.rank else found
            merged[key] = dataclasses.replace(first, clusters=clusters, evidence=evidence)
    yield from merged.values()


# A team's rules, in ``firstlight-rules/audit``.


DIRECTORY = f"{team_files.DIRECTORY}/audit"
BASELINE = f"{DIRECTORY}/baseline.yaml"
"""Not a file with rules: see ``baseline``."""
TESTS = (".test.yaml", ".test.yml")

File = tuple[str, bytes]


def book(tree: WorkTree) -> AuditRulebook:
    """Our rules, before them those of packages, and before those a team's.

    Raises:
        errors.ConfigError: A file says something that it must not say, or is behind a link.
    """
    team_files.check_links(tree)
    rules = [each for each in of_tree(tree) if not each[0].endswith(TESTS) and each[0] != BASELINE]
    return read_rulebook(rules, packaged())


def packaged() -> list[PackagedRule]:
    """The rules of installed packages.

    Raises:
        errors.ToolError: A package cannot be loaded.
    """
    try:
        return packaged_rules()
    except (Exception, SystemExit) as error:
        hint = f"It has an entry point of the group {ENTRY_POINTS}: repair or uninstall it."
        raise errors.ToolError(f"a package with audit rules cannot be loaded: {error}", hint=hint) from error


def of_tree(tree: WorkTree) -> Iterator[File]:
    """The YAML files of the directory."""
    for name in tree.listing(DIRECTORY):
        path = f"{DIRECTORY}/{name}"
        content = tree.bytes(path) if name.endswith(YAML) else None
        if content is not None:
            yield path, content

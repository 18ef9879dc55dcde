"""Whether what excuses findings is worth something itself."""

import difflib
from collections.abc import Iterator

from firstlight.commands.audit import excuses, rulebook
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, sequence
from firstlight.model.finding import Finding
from firstlight.repo import team_files
from firstlight.repo.platform_view import PlatformView


def without_reason(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Comments that name no rule, have no end or no reason."""
    for each in excuses.ignores(scene.files):
        if each.problem:
            yield rule.finding(f"this ignores {_named(each)} and does not count: {each.problem}", at=each.place)


def expired(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Comments whose day has passed."""
    for each in excuses.ignores(scene.files):
        if not each.problem and each.until is not None and each.until < scene.today:
            yield rule.finding(f"the ignore of {_named(each)} ended on {each.until}", at=each.place)


def too_long(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Comments whose day is so far away that they have no end."""
    for each in excuses.ignores(scene.files):
        if not each.problem and each.until is not None and each.until - scene.today > excuses.LONGEST:
            yield rule.finding(f"the ignore of {_named(each)} ends on {each.until} only", at=each.place)


def unknown_rule(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Comments that name a rule which does not exist."""
    known = _known(scene)
    for each in excuses.ignores(scene.files):
        for name in each.rules:
            if name not in known:
                near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
                hint = f", did you mean {near[0]}" if near else ""
                yield rule.finding(f"there is no rule {name[:60]}{hint}", at=each.place)


def afterwards(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Nothing by itself: what is to be said of a baseline is known when all rules were run, and said then."""
    yield from ()


def _named(ignore: excuses.IgnoreComment) -> str:
    return ", ".join(ignore.rules) or "nothing"


def _known(scene: PlatformView) -> frozenset[str]:
    """Ids of all rules: ours, those that packages bring, and those that the repo has itself."""
    own = [
        at(rule, "id")
        for path in scene.files.files
        if path.startswith(f"{team_files.DIRECTORY}/audit/") and path.endswith((".yaml", ".yml"))
        for document in scene.files.documents(path)
        for rule in sequence(document.value, "rules")
    ]
    brought = [each.rule.id for each in rulebook.packaged_rules()]
    return frozenset([*rulebook.read_rulebook().rules, *brought, *(each for each in own if isinstance(each, str))])

"""All rules over a scene: what each finds, once for all clusters that share it."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator

from firstlight.model.finding import Evidence, Finding, Severity
from firstlight.model.remote_url import without_credentials
from firstlight.policy.auditing.form import Rule
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.loading import Book
from firstlight.policy.auditing.scene import Scene

_LINES = re.compile(r"(?<=\w):\d+(?::\d+)?(?![\w.]|:[\w:.])|\bline \d+")
"""Where something stands within a file, as messages say it."""


def findings(scene: Scene, book: Book, *, only: Iterable[str] = (), clusters: Iterable[str] = ()) -> list[Finding]:
    """What all rules find, the worst first.

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
    return sorted(found, key=lambda each: (-each.severity.rank, each.place, each.rule, each.message))


def _of_rule(rule: Rule, check: Callable[[Scene], Iterable[Hit]], scene: Scene) -> Iterator[Finding]:
    """What one rule finds; the same place in several clusters is one finding."""
    merged: dict[tuple[str, str, str], Finding] = {}
    for hit in check(scene):
        found = _finding(rule, hit)
        key = str(found.place), found.message, found.component
        first = merged.get(key)
        if first is None:
            merged[key] = found
        else:
            clusters = tuple(sorted({*first.clusters, *found.clusters}))
            evidence = tuple(dict.fromkeys((*first.evidence, *found.evidence)))
            merged[key] = dataclasses.replace(first, clusters=clusters, evidence=evidence)
    yield from merged.values()


def _finding(rule: Rule, hit: Hit) -> Finding:
    own = Severity(rule.severity)
    severity = min(own, hit.severity or own, key=lambda each: each.rank)
    return Finding(
        rule=rule.id,
        severity=severity,
        # Not only where it is shown: baselines and caches keep it, too.
        message=without_credentials(hit.message),
        place=hit.place,
        clusters=tuple(sorted(set(hit.clusters))),
        component=hit.component,
        evidence=tuple(Evidence(without_credentials(each.text), each.place) for each in hit.evidence),
        fix=without_credentials(hit.fix or rule.fix),
        edits=hit.edits,
        key=without_credentials(hit.key or _LINES.sub("", hit.message)),
    )

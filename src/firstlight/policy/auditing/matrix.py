"""Patterns against clusters, and against what reference platforms do."""

from collections.abc import Iterable, Sequence

from firstlight.model.finding import Cell, Finding, Matrix, Row, Standing
from firstlight.policy.auditing import applying
from firstlight.policy.auditing.form import Pattern
from firstlight.policy.auditing.loading import Book
from firstlight.policy.auditing.scene import Scene


def matrix(
    scene: Scene, book: Book, found: Iterable[Finding], *, tried: Iterable[str], clusters: Sequence[str]
) -> Matrix:
    """The comparison.

    Args:
        scene: Tells to which clusters a pattern can apply.
        book: The patterns.
        found: All findings, excused ones included: an excuse does not make a cluster follow a pattern.
        tried: Ids of the rules that were run.
        clusters: The clusters that are compared.
    """
    known = frozenset(tried)
    by_rule: dict[str, list[Finding]] = {}
    for each in found:
        by_rule.setdefault(each.rule, []).append(each)
    references = tuple(dict.fromkeys(name for each in book.patterns for name in each.references))
    rows = tuple(
        Row(
            pattern=each.id,
            title=each.title,
            cells=(
                *(_cell(each, scene, name, by_rule, known) for name in clusters),
                *(_reference(each, name) for name in references),
            ),
        )
        for each in book.patterns
    )
    return Matrix(columns=(*clusters, *references), references=len(references), rows=rows)


def _cell(
    pattern: Pattern, scene: Scene, cluster: str, by_rule: dict[str, list[Finding]], tried: frozenset[str]
) -> Cell:
    answer = applying.answer(pattern.applies, scene, cluster)
    if answer.can_apply is False:
        return Cell(standing=Standing.NOT_APPLICABLE, why=answer.why)
    broken = [
        each
        for rule in pattern.rules
        for each in by_rule.get(rule, ())
        if not each.clusters or cluster in each.clusters
    ]
    if broken:
        rules = tuple(dict.fromkeys(each.rule for each in broken))
        return Cell(standing=Standing.BREAKS, why=broken[0].message, rules=rules)
    if answer.can_apply is None:
        return Cell(standing=Standing.UNKNOWN, why=answer.why)
    if not any(rule in tried for rule in pattern.rules):
        return Cell(standing=Standing.UNKNOWN, why="none of its rules was tried")
    return Cell(standing=Standing.FOLLOWS)


def _reference(pattern: Pattern, name: str) -> Cell:
    said = pattern.references.get(name)
    return Cell(standing=Standing(said)) if said else Cell(standing=Standing.UNKNOWN)

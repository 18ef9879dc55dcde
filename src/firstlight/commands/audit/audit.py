"""An audit, whole: rules over a scene, what people have excused, and the comparison of clusters."""

import asyncio
import dataclasses
import posixpath
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.commands.audit import baseline as audit_baseline
from firstlight.commands.audit import (
    excuses,
    gather,
    live_objects,
    matrix,
    rule_cards,
    rule_remedy,
    rulebook,
)
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.commands.audit.baseline import AuditBaseline
from firstlight.commands.audit.checks import diagnostics
from firstlight.commands.audit.live_objects import ClusterOpeners
from firstlight.commands.audit.rulebook import AuditRulebook
from firstlight.model.finding import Audit, Finding, Unjudged
from firstlight.model.platform import Platform
from firstlight.repo import platform_reader
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class AuditMeans:
    """How an audit comes by what it looks at."""

    git: Path | None = None
    """The program."""
    known: gather.GitFacts | None = None
    """What it was asked before, and need not be asked again."""
    baseline: Path | None = None
    """Where excuses are, if not in the repo."""
    open_renderer: gather.RendererOpener | None = None
    """Without it nothing is rendered."""
    ways: Callable[[Platform], ClusterOpeners] | None = None
    """The ways to the clusters; without it none is asked."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AuditResult:
    """An audit, and what it was made from."""

    audit: Audit
    scene: PlatformView
    book: AuditRulebook
    failed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Rules that broke down, each with why: what they would have found nobody knows."""
    unreached: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Clusters that were to be asked and did not answer, each with why."""

    @property
    def is_whole(self) -> bool:
        """Whether all was looked at that was asked for, so that no finding means that there is none."""
        return not (self.failed or self.unreached or _is_bare(self.scene.platform))


async def audit(
    tree: WorkTree, wishes: AuditRequest, means: AuditMeans, *, say: Callable[[str], None] = lambda text: None
) -> AuditResult:
    """Audit a work tree, and clusters if there are ways to them.

    Args:
        tree: The repo.
        wishes: What to look for.
        means: How to look.
        say: Told what is being done.

    Raises:
        errors.UsageError: There is no such cluster, or no such rule.
        errors.ConfigError: The team's rules or the baseline are wrong.
        errors.Refused: What answers is another cluster.
    """
    say("reading the repo")
    book, baseline = rulebook.book(tree), audit_baseline.of_tree(tree, means.baseline)
    with platform_reader.rare_garbage_collection():
        scene, skipped = await gather.gather(tree, git=means.git, today=wishes.today, known=means.known)
        scene = dataclasses.replace(scene, incidents=wishes.incidents)
        check(wishes, scene.platform, book)
        unreached: Mapping[str, str] = {}
        if means.ways is not None:
            scene, unreached, unseen = await _with_clusters(scene, means.ways(scene.platform), say=say)
            skipped += tuple(f"cluster {name}: {why}" for name, why in unreached.items()) + unseen
        if means.open_renderer is not None:
            renditions, broken = await gather.rendered(
                scene.platform, clusters=wishes.clusters, open_renderer=means.open_renderer, say=say
            )
            scene, skipped = dataclasses.replace(scene, renditions=renditions), (*skipped, *broken)
        await asyncio.sleep(0)  # whoever has interrupted it while it read is heard here,
        found = judge(scene, book, wishes, baseline=baseline, skipped=skipped, say=say)
        await asyncio.sleep(0)  # and here, before there is an answer
    return dataclasses.replace(found, unreached=unreached)


async def _with_clusters(
    scene: PlatformView, ways: ClusterOpeners, *, say: Callable[[str], None]
) -> tuple[PlatformView, Mapping[str, str], tuple[str, ...]]:
    found, unreached, unseen = await live_objects.asked(ways.openers, say=say)
    return dataclasses.replace(scene, live=found), {**ways.missing, **unreached}, unseen


def check(wishes: AuditRequest, platform: Platform, book: AuditRulebook) -> None:
    """See that what was asked for is there.

    Raises:
        errors.UsageError: There is no such cluster, or no such rule.
    """
    for name in wishes.clusters:
        if platform.cluster(name) is None:
            names = ", ".join(each.name for each in platform.clusters)
            raise errors.UsageError(f"there is no cluster {name}", hint=f"There is {names}." if names else "")
    for name in wishes.rules:
        if name not in book.rules:
            raise rule_cards.unknown(book, name)


def judge(
    scene: PlatformView,
    book: AuditRulebook,
    wishes: AuditRequest,
    *,
    baseline: AuditBaseline | None = None,
    skipped: Sequence[str] = (),
    say: Callable[[str], None] = lambda text: None,
) -> AuditResult:
    """Run the rules.

    Args:
        scene: What they look at.
        book: The rules.
        wishes: Which of them, and for which clusters.
        baseline: What is known and excused.
        skipped: What was not looked at, and why.
        say: Told what is being done.

    Raises:
        errors.UsageError: There is no such cluster, or no such rule.
    """
    check(wishes, scene.platform, book)
    say("judging")
    tried = [each for each in book.rules if not wishes.rules or each in wishes.rules]
    everything, failed = _found(scene, book, tried, wishes.clusters)
    found = [each for each in everything if each.basis.is_known]
    unjudged = tuple(dict.fromkeys(_unjudged(each) for each in everything if not each.basis.is_known))
    never = {name for name, rule in book.rules.items() if rule.group == excuses.GROUP}
    outcome = excuses.excused(found, excuses.ignores(scene.files), today=wishes.today, never=never)
    kept, excused, said = audit_baseline.applied(
        outcome.findings, baseline or AuditBaseline(), book=book, today=wishes.today, asked=_asked(scene),
        tried=tried, is_whole=not wishes.clusters,
    )  # fmt: skip
    said += rulebook.replaced_findings(book, tried=tried)
    counted = [*found, *said]
    shown = {each.code for each in counted}
    names = wishes.clusters or tuple(each.name for each in scene.clusters)
    audit = Audit(
        repo=scene.platform.name,
        clusters=names,
        findings=tuple(rulebook.in_order([*kept, *said])),
        excused=(*outcome.excused, *excused),
        unjudged=unjudged,
        matrix=matrix.matrix(scene, book, counted, tried=tried, clusters=names) if wishes.with_matrix else None,
        rules=len(tried) - len(failed),
        skipped=(
            *_bareness(scene.platform),
            *diagnostics.unread(scene.platform),
            *skipped,
            *(f"rule {name} broke down: {why}" for name, why in failed.items()),
        ),
        files=len(scene.files.files),
        reasons={name: book.rules[name].why for name in sorted(shown)},
        remedies=tuple(sorted(shown & rule_remedy.known_remedies().keys())),
        asked=tuple(sorted(_asked(scene))),
    )
    return AuditResult(audit=audit, scene=scene, book=book, failed=failed)


def _unjudged(found: Finding) -> Unjudged:
    return Unjudged(rule=found.code, why=found.basis.why, clusters=found.clusters, place=found.place)


def _found(
    scene: PlatformView, book: AuditRulebook, tried: Iterable[str], clusters: Iterable[str]
) -> tuple[list[Finding], dict[str, str]]:
    """What each rule finds; one that breaks down on what a repo says does not take the others with it."""
    found: list[Finding] = []
    failed: dict[str, str] = {}
    for name in tried:
        try:
            found += rulebook.judged(scene, book, only=[name], clusters=clusters)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a rule may be a team's, and a repo may say anything
            failed[name] = _broken(error)
    return found, failed


def _broken(error: BaseException) -> str:
    """What broke, and where; not what it says itself, which may be a value of somebody's Secret."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} in {posixpath.basename(last.filename)}:{last.lineno}"


def _is_bare(platform: Platform) -> bool:
    """Whether there is nothing to audit, which whoever named the wrong directory must not take for good news."""
    return not platform.components and not any(each.machines for each in platform.clusters)


def _bareness(platform: Platform) -> list[str]:
    hint = "nothing is deployed from here; name the top of a GitOps repo with --repo"
    return [hint] if _is_bare(platform) else []


def _asked(scene: PlatformView) -> frozenset[str]:
    """What was looked at besides the files."""
    return frozenset(name for name, given in (("live", bool(scene.live)), ("render", bool(scene.renditions))) if given)

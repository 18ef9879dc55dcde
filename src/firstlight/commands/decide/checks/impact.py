"""What a change does to others: dependents, new problems of the plan, and what goes with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.commands.decide.checks import answer, check_input
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, ObjectPair, RenderedRevision
from firstlight.document.within import at, sequence, text
from firstlight.model.component import ObjectId
from firstlight.model.decision import CheckState, Decision, Touched
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.plan import build
from firstlight.plan.dependents import DependencyGraph

_DEPENDENTS_SHOWN = 12


async def look_at_dependents(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """New problems, and dependents by name."""
    clusters = sorted({name for item in decision.items for name in _clusters(item.clusters, item.touched)})
    if not clusters:
        return [answer.skipped("it touches no cluster")]
    answers = [found for name in clusters for found in _new_problems(scene, name)]
    answers += _orphans(decision, scene)
    affected = decision.affected
    names = ", ".join(affected[:_DEPENDENTS_SHOWN]) + (
        f" and {len(affected) - _DEPENDENTS_SHOWN} more" if len(affected) > _DEPENDENTS_SHOWN else ""
    )
    depend = "1 component depends" if len(affected) == 1 else f"{len(affected)} components depend"
    said = f"{depend} on it: {names}" if affected else "nothing depends on it"
    return [*answers, answer.passed(said if answers else f"{said}; the plan has no new problem")]


def _clusters(reached: tuple[str, ...], touched: tuple[Touched, ...]) -> set[str]:
    return {*reached, *(each.cluster for each in touched)} - {""}


def _new_problems(scene: CheckInput, cluster: str) -> Iterator[CheckAnswer]:
    """What the plan of a cluster has against it from now on."""
    is_rendered = all(each.is_all(cluster) for each in _versions(scene))
    before = {
        (each.code, each.subject, each.message)
        for each in (_problems(scene.before, cluster, is_rendered=is_rendered) if scene.before is not None else ())
    }
    for problem in _problems(scene.after, cluster, is_rendered=is_rendered):
        if (problem.code, problem.subject, problem.message) in before:
            continue
        place = next((link.place for link in reversed(problem.evidence) if link.place is not None), None)
        found = Diagnostic(
            code=problem.code, severity=problem.severity, message=f"{cluster}: {problem.message}",
            places=(place,) if place else (), fix=_way(problem), subject=problem.subject,
        )  # fmt: skip
        if problem.severity == Severity.ERROR:
            yield answer.of_diagnostic(CheckState.FAILED, found)
        elif problem.severity == Severity.WARNING:
            yield answer.of_diagnostic(CheckState.PERSON, found)


def _way(problem: Diagnostic) -> str:
    way = problem.fix.removesuffix(".")
    return way[:1].lower() + way[1:] if way[1:2].islower() else way


def _versions(scene: CheckInput) -> list[RenderedRevision]:
    return [each for each in (scene.before, scene.after) if each is not None]


def _problems(version: RenderedRevision, cluster: str, *, is_rendered: bool) -> tuple[Diagnostic, ...]:
    """Both plans know equally much, so that what differs is the change's: objects only where all were rendered."""
    found = version.platform.cluster(cluster)
    if found is None:
        return ()
    return build.build(version.platform, found, renditions=version.renditions if is_rendered else ()).problems


def _orphans(decision: Decision, scene: CheckInput) -> Iterator[CheckAnswer]:
    """Components that go while others still name them: a reader of the repo may have forgotten the need with it."""
    if scene.before is None:
        return
    graph = DependencyGraph(scene.before.platform)
    for each in check_input.touched(decision):
        was = scene.before.component(each.cluster, each.component)
        if was is None or scene.after.component(each.cluster, each.component) is not None:
            continue
        needed = dict.fromkeys(graph.direct(each.cluster, each.component, brought=False))
        left = [name for name in needed if scene.after.component(each.cluster, name) is not None]
        still = [name for name in left if _still_needs(scene, each.cluster, name)]
        if still:
            place = was.origins[0].place if was.origins else Place("")
            says = f"{each.component} is removed from {each.cluster}, and {', '.join(still)} needed it"
            yield answer.person("needed-component-removed", says, fix="see that they work without", at=place)


def _still_needs(scene: CheckInput, cluster: str, name: str) -> bool:
    """Whether the change leaves the one that needed it as it was; where it is rewritten, somebody thought of it."""
    assert scene.before is not None
    before, after = scene.before.component(cluster, name), scene.after.component(cluster, name)
    if before is None or after is None:
        return False
    declared = {need.id for need in after.missing}
    return not declared and [each.definition for each in before.origins] == [each.definition for each in after.origins]


# What goes: the objects that an engine removes, and who uses the kinds that go.


_REMOVED_SHOWN = 20


async def look_at_removals(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """The list of what goes, for somebody to read."""
    gone = [each for each in check_input.pairs(decision, scene) if each.is_gone]
    if not gone:
        if unseen := check_input.unseen(decision, scene):
            return [
                answer.skipped(f"{', '.join(unseen)} was not rendered before and after; files alone remove nothing")
            ]
        return [answer.passed("no object goes")]
    names = ", ".join(map(str, gone[:_REMOVED_SHOWN])) + (
        f" and {len(gone) - _REMOVED_SHOWN} more" if len(gone) > _REMOVED_SHOWN else ""
    )
    return [
        answer.person(
            "objects-removed", f"{len(gone)} go: {names}", fix="see that nothing else is on the list", at=gone[0].place
        )
    ]


async def kinds_in_use(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """How many objects there are of each kind whose CRD goes or drops a version."""
    crds = [
        each
        for each in check_input.pairs(decision, scene)
        if each.id.kind == "CustomResourceDefinition" and each.before is not None and _dropped(each)
    ]
    if not crds:
        return _no_kinds(decision, scene)
    if scene.client is None:
        return [answer.skipped(f"{', '.join(each.id.name for each in crds)}: {scene.unreached}")]
    return [found for each in crds for found in await _used(each, scene.client)]


async def dropped_versions(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Whether anything in the repo is written in a version that its CRD no longer serves."""
    dropped = {
        (f"{text(each.before, 'spec', 'group')}/{version}", text(each.before, "spec", "names", "kind"))
        for each in check_input.pairs(decision, scene)
        if each.id.kind == "CustomResourceDefinition" and each.before is not None
        for version in _dropped(each)
    }
    if not dropped:
        return _no_kinds(decision, scene)
    kinds = {(api.rpartition("/")[0], kind) for api, kind in dropped}
    left = [
        str(ObjectId.of(each))
        for each in check_input.objects_in_repo(scene.after, kinds)
        if (text(each, "apiVersion"), text(each, "kind")) in dropped
    ]
    names = ", ".join(sorted(api for api, _ in dropped))
    if left:
        more = f" and {len(left) - _REMOVED_SHOWN} more" if len(left) > _REMOVED_SHOWN else ""
        says = f"{names} is no longer served, and the repo still has {', '.join(left[:_REMOVED_SHOWN])}{more} in it"
        return [answer.failed("api-version-not-served", says, fix="write them in a version that is served, before")]
    return [answer.passed(f"{names} is no longer served, and nothing in the repo uses it")]


def _no_kinds(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    if unseen := check_input.unseen(decision, scene):
        return [answer.skipped(f"{', '.join(unseen)} was not rendered before and after")]
    return [answer.passed("no kind goes, and none drops a version")]


def _dropped(pair: ObjectPair) -> list[str]:
    """Versions that are served before, and not after."""
    return sorted(_served(pair.before) - _served(pair.after))


def _served(crd: Mapping[str, Any] | None) -> set[str]:
    return {text(each, "name") for each in sequence(crd, "spec", "versions") if at(each, "served") is not False}


async def _used(pair: ObjectPair, client: kube.Client) -> list[CheckAnswer]:
    group, kind = text(pair.before, "spec", "group"), text(pair.before, "spec", "names", "kind")
    for version in _dropped(pair):
        try:
            found = (await client.list(f"{group}/{version}", kind, metadata_only=True)).items
        except kube.UnknownKind:
            continue
        names = ", ".join(
            "/".join(part for part in (text(each, "metadata", "namespace"), text(each, "metadata", "name")) if part)
            for each in found[:5]
        )
        if found and pair.after is None:
            says = f"{len(found)} objects of kind {kind} go with {pair}: {names}"
            return [
                answer.failed("crd-removed-with-objects", says, fix="keep the CRD, or move them first", at=pair.place)
            ]
        if found:
            says = f"{pair} no longer serves {version}, and {len(found)} objects of its kind are there"
            return [
                answer.person(
                    "crd-version-dropped", says, fix=f"see that nobody writes or reads {version}", at=pair.place
                )
            ]
    return [answer.passed(f"nobody uses {kind}")]


# What becomes of volumes whose claims go.


async def look_at_volumes(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Whether the volumes of claims that go are kept."""
    claims = [
        each
        for each in check_input.pairs(decision, scene)
        if each.is_gone and (each.id.group, each.id.kind) == ("", "PersistentVolumeClaim")
    ]
    if not claims:
        unseen = check_input.unseen(decision, scene)
        if unseen:
            return [answer.skipped(f"{', '.join(unseen)} was not rendered before and after")]
        return [answer.passed("no claim goes")]
    client = scene.client
    if client is None:
        return [answer.skipped(f"{', '.join(map(str, claims))}: {scene.unreached}")]
    return [await _volume_of(each, client) if scene.is_reached(each.cluster) else _unasked(each) for each in claims]


def _unasked(pair: ObjectPair) -> CheckAnswer:
    return answer.skipped(f"{pair}: {pair.cluster or 'its cluster'} was not asked")


async def _volume_of(pair: ObjectPair, client: kube.Client) -> CheckAnswer:
    try:
        claim = await client.get("v1", "PersistentVolumeClaim", pair.id.name, namespace=pair.id.namespace)
        name = text(claim, "spec", "volumeName")
        if not name:
            return answer.passed(f"{pair} has no volume")
        volume = await client.get("v1", "PersistentVolume", name)
    except kube.NotFound:
        return answer.passed(f"{pair} is not in the cluster")
    policy = text(volume, "spec", "persistentVolumeReclaimPolicy")
    if policy == "Retain":
        return answer.passed(f"{pair} goes, and its volume {name} is kept")
    says = f"{pair} goes, and its volume {name} with it ({policy})"
    patch = '{"spec": {"persistentVolumeReclaimPolicy": "Retain"}}'
    return answer.failed(
        "volume-deleted-with-claim", says, fix=f"keep it: kubectl patch pv {name} -p '{patch}'", at=pair.place
    )

"""What goes with the change: the objects that an engine removes, and who uses the kinds that go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.commands.decide.checks import answer, check_input
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, ObjectPair
from firstlight.document.within import at, sequence, text
from firstlight.model.component import ObjectId
from firstlight.model.decision import Decision

_MOST = 20


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """The list of what goes, for somebody to read."""
    gone = [each for each in check_input.pairs(decision, scene) if each.is_gone]
    if not gone:
        if unseen := check_input.unseen(decision, scene):
            return [
                answer.skipped(f"{', '.join(unseen)} was not rendered before and after; files alone remove nothing")
            ]
        return [answer.passed("no object goes")]
    names = ", ".join(map(str, gone[:_MOST])) + (f" and {len(gone) - _MOST} more" if len(gone) > _MOST else "")
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
        more = f" and {len(left) - _MOST} more" if len(left) > _MOST else ""
        says = f"{names} is no longer served, and the repo still has {', '.join(left[:_MOST])}{more} in it"
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
    return [await _of(each, client) if scene.is_reached(each.cluster) else _unasked(each) for each in claims]


def _unasked(pair: ObjectPair) -> CheckAnswer:
    return answer.skipped(f"{pair}: {pair.cluster or 'its cluster'} was not asked")


async def _of(pair: ObjectPair, client: kube.Client) -> CheckAnswer:
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

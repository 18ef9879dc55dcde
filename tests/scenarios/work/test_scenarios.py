"""Repos and the work that a run has with them: each directory has a ``case.yaml`` and its ``work.txt``.

A case has the files of a repo, what its components render to, and the charts that Helm would be given.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight.commands.up import tasks
from firstlight.document import yaml_reader
from firstlight.model import helm_chart
from firstlight.model import work as model_work
from firstlight.model.component import ObjectId, Side
from firstlight.model.handover import Passing
from firstlight.model.machine_config import MachineDraft
from firstlight.model.rendition import Object, Rendition
from firstlight.model.secret import Secret
from firstlight.model.work import Installation, Work
from firstlight.plan import build
from firstlight.repo import platform_reader
from tests.unit.plan.platforms import objects

HERE = Path(__file__).parent
SCENARIOS = sorted(each.name for each in HERE.iterdir() if (each / "case.yaml").is_file())


@pytest.mark.parametrize("name", SCENARIOS)
def test_work(name: str, tmp_path: Path) -> None:
    (document,) = yaml_reader.read((HERE / name / "case.yaml").read_bytes(), "case.yaml").documents
    expected = HERE / name / "work.txt"

    printed = "\n".join(_printed(work_of(document.value, tmp_path))) + "\n"

    if os.environ.get("FIRSTLIGHT_RECORD"):  # read every line of it afterwards
        expected.write_text(printed)
    assert printed == expected.read_text()


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) > 5


def work_of(case: Mapping[str, Any], root: Path) -> Work:
    """The work of a case."""
    for path, text in case["files"].items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    platform = platform_reader.read(root)
    (cluster,) = platform.clusters
    renditions = [
        Rendition(component=name, cluster=cluster.name, side=side, objects=objects(text))
        for name, sides in case.get("renditions", {}).items()
        for side, text in _sides(sides)
    ]
    plan = build.build(platform, cluster, renditions=renditions)
    drafts = tuple(MachineDraft(machine=each, cluster="", endpoint="") for each in cluster.machines)
    return tasks.work(
        platform, cluster, plan, renditions=renditions, installations=_installations(case), drafts=drafts,
        revision="c0ffee",
    )  # fmt: skip


def _sides(texts: Mapping[str, str] | str) -> Iterator[tuple[Side, str]]:
    if isinstance(texts, str):
        yield from ((side, texts) for side in (Side.BOOTSTRAP, Side.GITOPS))
    else:
        yield from ((Side(side), text) for side, text in texts.items())


def _installations(case: Mapping[str, Any]) -> dict[str, tuple[tuple[Installation, ...], tuple[Object, ...]]]:
    found: dict[str, tuple[tuple[Installation, ...], tuple[Object, ...]]] = {}
    for name, each in case.get("installations", {}).items():
        release = Installation(
            name=name, namespace=each["namespace"], chart=helm_chart.LocalChart(Path("chart")), version="1",
            values=Secret(msgspec.json.encode(each.get("values", {}))),
        )  # fmt: skip
        found[name] = ((release,), objects(each["beside"]) if "beside" in each else ())
    return found


def _printed(work: Work) -> Iterator[str]:
    for step in work.plan.order():
        yield f"{step.id}"
        yield from (f"  {line}" for line in _task(work.tasks[step.id]))


def _task(task: model_work.Task) -> Iterator[str]:
    match task:
        case model_work.Configure():
            yield f"configure {', '.join(each.machine.name for each in task.drafts)}"
        case model_work.BootstrapEtcd():
            yield f"bootstrap {task.first.name} of {', '.join(each.name for each in task.control_planes)}"
        case model_work.FetchKubeconfig():
            yield f"kubeconfig from {', '.join(each.name for each in task.control_planes)}"
        case model_work.TalosApplies():
            yield f"Talos applies {', '.join(task.manifests) or 'its own'}"
            yield from map(_named, task.objects)
        case model_work.Apply():
            yield f"apply as {task.manager}"
            yield from _objects(task.objects, task.managers, task.once)
        case model_work.Install():
            for each in task.releases:
                values = each.values.reveal().decode()
                yield f"install {each.namespace}/{each.name} with {values}" + _flags(each)
            yield f"beside as {task.manager}, of {len(task.objects)} objects"
            yield from _objects(task.beside, task.managers, frozenset())
        case model_work.CreateSecret():
            yield f"secret {task.secret.namespace}/{task.secret.name} as {task.manager}"
        case model_work.SaveBaseline():
            yield f"baseline of {len(task.objects)} objects"
        case model_work.MigrateOwners():
            yield "migrate owners"
            yield from _passing(task.passing)
        case model_work.ReleaseFromTalos():
            yield f"release {', '.join(task.manifests)} from {', '.join(each.name for each in task.control_planes)}"
            yield from (_named(each.id) for each in task.passing)
            yield from (f"  keep {name}: {why}" for name, why in task.kept.items())
        case model_work.Certify():
            yield f"certify {len(task.passing)} objects; released: {', '.join(task.released) or 'nothing'}"
            if task.kept:
                yield f"  kept: {', '.join(task.kept)}"
        case model_work.Watch():
            yield f"watch {task.revision}".rstrip()
            yield from (_named(each.id) for each in task.objects)
        case model_work.Leave():
            yield f"leave: {task.why}"
        case model_work.Refuse():
            yield f"refuse: {task.why} → {task.hint}"


def _flags(release: Installation) -> str:
    flags = {
        "once": release.once, "without crds": release.options.skip_crds, "taking": release.options.take_ownership,
    }  # fmt: skip
    return "".join(f" [{name}]" for name, is_set in flags.items() if is_set)


def _objects(given: tuple[Object, ...], managers: Mapping[ObjectId, str], once: frozenset[ObjectId]) -> Iterator[str]:
    for each in given:
        owner = f" as {managers[each.id]}" if each.id in managers else ""
        spec = {name: value for name, value in each.value.items() if name not in ("apiVersion", "kind")}
        spec["metadata"] = {
            name: value for name, value in spec["metadata"].items() if name not in ("name", "namespace")
        }
        said = msgspec.json.encode({name: value for name, value in spec.items() if value}).decode()
        yield f"{_named(each.id)}{owner}{' once' if each.id in once else ''}{'' if said == '{}' else f' {said}'}"


def _passing(given: tuple[Passing, ...]) -> Iterator[str]:
    for each in given:
        yield f"{_named(each.id)} to {each.owner} as {each.manager}"


def _named(identity: ObjectId) -> str:
    return f"  {identity.kind} {identity.namespace + '/' if identity.namespace else ''}{identity.name}"

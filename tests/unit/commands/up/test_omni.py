"""Templates of Omni made tasks: where omnictl must run, what is refused, and what is asked before the first write."""

import dataclasses
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.commands.rehearse import lab_mapping
from firstlight.commands.up import tasks
from firstlight.commands.up.preflight import omni_problems
from firstlight.execute.world import RunPrograms
from firstlight.model import work as model_work
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.model.work import Work
from firstlight.plan import build
from firstlight.render.machines import machine_drafts
from firstlight.repo import platform_reader
from tests.unit.clients.recorder import Recorder

MACHINE = "27c16241-96bf-4f17-9579-ea3a6c4a3ca8"
TEMPLATE = f"""
kind: Cluster
name: apps
kubernetes: {{version: v1.34.1}}
talos: {{version: v1.11.2}}
patches: [{{file: patches/cni.yaml}}]
---
kind: ControlPlane
machines: [{MACHINE}]
"""
BY_CLASS = TEMPLATE.replace(f"machines: [{MACHINE}]", "machineClass: {name: rack-1, size: 3}")


def repo(root: Path, template: str = TEMPLATE, *, patch: str = "omni/patches/cni.yaml") -> Platform:
    files = {"omni/apps.yaml": template, patch: "cluster: {network: {cni: {name: none}}}\n"}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return platform_reader.read(root)


def work(platform: Platform, *, is_rehearsal: bool = False) -> Work:
    (cluster,) = platform.clusters
    drafts, diagnostics = machine_drafts.machine_drafts(platform, cluster)
    assert diagnostics == ()
    return tasks.work(
        platform, cluster, build.build(platform, cluster), renditions=(), installations={}, drafts=drafts, revision="",
        is_rehearsal=is_rehearsal,
    )  # fmt: skip


def tasks_of(found: Work) -> tuple[model_work.Task, model_work.Task]:
    return found.tasks["machine:template"], found.tasks["machine:kubeconfig"]


@pytest.mark.parametrize("template", [TEMPLATE, BY_CLASS], ids=["by machine", "by class"])
def test_omni_is_given_the_template_and_asked_for_the_kubeconfig(tmp_path: Path, template: str) -> None:
    sync, fetch = tasks_of(work(repo(tmp_path, template)))

    assert sync == model_work.SyncTemplate(
        template=tmp_path / "omni" / "apps.yaml", directory=tmp_path / "omni", cluster="apps"
    )
    assert isinstance(fetch, model_work.FetchKubeconfig)
    assert fetch.omni == "apps"


def test_files_may_be_named_from_the_top_of_the_repo(tmp_path: Path) -> None:
    sync, _ = tasks_of(work(repo(tmp_path, patch="patches/cni.yaml")))

    assert isinstance(sync, model_work.SyncTemplate)
    assert sync.directory == tmp_path


def test_files_in_two_places_are_refused(tmp_path: Path) -> None:
    template = TEMPLATE.replace("patches/cni.yaml}", "patches/cni.yaml}, {file: patches/other.yaml}")
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "other.yaml").write_text("machine: {}\n")

    sync, _ = tasks_of(work(repo(tmp_path, template)))

    assert isinstance(sync, model_work.Refuse)
    assert "other.yaml" in sync.why


@pytest.mark.parametrize("named", ["../../secret.yaml", "/etc/hostname"])
def test_a_file_outside_of_the_repo_is_not_sent(tmp_path: Path, named: str) -> None:
    (tmp_path / "secret.yaml").write_text("machine: {}\n")
    root = tmp_path / "repo"
    root.mkdir()

    sync, _ = tasks_of(work(repo(root, TEMPLATE.replace("patches/cni.yaml", named))))

    assert isinstance(sync, model_work.Refuse)
    assert named in sync.why


def test_a_template_with_mistakes_is_refused_with_the_line(tmp_path: Path) -> None:
    sync, _ = tasks_of(work(repo(tmp_path, TEMPLATE.replace("v1.34.1", "latest"))))

    assert isinstance(sync, model_work.Refuse)
    assert sync.why.startswith("omni/apps.yaml:4")


def test_a_rehearsal_leaves_omni_alone(tmp_path: Path) -> None:
    sync, fetch = tasks_of(work(repo(tmp_path, BY_CLASS), is_rehearsal=True))

    assert isinstance(sync, model_work.Leave)
    assert "Omni: not rehearsed" in sync.why
    assert isinstance(fetch, model_work.FetchKubeconfig)
    assert fetch.omni == ""


def test_the_plan_says_that_omni_is_not_rehearsed(tmp_path: Path) -> None:
    platform = repo(tmp_path)
    plan = build.build(platform, platform.clusters[0])

    (said,) = [each for each in plan.problems if each.code == "not-rehearsed"]
    assert said.severity is Severity.NOTE
    assert said.message.startswith("Omni: not rehearsed")


def test_machines_of_omni_have_no_drafts_and_no_rehearsal(tmp_path: Path) -> None:
    platform = repo(tmp_path)

    assert machine_drafts.machine_drafts(platform, platform.clusters[0]) == ((), ())
    with pytest.raises(errors.Refused, match="not rehearsed"):
        lab_mapping.stage(platform, platform.clusters[0], ())


class TestPreflight:
    @pytest.fixture
    def program(self, tmp_path: Path) -> Recorder:
        return Recorder(tmp_path / "program", "omnictl")

    async def test_nothing_is_wrong_where_omni_answers(self, tmp_path: Path, program: Recorder) -> None:
        found = work(repo(tmp_path / "repo"))

        assert await omni_problems(found, program.path) == []
        assert [argv[2] for argv in program.argvs] == ["validate", "diff"]

    async def test_a_cluster_without_omni_asks_nobody(self, tmp_path: Path, program: Recorder) -> None:
        found = dataclasses.replace(work(repo(tmp_path / "repo")), tasks={})

        assert await omni_problems(found, None) == []

    async def test_a_program_that_is_missing_stands_in_the_way(self, tmp_path: Path) -> None:
        (problem,) = await omni_problems(work(repo(tmp_path)), RunPrograms().omnictl)

        assert (problem.code, problem.severity) == ("program-missing", Severity.ERROR)

    async def test_all_mistakes_of_a_template_are_told_at_once(self, tmp_path: Path, program: Recorder) -> None:
        said = "Error: 2 errors occurred:\n\t* one thing\n\t* another thing\n\n"
        program.says(stderr=said, code=1, when="cluster template validate")

        found = await omni_problems(work(repo(tmp_path / "repo")), program.path)

        assert [each.message for each in found] == [
            "omnictl refuses it: one thing", "omnictl refuses it: another thing"
        ]  # fmt: skip
        assert len(program.calls) == 1

    async def test_an_omni_that_does_not_answer_stands_in_the_way(self, tmp_path: Path, program: Recorder) -> None:
        said = "Error: rpc error: code = Unauthenticated desc = invalid signature\n"
        program.says(stderr=said, code=1, when="cluster template diff")

        (problem,) = await omni_problems(work(repo(tmp_path / "repo")), program.path)

        assert (problem.code, problem.severity) == ("omni-silent", Severity.ERROR)
        assert "OMNI_SERVICE_ACCOUNT_KEY" in problem.fix

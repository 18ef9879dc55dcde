"""The handover with real Argo CD, which takes over itself, a component, and the CNI that Talos applied."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from firstlight.lab import procfs
from firstlight.observe import audit_log
from firstlight.tools import install
from tests import handing, runs
from tests.labs import FAST, until

pytestmark = pytest.mark.long

TOOLS = ("talosctl", "lab-machine", "helm", "kustomize", "argocd", "lab-redis")
ARGOCD = Path(__file__).parents[2] / "examples" / "argocd" / "kubernetes" / "argocd"
WEB = ("apps/v1", "Deployment", "web", "web")
API = "argoproj.io/v1alpha1"


@pytest_asyncio.fixture(scope="module")
async def handed(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[runs.Stage]:
    """A cluster that Argo CD owns, itself included: from bare machines, in one go."""
    stage = await runs.stage(
        tmp_path_factory.mktemp("argo") / "home", programs | await install.ensure(TOOLS), platform="argo",
        machines=runs.MACHINES, settings=msgspec.structs.replace(FAST, actors=("argocd",)),
        manifests={f"argocd/{name}": ARGOCD / name for name in ("crds.yaml", "argocd.yaml")},
    )  # fmt: skip
    result = await stage.up()
    assert result.is_complete, result.outcomes
    yield stage
    await stage.lab.down()
    assert procfs.processes_of(stage.lab.home.path) == (), "the lab left processes behind"


async def test_argo_cd_owns_itself_and_what_talos_and_bootstrap_applied_and_nobody_deleted_anything(
    handed: runs.Stage,
) -> None:
    made = msgspec.json.decode(Path(handed.certificate).read_bytes())
    assert {each["owner"] for each in made["objects"]} == {
        f"argocd (Application {name})" for name in ("argocd", "flannel", "web")
    }
    async with handing.client(handed) as client:
        for what in (handing.AGENT, WEB, ("apps/v1", "StatefulSet", "argocd-application-controller", "argocd")):
            assert handing.managers(await handing.get(client, what)) == {("argocd-controller", "Apply")}, what
    assert handing.deletions(handed, since=made["baseline_at"]) == []


async def test_a_second_handover_writes_nothing(handed: runs.Stage) -> None:
    begun = time.time()

    told = await handed.handover()

    assert told.code == 0, told.err
    assert audit_log.writes(handed.lab.home.audit_log, since=begun, until=time.time()) == ()


async def test_a_field_that_is_removed_in_git_is_gone_from_the_cluster(handed: runs.Stage) -> None:
    root = Path(handed.place.root)
    for path, gone in (
        ("flannel/flannel.yaml", "  annotations: {example.org/note: a field that a test removes from Git}\n"),
        ("web/web.yaml", "  annotations: {example.org/note: a field that a test removes from Git}\n"),
    ):
        text = (root / path).read_text()
        assert gone in text
        (root / path).write_text(text.replace(gone, ""))
    await handed.lab.sources().commit_directory("tests/argo", root, message="without notes")
    async with handing.client(handed) as client:
        for name in ("flannel", "web"):
            refresh = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "hard"}}}
            await client.patch(API, "Application", name, refresh, manager="tests", namespace="argocd")

        async def is_gone() -> bool:
            live = [await handing.get(client, each) for each in (handing.AGENT, WEB)]
            return not [each for each in live if handing.NOTE in each["metadata"].get("annotations", {})]

        await until(is_gone, "the fields to be gone from the cluster", timeout=120)


async def test_without_server_side_apply_it_is_refused_and_the_change_offered(handed: runs.Stage) -> None:
    web = Path(handed.place.root) / "apps" / "web.yaml"
    declared = web.read_text()
    web.write_text(declared.replace("    syncOptions: [ServerSideApply=true]\n", ""))
    begun = time.time()
    try:
        told = await handed.handover("--dry-run")
    finally:
        web.write_text(declared)

    assert told.code == 3
    assert "Application web does not apply server-side" in told.out
    assert "+    syncOptions:" in told.out
    assert audit_log.writes(handed.lab.home.audit_log, since=begun, until=time.time()) == ()

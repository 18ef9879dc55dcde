"""What is made of cluster templates: the samples are as omnictl's own sources (client 1.5.0) print them."""

from pathlib import Path

import pytest

from firstlight.clients import omnictl
from firstlight.clients.omnictl import Omnictl
from firstlight.model.omni_status import ClusterMachine, OmniVerb, ResourceChange, ResourceFieldChange
from tests.unit.clients.recorder import Recorder

SAMPLES = Path(__file__).parent / "samples"
TEMPLATE = Path("/repo/omni/apps.yaml")


@pytest.fixture
def program(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "program", "omnictl")


@pytest.fixture
def omni(program: Recorder) -> Omnictl:
    return Omnictl(program.path, environ={})


async def test_commands_are_made_as_omnictl_takes_them(omni: Omnictl, program: Recorder, tmp_path: Path) -> None:
    await omni.validate(TEMPLATE, directory=tmp_path)
    await omni.diff(TEMPLATE, directory=tmp_path)
    await omni.sync(TEMPLATE, directory=tmp_path)
    await omni.sync(TEMPLATE, directory=tmp_path, dry_run=True)
    program.says('Cluster "apps" RUNNING Ready (3/3) (healthy/total)\n')
    await omni.status(TEMPLATE, directory=tmp_path)

    file = "--file=/repo/omni/apps.yaml"
    assert program.argvs == [
        ["cluster", "template", "validate", file],
        ["cluster", "template", "diff", file],
        ["cluster", "template", "sync", file],
        ["cluster", "template", "sync", file, "--dry-run"],
        ["cluster", "template", "status", file, "--wait=0s"],
    ]
    assert {call["cwd"] for call in program.calls} == {str(tmp_path)}


async def test_a_new_cluster_is_created_piece_by_piece(omni: Omnictl, program: Recorder, tmp_path: Path) -> None:
    program.says((SAMPLES / "new-cluster.diff").read_text())

    found = await omni.diff(TEMPLATE, directory=tmp_path)

    assert [(each.verb, each.kind, each.id) for each in found] == [
        (OmniVerb.CREATE, "Clusters", "apps"),
        (OmniVerb.CREATE, "ConfigPatches", "200-cluster-apps-patches/registry.yaml"),
        (OmniVerb.CREATE, "MachineSets", "apps-control-planes"),
        (OmniVerb.CREATE, "MachineSetNodes", "27c16241-96bf-4f17-9579-ea3a6c4a3ca8"),
    ]
    assert "hunter2" not in repr(found)


async def test_versions_and_sizes_are_told_and_patches_are_not(
    omni: Omnictl, program: Recorder, tmp_path: Path
) -> None:
    program.says((SAMPLES / "upgrade-and-removal.diff").read_text())

    found = await omni.diff(TEMPLATE, directory=tmp_path)

    kubernetes = ResourceFieldChange(field="kubernetesversion", was="1.34.1", becomes="1.35.0")
    size = ResourceFieldChange(field="machinecount", was="3", becomes="1")
    assert found == (
        ResourceChange(verb=OmniVerb.UPDATE, kind="Clusters", id="apps", turns=(kubernetes,)),
        ResourceChange(verb=OmniVerb.UPDATE, kind="ConfigPatches", id="200-cluster-apps-motd"),
        ResourceChange(verb=OmniVerb.UPDATE, kind="MachineSets", id="apps-workers", turns=(size,)),
        ResourceChange(verb=OmniVerb.REMOVE, kind="MachineSetNodes", id="4bd92fba-998d-4ef3-ab43-638b806dd3fe"),
    )


async def test_no_difference_is_no_change(omni: Omnictl, program: Recorder, tmp_path: Path) -> None:
    program.says("", stderr="[WARN] omnictl version differs from the backend version\n")

    assert await omni.diff(TEMPLATE, directory=tmp_path) == ()


async def test_a_diff_that_cannot_be_read_is_not_taken_for_none(
    omni: Omnictl, program: Recorder, tmp_path: Path
) -> None:
    program.says("something else\n")

    with pytest.raises(omnictl.OmniUnreadable):
        await omni.diff(TEMPLATE, directory=tmp_path)


async def test_the_tree_of_a_status_is_read(omni: Omnictl, program: Recorder, tmp_path: Path) -> None:
    program.says((SAMPLES / "installing.status").read_text(), stderr="Error: cluster is not healthy\n", code=1)

    found = await omni.status(TEMPLATE, directory=tmp_path)

    assert found is not None
    assert (found.phase, found.is_ready, found.checks) == ("SCALING_UP", False, ("Etcd", "WireguardConnection"))
    assert found.upgrades == (("Kubernetes", "Done"), ("Talos", "Upgrading"))
    first, second, off, locked, failed = found.machines
    assert first == ClusterMachine(
        id="27c16241-96bf-4f17-9579-ea3a6c4a3ca8", stage="RUNNING", is_control_plane=True
    )  # fmt: skip
    assert (second.stage, second.is_up_to_date, second.is_control_plane) == ("INSTALLING", False, True)
    assert (off.stage, off.is_connected, off.is_control_plane) == ("POWERED_OFF", False, False)
    assert (locked.is_up_to_date, locked.has_failed) == (True, False)
    assert failed.has_failed


async def test_a_cluster_without_checks_has_not_passed_them(omni: Omnictl, program: Recorder, tmp_path: Path) -> None:
    program.says('Cluster "apps" UNKNOWN Not Ready (0/0) (healthy/total)\n', stderr="cluster is not healthy", code=1)

    found = await omni.status(TEMPLATE, directory=tmp_path)

    assert found is not None
    assert found.checks is None


async def test_a_status_that_never_comes_is_none(omni: Omnictl, program: Recorder, tmp_path: Path) -> None:
    program.says(sleep=30)

    assert await omni.status(TEMPLATE, directory=tmp_path, timeout=0.5) is None


async def test_a_status_that_fails_otherwise_is_an_error(omni: Omnictl, program: Recorder, tmp_path: Path) -> None:
    program.says(stderr="Error: rpc error: code = PermissionDenied desc = not allowed\n", code=1)

    with pytest.raises(omnictl.OmniForbidden):
        await omni.status(TEMPLATE, directory=tmp_path)

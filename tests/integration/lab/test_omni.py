"""Omni templates against the real programs: omnictl judges what a template means, talosctl makes the configs."""

import os
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from firstlight import errors
from firstlight.clients import command, talosctl
from firstlight.lab.omni import omni_configs, omni_patches
from firstlight.model.secret import Secret
from firstlight.repo.omni import go_yaml, omni_parser
from firstlight.tools import install

FOLDER = Path(__file__).parents[2] / "unit" / "lab" / "omni"
CASES = sorted(path.parent for path in FOLDER.glob("*/expected.yaml"))
BESIDE = Path(__file__).parents[4] / "shared" / "corpus"
CORPUS = sorted(Path(os.environ.get("FIRSTLIGHT_CORPUS", BESIDE)).glob("omni-gitops/**/*.yaml"))
"""Templates of a real repository, if they are there; nothing of them is kept."""
TEMPLATES = [path for path in CORPUS if "\nkind: ControlPlane" in path.read_text(errors="replace")]
ENDPOINT = "https://10.5.0.2:6443"
A = "11111111-1111-4111-8111-111111111111"
"""A machine of many cases."""


@pytest_asyncio.fixture(scope="session")
async def omnictl() -> Path:
    return (await install.ensure(["omnictl"]))["omnictl"]


@pytest_asyncio.fixture(scope="session")
async def talos() -> talosctl.Talosctl:
    return talosctl.Talosctl((await install.ensure(["talosctl"]))["talosctl"])


@pytest_asyncio.fixture(scope="session")
async def secrets(talos: talosctl.Talosctl) -> Secret:
    return await talos.gen_secrets()


async def render(omnictl: Path, template: Path, home: Path) -> list[dict[str, Any]]:
    """The resources that sync would send; every scalar a text, so that nothing is understood twice."""
    done = await command.run(
        [str(omnictl), "cluster", "template", "render", "--file", template.name],
        cwd=template.parent,
        env={"HOME": str(home)},
    )
    return [each for each in yaml.load_all(done.stdout, Loader=yaml.BaseLoader) if each]


def expected_of(case: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load((case / "expected.yaml").read_text(), Loader=yaml.CSafeLoader)
    return found


def meaning(data: str) -> list[Any]:
    """The documents twice: how scalars are written, and what Go takes them for, which quotes decide."""
    written = [each for each in yaml.load_all(data, Loader=yaml.BaseLoader) if each]
    taken = [go_yaml.value(each, "") for each in go_yaml.documents(data, "") if not go_yaml.is_null(each)]
    return [written, [typed(each) for each in taken]]


def typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {repr(key): typed(child) for key, child in value.items()}
    return [typed(child) for child in value] if isinstance(value, list) else repr(value)


def config_of(secret: Secret) -> list[Any]:
    return list(yaml.load_all(secret.reveal(), Loader=yaml.CSafeLoader))


@pytest.mark.parametrize(
    "case", [each for each in CASES if not {"error", "omnictl"} & expected_of(each).keys()], ids=lambda case: case.name
)
async def test_our_patches_are_those_that_omnictl_would_send(omnictl: Path, case: Path, tmp_path: Path) -> None:
    resources = await render(omnictl, case / "template.yaml", tmp_path)
    template = omni_parser.parse(case / "template.yaml")

    ours = omni_patches.template_patches(template)

    theirs = [each for each in resources if each["metadata"]["type"] == "ConfigPatches.omni.sidero.dev"]
    assert [patch.id for patch in ours] == [each["metadata"]["id"] for each in theirs]
    for patch, resource in zip(ours, theirs, strict=True):
        assert patch.labels == resource["metadata"]["labels"]
        assert patch.annotations == resource["metadata"]["annotations"]
        assert meaning(patch.data) == meaning(resource["spec"]["data"])
        assert patch.weight is None or patch.id.startswith(f"{patch.weight:03d}-")
        if patch.is_file:
            assert (
                patch.data == (case / "template.yaml").parent.joinpath(patch.path.removeprefix(f"{case}/")).read_text()
            )


@pytest.mark.parametrize(
    "case", [each for each in CASES if not {"error", "omnictl"} & expected_of(each).keys()], ids=lambda case: case.name
)
async def test_our_machines_are_those_that_omnictl_would_put_into_sets(
    omnictl: Path, case: Path, tmp_path: Path
) -> None:
    resources = await render(omnictl, case / "template.yaml", tmp_path)
    template = omni_parser.parse(case / "template.yaml")
    classes = {each.name for each in template.sets if each.machine_class}

    ours = omni_configs.template_machines(template, expected_of(case).get("sizes"))

    nodes = [each["metadata"] for each in resources if each["metadata"]["type"] == "MachineSetNodes.omni.sidero.dev"]
    assert {
        (each.uuid, f"{template.cluster.name}-{each.machine_set}", each.role)
        for each in ours
        if each.machine_set not in classes
    } == {
        (
            each["id"],
            each["labels"]["omni.sidero.dev/machine-set"],
            "control-plane" if "omni.sidero.dev/role-controlplane" in each["labels"] else "worker",
        )
        for each in nodes
    }
    allocations = {
        each["metadata"]["id"]: each["spec"]["machineallocation"]
        for each in resources
        if each["metadata"]["type"] == "MachineSets.omni.sidero.dev"
    }
    assert allocations.keys() == {omni_patches.machine_set_id(template, each) for each in template.sets}
    for each in template.sets:
        if each.machine_class:
            assert allocations[omni_patches.machine_set_id(template, each)]["name"] == each.machine_class.name


@pytest.mark.parametrize("case", [each for each in CASES if "error" in expected_of(each)], ids=lambda case: case.name)
async def test_what_we_refuse_is_what_omnictl_refuses_or_said_to_be_more(
    omnictl: Path, case: Path, tmp_path: Path
) -> None:
    """``omnictl: accepts`` in a case is where we refuse more on purpose; it must stay true."""
    verdict = expected_of(case).get("omnictl", "refuses")

    try:
        await render(omnictl, case / "template.yaml", tmp_path)
    except errors.CommandFailed:
        assert verdict == "refuses"
    else:
        assert verdict == "accepts"


@pytest.mark.skipif(not TEMPLATES, reason="no real templates here; FIRSTLIGHT_CORPUS names a directory with some")
async def test_real_templates_are_judged_as_omnictl_judges_them(omnictl: Path, tmp_path: Path) -> None:
    ours: dict[str, bool] = {}
    theirs: dict[str, bool] = {}
    for path in TEMPLATES:
        try:
            resources = await render(omnictl, path, tmp_path)
        except errors.CommandFailed:
            resources = []
        theirs[str(path)] = bool(resources)
        try:
            found = omni_patches.template_patches(omni_parser.parse(path))
        except errors.ConfigError:
            ours[str(path)] = False
            continue
        ours[str(path)] = True
        sent = [each for each in resources if each["metadata"]["type"] == "ConfigPatches.omni.sidero.dev"]
        assert [meaning(patch.data) for patch in found] == [meaning(each["spec"]["data"]) for each in sent]

    assert ours == theirs


async def test_configs_have_the_patches_in_order_and_talos_accepts_them(
    talos: talosctl.Talosctl, secrets: Secret
) -> None:
    resolved = omni_configs.resolve_template(omni_parser.parse(FOLDER / "layers" / "template.yaml"))

    made = await omni_configs.make_configs(resolved, client=talos, secrets=secrets, endpoint=ENDPOINT)

    assert made.notes == ()
    names = {machine.uuid: machine.name for machine in resolved.machines}
    by_name = {names[key]: config_of(config)[0] for key, config in made.by_machine.items()}
    assert by_name.keys() == {"cp-1", "cp-2", "storage-nodes-1", "worker-1"}
    for config in made.by_machine.values():
        assert (await talos.validate(config)).problems == ()
    # Every layer sets the same value; the last one that is merged wins.
    assert {name: config["machine"]["sysctls"]["fs.nr_open"] for name, config in by_name.items()} == {
        "cp-1": "3", "cp-2": "5", "storage-nodes-1": "2", "worker-1": "2",
    }  # fmt: skip
    assert by_name["cp-1"]["cluster"]["allowSchedulingOnControlPlanes"] is True
    assert by_name["storage-nodes-1"]["machine"]["kernel"] == {"modules": [{"name": "nbd"}]}
    assert [config["machine"]["type"] for config in by_name.values()] == ["controlplane"] * 2 + ["worker"] * 2
    for name, config in by_name.items():
        assert config["cluster"]["clusterName"] == "barn-1"
        assert config["cluster"]["controlPlane"]["endpoint"] == ENDPOINT
        assert config["machine"]["kubelet"]["image"].endswith(":v1.35.2")
        assert config["machine"]["install"]["image"].endswith(":v1.12.4")
        assert config["machine"]["install"]["disk"] == ("/dev/nvme0n1" if name == "cp-2" else "/dev/sda")
        assert config["machine"]["network"]["nameservers"] == ["10.0.0.53"]
    bundle = config_of(secrets)[0]
    assert by_name["worker-1"]["cluster"]["id"] == bundle["cluster"]["id"]
    assert by_name["worker-1"]["machine"]["token"] == bundle["trustdinfo"]["token"]


async def test_the_version_contract_is_that_of_the_template(
    talos: talosctl.Talosctl, secrets: Secret, tmp_path: Path
) -> None:
    documents = {}
    for version in ("v1.11.1", "v1.13.0"):
        resolved = omni_configs.resolve_template(omni_parser.parse(template_of(tmp_path, talos=version)))
        made = await omni_configs.make_configs(resolved, client=talos, secrets=secrets, endpoint=ENDPOINT)
        documents[version] = config_of(made.by_machine[A])

    assert documents["v1.11.1"][0]["machine"]["features"]["stableHostname"] is True
    assert [each.get("kind") for each in documents["v1.11.1"]] == [None]
    assert "HostnameConfig" in [each.get("kind") for each in documents["v1.13.0"]]


async def test_a_talos_newer_than_talosctl_is_said(talos: talosctl.Talosctl, secrets: Secret, tmp_path: Path) -> None:
    resolved = omni_configs.resolve_template(omni_parser.parse(template_of(tmp_path, talos="v1.99.0")))

    made = await omni_configs.make_configs(resolved, client=talos, secrets=secrets, endpoint=ENDPOINT)

    version = await talos.client_version()
    assert made.notes == (f"Talos v1.99.0 is newer than talosctl v{version}: the base config is that of v{version}",)


@pytest.mark.parametrize(
    "case",
    [each for each in CASES if "machines" in expected_of(each) and each.name != "scalars"],
    ids=lambda case: case.name,
)
async def test_every_case_gives_configs_that_talos_accepts(
    talos: talosctl.Talosctl, secrets: Secret, case: Path
) -> None:
    """Not the one of scalars: no sysctl is null."""
    resolved = omni_configs.resolve_template(omni_parser.parse(case / "template.yaml"), expected_of(case).get("sizes"))

    made = await omni_configs.make_configs(resolved, client=talos, secrets=secrets, endpoint=ENDPOINT)

    assert made.by_machine.keys() == {machine.uuid for machine in resolved.machines}
    for config in {id(each): each for each in made.by_machine.values()}.values():
        assert (await talos.validate(config)).problems == ()


async def test_documents_of_a_patch_are_documents_of_the_config(talos: talosctl.Talosctl, secrets: Secret) -> None:
    for case in ("documents-in-a-patch", "inline-as-newer-clients-take-it"):
        resolved = omni_configs.resolve_template(omni_parser.parse(FOLDER / case / "template.yaml"))

        made = await omni_configs.make_configs(resolved, client=talos, secrets=secrets, endpoint=ENDPOINT)

        found = config_of(made.by_machine[A])
        assert found[0]["machine"]["sysctls"]["a"] in {"1", "2"}
        assert [each["ntp"] for each in found if each.get("kind") == "TimeSyncConfig"] == [{"servers": ["10.0.0.1"]}]


async def test_a_patch_that_talos_refuses_is_named_with_its_line(
    talos: talosctl.Talosctl, secrets: Secret, tmp_path: Path
) -> None:
    (tmp_path / "fine.yaml").write_text("machine: {sysctls: {a: b}}\n")
    (tmp_path / "wrong.yaml").write_text("machine:\n  network:\n    # a comment\n    hostnam: hunter2hunter2\n")
    path = template_of(tmp_path, patches="[{file: fine.yaml}, {file: wrong.yaml}, {idOverride: 5, file: fine.yaml}]")

    with pytest.raises(errors.ConfigError) as caught:
        await omni_configs.make_configs(
            omni_configs.resolve_template(omni_parser.parse(path)), client=talos, secrets=secrets, endpoint=ENDPOINT
        )

    assert (caught.value.path, caught.value.line) == (str(tmp_path / "wrong.yaml"), 4)
    assert "201-cluster-shed-wrong.yaml: it knows no machine.network.hostnam" in caught.value.message
    assert "hunter2" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"


async def test_no_secret_reaches_a_command_line_or_a_disk(secrets: Secret, tmp_path: Path) -> None:
    """A talosctl of the test's own writes down what it is given and where it could be read."""
    real = (await install.ensure(["talosctl"]))["talosctl"]
    seen = tmp_path / "seen"
    spy = tmp_path / "talosctl"
    spy.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >>{seen}\nls -l /proc/self/fd >>{seen}\nfind . -type f >>{seen}\n'
        f'exec {real} "$@"\n'
    )
    spy.chmod(0o755)
    path = template_of(tmp_path, patches="[{name: a, inline: {machine: {sysctls: {a: hunter2hunter2}}}}]")

    made = await omni_configs.make_configs(
        omni_configs.resolve_template(omni_parser.parse(path)),
        client=talosctl.Talosctl(spy),
        secrets=secrets,
        endpoint=ENDPOINT,
    )

    assert b"hunter2hunter2" in made.by_machine[A].reveal()
    written = seen.read_text()
    assert "memfd:firstlight" in written
    assert "hunter2hunter2" not in written
    for key in ("id", "secret"):
        assert config_of(secrets)[0]["cluster"][key] not in written
    assert repr(made).count("•••") == 1


def template_of(tmp_path: Path, *, talos: str = "v1.13.0", patches: str = "[]") -> Path:
    path = tmp_path / "template.yaml"
    path.write_text(
        f"kind: Cluster\nname: shed\nkubernetes: {{version: v1.36.0}}\ntalos: {{version: {talos}}}\n"
        f"patches: {patches}\n---\nkind: ControlPlane\nmachines: [{A}]\n"
    )
    return path

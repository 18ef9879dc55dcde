"""What talosctl printed, as values; the samples are recorded, or written by its own code from its own types."""

import datetime
from pathlib import Path

import pytest

from firstlight.clients import talosctl as clients_talosctl
from firstlight.clients.talosctl import MachineTarget, Talosctl
from firstlight.model import machine
from firstlight.model.secret import MASK, Secret
from firstlight.model.upgrade_plan import ComponentUpdate
from tests.unit.clients.talosctl import standin

ONE = MachineTarget.of("10.5.0.2")
CONFIG = Secret("machine: {}\n")


def shows(program: standin.StandIn, name: str) -> None:
    program.says((standin.SAMPLES / "get" / f"{name}.json").read_text())


async def test_members(talosctl: Talosctl, program: standin.StandIn) -> None:
    shows(program, "members")

    first, second = await talosctl.members(ONE)

    assert first == machine.TalosResource(
        node="10.5.0.2",
        type="Members.cluster.talos.dev",
        namespace="cluster",
        id="cp-1",
        version="3",
        phase="running",
        labels={},
        annotations={},
        spec=machine.DiscoveredMember(
            node_id="rJ2dZ0",
            hostname="cp-1",
            machine_type="controlplane",
            addresses=("10.5.0.2", "fd00::2"),
            operating_system="Talos (v1.13.0)",
        ),
    )
    assert (second.id, second.spec.hostname) == ("123", "123")


async def test_names_that_talosctl_takes_for_numbers(talosctl: Talosctl, program: standin.StandIn) -> None:
    shows(program, "metakeys")

    (found,) = await talosctl.get(ONE, "metakeys")

    assert (found.id, found.labels) == ("10", {"on": "1"})


async def test_machine_status(talosctl: Talosctl, program: standin.StandIn) -> None:
    shows(program, "machinestatus")
    booting = await talosctl.machine_status(ONE)
    shows(program, "machinestatus-down")
    down = await talosctl.machine_status(ONE)

    assert booting == machine.MachineStage(
        "booting", machine.MachineReadiness(False, (machine.UnmetCondition("services", "etcd not running"),))
    )
    assert not booting.is_ready
    assert down == machine.MachineStage("shutting down", machine.MachineReadiness(False))
    assert machine.MachineStage("running", machine.MachineReadiness(True)).is_ready
    assert not machine.MachineStage("maintenance", machine.MachineReadiness(True)).is_ready


async def test_a_machine_config_is_a_secret(talosctl: Talosctl, program: standin.StandIn) -> None:
    shows(program, "machineconfig")

    config = await talosctl.machine_config(ONE)

    assert config.reveal().startswith(b"version: v1alpha1\nmachine:\n")
    assert config.reveal().endswith(b"---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n")


async def test_disks(talosctl: Talosctl, program: standin.StandIn) -> None:
    shows(program, "disks")
    disk, loop = (each.spec for each in await talosctl.disks(ONE))
    shows(program, "systemdisk")
    (system,) = await talosctl.system_disks(ONE)

    assert (disk.dev_path, disk.size, disk.serial, disk.transport) == ("/dev/sda", 500107862016, "0123", "sata")
    assert disk.symlinks == ("/dev/disk/by-id/ata-1",)
    assert loop.readonly
    assert system.spec == machine.SystemDisk("sda", "/dev/sda")


async def test_links_addresses_and_the_nodename(talosctl: Talosctl, program: standin.StandIn) -> None:
    shows(program, "links")
    (link,) = await talosctl.links(ONE)
    shows(program, "addresses")
    (address,) = await talosctl.addresses(ONE)
    shows(program, "nodename")
    nodename = await talosctl.nodename(ONE)

    assert (link.id, link.spec.hardware_addr, link.spec.driver) == ("eth0", "02:00:00:00:00:01", "virtio_net")
    assert (link.spec.alt_names, link.spec.link_state, link.spec.operational_state) == (("enp0s3",), True, "up")
    assert address.spec == machine.LinkAddress("10.5.0.2/24", "eth0", "inet4", "global")
    assert nodename == machine.Nodename("cp-1")


async def test_services_and_diagnostics(talosctl: Talosctl, program: standin.StandIn) -> None:
    shows(program, "services")
    services = {each.id: each.spec.is_healthy for each in await talosctl.services(ONE)}
    shows(program, "diagnostics")
    (diagnostic,) = await talosctl.diagnostics(ONE)

    assert services == {"etcd": False, "udevd": True}
    assert diagnostic.id == "address-overlap"
    assert diagnostic.spec.details == ("host 10.244.0.1/24",)


async def test_manifests(talosctl: Talosctl, program: standin.StandIn) -> None:
    shows(program, "manifests")
    token, cilium = await talosctl.manifests(ONE)
    shows(program, "manifeststatus")
    (status,) = await talosctl.manifest_statuses(ONE)

    assert [each["kind"] for each in cilium.spec.objects] == ["Namespace", "ConfigMap"]
    assert "abcdef" not in repr(token)
    assert status.spec.manifests_applied == ("00-kubelet-bootstrapping-token", "99-cilium")


async def test_the_member_on_a_machine(talosctl: Talosctl, program: standin.StandIn) -> None:
    shows(program, "etcdmember")
    assert await talosctl.etcd_member_id(ONE) == "1234567890123456"

    program.says(stderr="rpc error: code = NotFound desc = resource doesn't exist", code=1)
    assert await talosctl.etcd_member_id(ONE) is None


async def test_the_content_of_a_resource_is_not_shown(talosctl: Talosctl, program: standin.StandIn) -> None:
    shows(program, "machineconfig")

    assert "token" not in repr(await talosctl.get(ONE, "machineconfig"))


@pytest.mark.parametrize(
    "stdout",
    [
        "not JSON hunter2",
        '{"metadata": {}, "spec": "hunter2"}',
        '{"spec": "hunter2"}',
        '{"metadata": 1, "spec": "hunter2"}',
        '{"metadata": {"type": "t", "namespace": "n", "id": "i"}, "spec": {"password": "hunter2"}}',
        "",
    ],
)
async def test_an_answer_that_cannot_be_read_is_not_repeated(
    talosctl: Talosctl, program: standin.StandIn, stdout: str
) -> None:
    program.says(stdout)

    with pytest.raises(clients_talosctl.TalosUnreadable) as caught:
        await talosctl.machine_config(ONE)

    assert "MachineConfigs.config.talos.dev" in caught.value.message
    assert "hunter2" not in f"{caught.value} {caught.value!r} {caught.value.stderr}"


async def test_a_field_that_is_missing_is_named(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says('{"metadata": {"type": "Members", "namespace": "n", "id": "i"}, "spec": {"nodeId": "x"}}')

    with pytest.raises(clients_talosctl.TalosUnreadable, match="hostname"):
        await talosctl.members(ONE)


async def test_the_version_of_a_machine(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("version")

    assert await talosctl.version(ONE) == machine.RunningVersion(
        "10.5.0.2", tag="v1.13.0", sha="abc1234", arch="amd64", platform="metal", mode="metal", has_rbac=True
    )


async def test_the_version_of_a_machine_in_maintenance_mode(maintenance: Talosctl, program: standin.StandIn) -> None:
    program.says('{"version":{"tag":"v1.13.0"}}')

    assert await maintenance.version(ONE) == machine.RunningVersion("10.5.0.2", tag="v1.13.0")


@pytest.mark.parametrize("stdout", ["", "{}", '{"version": 1}', "{}{}", '{"version": {}}'])
async def test_a_version_that_cannot_be_read(talosctl: Talosctl, program: standin.StandIn, stdout: str) -> None:
    program.says(stdout)

    with pytest.raises(clients_talosctl.TalosUnreadable):
        await talosctl.version(ONE)


async def test_the_version_of_talosctl(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says("Client:\nTalos v1.13.0\n")
    assert await talosctl.client_version() == "1.13.0"

    program.says("Client:\n\tTag:         v1.12.1\n\tSHA:   1\n")
    assert await talosctl.client_version() == "1.12.1"

    program.says("hello")
    with pytest.raises(clients_talosctl.TalosUnreadable):
        await talosctl.client_version()


async def test_memory(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("memory")

    assert await talosctl.memory(MachineTarget.of("10.5.0.2", "10.5.0.3")) == (
        machine.Memory("10.5.0.2", total=32 << 30, free=1 << 20, available=2 << 20),
        machine.Memory("10.5.0.3", total=8192, free=0, available=0),
    )


async def test_time(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("time")

    (clock,) = await talosctl.time(ONE)

    assert (clock.node, clock.server) == ("10.5.0.2", "time.example.org")
    assert clock.node_time == datetime.datetime(2026, 3, 1, 12, 0, 0, 123456, datetime.UTC)
    assert clock.offset == pytest.approx(2.123456)


async def test_states_of_services(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("service")

    assert await talosctl.service_states(ONE) == (
        machine.TalosServiceState("10.5.0.2", "apid", "Running", True, "Health check successful", 10921),
        machine.TalosServiceState("10.5.0.2", "etcd", "Preparing", None, "Running pre state", 5),
        machine.TalosServiceState("10.5.0.2", "kubelet", "Failed", False, "exit 1:\nsecond line", 5),
        machine.TalosServiceState("10.5.0.2", "ext-lldpd", "Waiting", None, "", None),
    )


@pytest.mark.parametrize(
    ("ask", "stdout"), [("service_states", "oops"), ("time", "oops"), ("memory", "NODE: x\nMemTotal: 1\n")]
)
async def test_other_forms_are_errors(talosctl: Talosctl, program: standin.StandIn, ask: str, stdout: str) -> None:
    program.says(stdout)

    with pytest.raises(clients_talosctl.TalosUnreadable):
        await getattr(talosctl, ask)(ONE)


async def test_logs_without_the_name_of_the_machine(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("logs")
    assert await talosctl.logs(ONE, "etcd") == ("a", "b: c")

    program.says_sample("dmesg")
    assert await talosctl.dmesg(ONE) == ("kern: info: [2026]: one", "user: warning: two")

    program.says("")
    assert await talosctl.dmesg(ONE) == ()


async def test_members_of_etcd(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("members")

    assert await talosctl.etcd_members(ONE) == (
        machine.EtcdMember(
            "10.5.0.2",
            "8e9e05c52164694d",
            "cp-1",
            ("https://10.5.0.2:2380", "https://[fd00::2]:2380"),
            ("https://10.5.0.2:2379",),
            is_learner=False,
        ),
        machine.EtcdMember("10.5.0.2", "0000000000000001", "", ("https://10.5.0.3:2380",), (), is_learner=True),
    )


async def test_the_status_of_etcd(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("status")

    leader, learner = await talosctl.etcd_status(MachineTarget.of("10.5.0.2", "10.5.0.3"))

    assert leader.is_leader
    assert (leader.size, leader.in_use) == (20_000_000, 9_100_000)
    assert (leader.raft_index, leader.raft_term, leader.raft_applied_index) == (1234, 3, 1233)
    assert not learner.is_leader
    assert (learner.leader, learner.errors, learner.is_learner) == ("", "etcdserver: no leader", True)


async def test_alarms(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("alarms")
    assert await talosctl.etcd_alarms(ONE) == (machine.EtcdAlarm("10.5.0.2", "0000000000000005", "NOSPACE"),)

    program.says("")
    assert await talosctl.etcd_alarms(ONE) == ()

    program.says("MEMBER   ALARM\n5        NOSPACE\n")
    assert await talosctl.etcd_alarms(ONE) == (machine.EtcdAlarm("10.5.0.2", "5", "NOSPACE"),)


async def test_a_table_of_another_form_is_an_error(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says("NAME   ID\nx      1\n")

    with pytest.raises(clients_talosctl.TalosUnreadable):
        await talosctl.etcd_members(ONE)


SAVED = (
    'etcd snapshot saved to "x" (2000 bytes)\n'
    "snapshot info: hash 1a2b3c4d, revision 12, total keys 34, total size 2000\n"
)


async def test_a_snapshot_gets_its_name_when_it_is_whole(talosctl: Talosctl, program: standin.StandIn) -> None:
    path = program.home / "made" / "etcd.db"
    path.write_text("old")
    program.says(SAVED)

    snapshot = await talosctl.etcd_snapshot(ONE, path)

    assert snapshot == machine.EtcdSnapshot(path, "1a2b3c4d", revision=12, keys=34, size=2000)
    assert path.read_text() == "made"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["etcd.db"]
    assert program.argv[-1] != str(path)


@pytest.mark.parametrize(("stdout", "code"), [("", 1), ("etcd snapshot saved\n", 0), (SAVED, 1)])
async def test_a_bad_snapshot_leaves_the_old_one(
    talosctl: Talosctl, program: standin.StandIn, stdout: str, code: int
) -> None:
    path = program.home / "made" / "etcd.db"
    path.write_text("old")
    program.says(stdout, "hash mismatch", code=code)

    with pytest.raises(clients_talosctl.TalosError):
        await talosctl.etcd_snapshot(ONE, path)

    assert path.read_text() == "old"
    assert [each.name for each in path.parent.iterdir()] == ["etcd.db"]


async def test_a_config_that_needs_a_reboot(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("apply")

    applied = await talosctl.apply_config(ONE, CONFIG)

    assert applied.effect == "reboot"
    assert applied.needs_reboot
    assert applied.reason == "this config change can't be applied in immediate mode"
    assert applied.warnings == ('use "worker" instead of "" for machine type', "second")
    assert applied.diff is not None
    assert b"-    token: abcdef.0123456789abcdef\n" in applied.diff.reveal()
    assert "abcdef" not in repr(applied)


async def test_a_dry_run(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("apply-dry")
    changes = await talosctl.apply_config(ONE, CONFIG, dry_run=True)
    program.says_sample("apply-dry-staged")
    none = await talosctl.apply_config(ONE, CONFIG, dry_run=True, mode="staged")

    assert (changes.effect, changes.is_dry_run, changes.reason) == ("at-once", True, "")
    assert changes.diff is not None
    assert changes.diff.reveal().startswith(b"--- a\n+++ b\n@@")
    assert (none.effect, none.diff) == ("staged", None)


async def test_a_tried_config_and_words_that_are_new(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("apply-try")
    tried = await talosctl.apply_config(ONE, CONFIG, mode="try")
    program.says(stderr="Did something\n")
    unknown = await talosctl.apply_config(ONE, CONFIG)

    assert (tried.effect, tried.needs_reboot) == ("tried", False)
    assert unknown.effect == "unknown"
    assert unknown.needs_reboot, "what is not known to do without a reboot is asked about"


@pytest.mark.parametrize("header", ["Differences:\n\n+ a: b\n", "", "Config diff:\n"])
async def test_a_dry_run_that_does_not_say_what_differs_is_no_answer(
    talosctl: Talosctl, program: standin.StandIn, header: str
) -> None:
    """Taken for no difference, the machine would pass for one that has its config."""
    program.says(stderr=f"Dry run summary:\nApplied configuration without a reboot (skipped in dry-run).\n{header}")

    with pytest.raises(clients_talosctl.TalosUnreadable, match="whether anything differs"):
        await talosctl.apply_config(ONE, CONFIG, dry_run=True)


async def test_a_config_that_cannot_take_effect_at_once(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("apply-noreboot", code=1)

    with pytest.raises(clients_talosctl.TalosRejected) as caught:
        await talosctl.apply_config(ONE, CONFIG, mode="no-reboot")

    error = caught.value
    assert error.detail.startswith("this config change can't be applied in immediate mode")
    assert "abcdef" not in f"{error} {error!r} {error.stderr} {error.problems}"


async def test_validation(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says("x is valid for metal mode\n", "WARNING: use worker\n")
    good = await talosctl.validate(CONFIG)
    program.says(
        stderr="WARNING: w\n1 error occurred:\n\t* v1alpha1.Config: 1 error occurred:\n\t* no disk\n\n\n", code=1
    )
    bad = await talosctl.validate(CONFIG)
    program.says(
        stderr="error decoding document /v1alpha1/ (line 1): unknown keys found during decoding:\n"
        "machine:\n    tokn: x\n",
        code=1,
    )
    mistyped = await talosctl.validate(CONFIG)

    assert (good.is_valid, good.warnings) == (True, ("use worker",))
    assert (bad.is_valid, bad.problems, bad.warnings) == (False, ("no disk",), ("w",))
    assert mistyped.problems == (
        f"error decoding document /v1alpha1/ (line 1): unknown keys found during decoding:\nmachine:\n    tokn: {MASK}",
    )


@pytest.mark.parametrize(("stderr", "code"), [("panic: oops\n", 2), ("unknown flag: --strict\n\nUsage:\n  x\n", 1)])
async def test_a_validation_that_failed_says_nothing_of_the_config(
    talosctl: Talosctl, program: standin.StandIn, stderr: str, code: int
) -> None:
    program.says(stderr=stderr, code=code)

    with pytest.raises(clients_talosctl.TalosError):
        await talosctl.validate(CONFIG, strict=True)


async def test_a_patch_that_does_not_fit(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says(stderr="error decoding document /v1alpha1/ (line 1): yaml: construct errors:\n  line 2: no\n", code=1)

    with pytest.raises(clients_talosctl.TalosRejected, match=r"yaml: construct errors: line 2: no"):
        await talosctl.patch_config(CONFIG, [Secret("a: b")])


async def test_what_is_generated_is_secret_and_whole(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says("FED\n")

    patched = await talosctl.patch_config(CONFIG, [])
    secrets = await talosctl.gen_secrets(from_controlplane=CONFIG)
    kubeconfig = await talosctl.kubeconfig(ONE)

    assert patched.reveal() == CONFIG.reveal()
    assert secrets.reveal() == CONFIG.reveal() + b"\n"
    assert kubeconfig.reveal() == b"TALOSCONFIG\n"


async def test_an_empty_kubeconfig_is_an_error(talosctl: Talosctl, program: standin.StandIn) -> None:
    with pytest.raises(clients_talosctl.TalosUnreadable):
        await talosctl.kubeconfig(ONE)


async def test_a_cluster_that_is_not_healthy(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("health", code=1)
    lines: list[str] = []

    health = await talosctl.health(ONE, on_line=lines.append)

    assert not health.is_healthy
    assert health.reason == "context deadline exceeded"
    assert health.checks == (
        machine.HealthCheck("etcd to be healthy", "passed"),
        machine.HealthCheck("kube-proxy to report ready", "skipped"),
        machine.HealthCheck("all k8s nodes to report ready", "failing", "some nodes are not ready: [cp-1]"),
    )
    assert [check.name for check in health.pending] == ["all k8s nodes to report ready"]
    assert lines[0] == 'discovered nodes: ["10.5.0.2" "10.5.0.5"]'
    assert tuple(lines) == health.lines


async def test_a_cluster_that_is_healthy(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says(stderr="waiting for etcd to be healthy: ...\nwaiting for etcd to be healthy: OK\n")

    health = await talosctl.health(ONE)

    assert health.is_healthy
    assert health.checks == (machine.HealthCheck("etcd to be healthy", "passed"),)


async def test_health_of_a_machine_that_does_not_answer_is_an_error(
    talosctl: Talosctl, program: standin.StandIn
) -> None:
    program.says(stderr='rpc error: code = Unavailable desc = connection error: desc = "transport: x"', code=1)

    with pytest.raises(clients_talosctl.TalosUnreachable):
        await talosctl.health(ONE)


async def test_a_plan_to_upgrade_kubernetes(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("upgrade-k8s-dry-run")

    plan = await talosctl.upgrade_k8s(ONE, to="1.36.0", dry_run=True)

    assert plan.is_dry_run
    assert plan.updates == (
        ComponentUpdate("kube-apiserver", "10.5.0.2", "1.35.2", "1.36.0"),
        ComponentUpdate("kubelet", "10.5.0.5", "1.35.2", "1.36.0"),
    )
    assert [(change.action, change.subject) for change in plan.manifests] == [
        ("pruned", "DaemonSet/kube-system/cilium"),
        ("configured", "Secret/kube-system/bootstrap-token-abcdef"),
        ("created", "Namespace/foo"),
        ("configured", "ConfigMap/default/tricky"),
        ("unchanged", "ClusterRole/flannel"),
    ]
    assert [change.subject for change in plan.pruned] == ["DaemonSet/kube-system/cilium"]
    assert plan.manifests[2].diff.endswith(
        "@@ -0,0 +1,4 @@\n+apiVersion: v1\n+kind: Namespace\n+metadata:\n+  name: foo\n"
    )
    assert "aHVudGVy" not in f"{plan}"
    assert f"- {MASK}\n+ {MASK}\n" in plan.manifests[1].diff


async def test_manifests_of_clusters_below_1_13(talosctl: Talosctl, program: standin.StandIn) -> None:
    program.says_sample("upgrade-k8s-1.12")

    done = await talosctl.upgrade_k8s(ONE, to="1.35.0")

    assert [(change.action, change.subject) for change in done.manifests] == [
        ("unchanged", "v1.Secret/kube-system/bootstrap-token-abcdef"),
        ("changed", "apps/v1.DaemonSet/kube-system/kube-proxy"),
    ]
    assert done.manifests[1].diff.endswith("@@ -1 +1 @@\n-a: 1\n+a: 2\n")


def test_samples_are_all_used() -> None:
    here = Path(__file__).parent
    tests = "".join(file.read_text() for file in here.glob("test_*.py"))
    samples = {file.stem for file in standin.SAMPLES.rglob("*") if file.is_file()}

    assert {name for name in samples if f'"{name}' not in tests} == set()

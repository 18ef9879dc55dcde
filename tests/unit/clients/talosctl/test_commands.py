"""Every command with the arguments that it must be given, memory files shown as <content>."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients.talosctl import MachineTarget, Talosctl
from firstlight.model.secret import Secret
from tests.unit.clients.talosctl import standin

ONE = MachineTarget.of("10.5.0.2", endpoints=["127.71.1.11:50000"])
TWO = MachineTarget.of("10.5.0.2", "10.5.0.3")
CONFIG = Secret("CONFIG")
HOW = ["--talosconfig=<TALOSCONFIG>", "--endpoints=127.71.1.11:50000", "--nodes=10.5.0.2"]
HOW_TWO = ["--talosconfig=<TALOSCONFIG>", "--nodes=10.5.0.2,10.5.0.3"]
INSECURE = ["--insecure", "--nodes=10.5.0.2"]
WAIT = ["--wait=true", "--timeout=1800s"]

Command = Callable[[Talosctl], Awaitable[object]]

RESOURCE = '{"node": "n", "metadata": {"type": "t", "namespace": "n", "id": "i"}, "spec": %s}'
STATUS = RESOURCE % '{"stage": "running", "status": {"ready": true}}'
VERSION = '{"version": {"tag": "v1.13.0"}}'
SERVICES = "NODE   SERVICE   STATE   HEALTH   LAST CHANGE   LAST EVENT\n"

COMMANDS: list[tuple[str, Command, list[str]]] = [
    ("Talos v1.13.0", lambda t: t.client_version(), ["version", "--client", "--short"]),
    (VERSION, lambda t: t.version(ONE), ["version", "--json", *HOW]),
    ("", lambda t: t.get(ONE, "members"), ["get", "--output=json", *HOW, "--", "members"]),
    (
        "",
        lambda t: t.get(TWO, "-x", "--file=/etc/shadow", namespace="a b"),
        ["get", "--output=json", "--namespace=a b", *HOW_TWO, "--", "-x", "--file=/etc/shadow"],
    ),
    ("", lambda t: t.members(TWO), ["get", "--output=json", *HOW_TWO, "--", "Members.cluster.talos.dev"]),
    (
        STATUS,
        lambda t: t.machine_status(ONE),
        ["get", "--output=json", *HOW, "--", "MachineStatuses.runtime.talos.dev", "machine"],
    ),
    (
        RESOURCE % '"text"',
        lambda t: t.machine_config(ONE),
        ["get", "--output=json", *HOW, "--", "MachineConfigs.config.talos.dev", "v1alpha1"],
    ),
    (
        RESOURCE % '"text"',
        lambda t: t.machine_config(ONE, persistent=True),
        ["get", "--output=json", *HOW, "--", "MachineConfigs.config.talos.dev", "persistent"],
    ),
    ("b00t\n", lambda t: t.boot_id(ONE), ["read", *HOW, "--", "/proc/sys/kernel/random/boot_id"]),
    ("", lambda t: t.disks(ONE), ["get", "--output=json", *HOW, "--", "Disks.block.talos.dev"]),
    ("", lambda t: t.system_disks(ONE), ["get", "--output=json", *HOW, "--", "SystemDisks.block.talos.dev"]),
    ("", lambda t: t.links(ONE), ["get", "--output=json", *HOW, "--", "LinkStatuses.net.talos.dev"]),
    ("", lambda t: t.addresses(ONE), ["get", "--output=json", *HOW, "--", "AddressStatuses.net.talos.dev"]),
    (
        RESOURCE % '{"nodename": "cp-1"}',
        lambda t: t.nodename(ONE),
        ["get", "--output=json", *HOW, "--", "Nodenames.kubernetes.talos.dev", "nodename"],
    ),
    ("", lambda t: t.services(ONE), ["get", "--output=json", *HOW, "--", "Services.v1alpha1.talos.dev"]),
    ("", lambda t: t.diagnostics(ONE), ["get", "--output=json", *HOW, "--", "Diagnostics.runtime.talos.dev"]),
    ("", lambda t: t.manifests(ONE), ["get", "--output=json", *HOW, "--", "Manifests.kubernetes.talos.dev"]),
    (
        "",
        lambda t: t.manifest_statuses(ONE),
        ["get", "--output=json", *HOW, "--", "ManifestStatuses.kubernetes.talos.dev"],
    ),
    (
        RESOURCE % '{"memberID": "1"}',
        lambda t: t.etcd_member_id(ONE),
        ["get", "--output=json", *HOW, "--", "EtcdMembers.etcd.talos.dev", "local"],
    ),
    ("", lambda t: t.memory(TWO), ["memory", "--verbose", *HOW_TWO]),
    ("", lambda t: t.time(ONE), ["time", *HOW]),
    ("", lambda t: t.time(ONE, server="time.example.org"), ["time", "--check=time.example.org", *HOW]),
    (SERVICES, lambda t: t.service_states(TWO), ["service", *HOW_TWO]),
    ("", lambda t: t.service_action(ONE, "etcd", "restart"), ["service", *HOW, "--", "etcd", "restart"]),
    ("", lambda t: t.logs(ONE, "etcd"), ["logs", *HOW, "--", "etcd"]),
    (
        "",
        lambda t: t.logs(ONE, "kube-system/coredns:coredns:1a", tail=10, kubernetes=True),
        ["logs", "--tail=10", "--kubernetes", *HOW, "--", "kube-system/coredns:coredns:1a"],
    ),
    ("", lambda t: t.dmesg(ONE), ["dmesg", *HOW]),
    ("", lambda t: t.etcd_members(TWO), ["etcd", "members", *HOW_TWO]),
    ("", lambda t: t.etcd_status(TWO), ["etcd", "status", *HOW_TWO]),
    ("", lambda t: t.etcd_alarms(ONE), ["etcd", "alarm", "list", *HOW]),
    ("", lambda t: t.etcd_disarm(ONE), ["etcd", "alarm", "disarm", *HOW]),
    ("", lambda t: t.etcd_defrag(ONE), ["etcd", "defrag", *HOW]),
    ("", lambda t: t.etcd_leave(ONE), ["etcd", "leave", *HOW]),
    ("", lambda t: t.etcd_forfeit_leadership(ONE), ["etcd", "forfeit-leadership", *HOW]),
    (
        "",
        lambda t: t.etcd_remove_member(ONE, "8e9e05c52164694d"),
        ["etcd", "remove-member", *HOW, "--", "8e9e05c52164694d"],
    ),
    ("", lambda t: t.bootstrap(ONE), ["bootstrap", *HOW]),
    ("FED", lambda t: t.kubeconfig(ONE), ["kubeconfig", "--merge=false", *HOW, "--", "-"]),
    ("", lambda t: t.health(ONE), ["health", "--wait-timeout=60s", *HOW]),
    (
        "",
        lambda t: t.health(
            ONE,
            wait=0.5,
            control_planes=["10.5.0.2", "10.5.0.3"],
            workers=["10.5.0.5"],
            kubernetes_endpoint="https://127.71.1.1:6443",
            from_here=True,
        ),
        ["health", "--wait-timeout=0.5s", "--control-plane-nodes=10.5.0.2,10.5.0.3", "--worker-nodes=10.5.0.5",
         "--k8s-endpoint=https://127.71.1.1:6443", "--server=false", *HOW],
    ),
    (
        "",
        lambda t: t.upgrade_k8s(ONE, to="v1.36.0"),
        ["upgrade-k8s", "--to=1.36.0", "--with-docs=false", "--with-examples=false", *HOW],
    ),
    (
        "",
        lambda t: t.upgrade_k8s(
            ONE,
            to="1.36.0",
            from_version="1.35.2",
            dry_run=True,
            endpoint="https://10.5.0.2:6443",
            kubelets=False,
            pull_first=False,
            prune=False,
            force=True,
            inventory_policy="MustMatch",
            reconcile=0,
        ),
        ["upgrade-k8s", "--to=1.36.0", "--from=1.35.2", "--dry-run", "--endpoint=https://10.5.0.2:6443",
         "--upgrade-kubelet=false", "--pre-pull-images=false", "--manifests-no-prune", "--manifests-force",
         "--manifests-inventory-policy=MustMatch", "--manifests-reconcile-timeout=0s", "--with-docs=false",
         "--with-examples=false", *HOW],
    ),
    ("", lambda t: t.reboot(ONE), ["reboot", "--mode=default", *WAIT, *HOW]),
    (
        "",
        lambda t: t.reboot(ONE, mode="powercycle", wait=False),
        ["reboot", "--mode=powercycle", "--wait=false", *HOW],
    ),
    (
        "",
        lambda t: t.reboot(ONE, drain=True, wait=False, timeout=90),
        ["reboot", "--mode=default", "--drain", "--wait=true", "--timeout=90s", *HOW],
    ),
    ("", lambda t: t.shutdown(ONE, force=True), ["shutdown", "--force", *WAIT, *HOW]),
    (
        "",
        lambda t: t.reset(ONE),
        ["reset", "--graceful=true", "--reboot=false", "--wipe-mode=all", *WAIT, *HOW],
    ),
    (
        "",
        lambda t: t.reset(
            ONE,
            graceful=False,
            reboot=True,
            wipe="system-disk",
            system_labels=["STATE", "EPHEMERAL"],
            user_disks=["/dev/sdb"],
            wait=False,
        ),
        ["reset", "--graceful=false", "--reboot=true", "--wipe-mode=system-disk",
         "--system-labels-to-wipe=STATE,EPHEMERAL", "--user-disks-to-wipe=/dev/sdb", "--wait=false", *HOW],
    ),
    (
        "",
        lambda t: t.upgrade(ONE, "example.org/installer:v1.13.1"),
        ["upgrade", "--image=example.org/installer:v1.13.1", "--reboot-mode=default", *WAIT, *HOW],
    ),
    (
        "",
        lambda t: t.upgrade(ONE, "example.org/i@sha256:1", mode="force", drain=False, drain_timeout=60, wait=False),
        ["upgrade", "--image=example.org/i@sha256:1", "--reboot-mode=force", "--drain=false", "--drain-timeout=60s",
         "--wait=false", *HOW],
    ),
    ("", lambda t: t.gen_secrets(), ["gen", "secrets", "--output-file=-"]),
    (
        "",
        lambda t: t.gen_secrets(talos_version="v1.12", from_controlplane=CONFIG),
        ["gen", "secrets", "--output-file=-", "--talos-version=v1.12", "--from-controlplane-config=<CONFIG>"],
    ),
    (
        "",
        lambda t: t.gen_config("worker", cluster="-c", endpoint="https://10.5.0.2:6443", secrets=Secret("BUNDLE")),
        ["gen", "config", "--with-secrets=<BUNDLE>", "--output=-", "--output-types=worker", "--with-docs=false",
         "--with-examples=false", "--", "-c", "https://10.5.0.2:6443"],
    ),
    (
        "",
        lambda t: t.gen_config(
            "controlplane",
            cluster="c",
            endpoint="https://10.5.0.2:6443",
            secrets=Secret("BUNDLE"),
            kubernetes_version="1.36.0",
            talos_version="v1.13",
            install_disk="/dev/vda",
            install_image="example.org/installer:v1",
            dns_domain="cluster.example",
            additional_sans=["10.5.0.10", "k8s.example.org"],
            patches=[Secret("ONE"), Secret("TWO")],
        ),
        ["gen", "config", "--with-secrets=<BUNDLE>", "--output=-", "--output-types=controlplane", "--with-docs=false",
         "--with-examples=false", "--kubernetes-version=1.36.0", "--talos-version=v1.13", "--install-disk=/dev/vda",
         "--install-image=example.org/installer:v1", "--dns-domain=cluster.example",
         "--additional-sans=10.5.0.10,k8s.example.org", "--config-patch-control-plane=@<ONE>",
         "--config-patch-control-plane=@<TWO>", "--", "c", "https://10.5.0.2:6443"],
    ),
    (
        "",
        lambda t: t.patch_config(CONFIG, [Secret("ONE"), Secret("TWO")]),
        ["machineconfig", "patch", "--patch=@<ONE>", "--patch=@<TWO>", "--", "<CONFIG>"],
    ),
    ("", lambda t: t.validate(CONFIG), ["validate", "--config=<CONFIG>", "--mode=metal"]),
    (
        "",
        lambda t: t.validate(CONFIG, mode="cloud", strict=True),
        ["validate", "--config=<CONFIG>", "--mode=cloud", "--strict"],
    ),
    ("", lambda t: t.apply_config(ONE, CONFIG), ["apply-config", "--file=<CONFIG>", "--mode=auto", *HOW]),
    (
        "",
        lambda t: t.apply_config(ONE, CONFIG, mode="try", dry_run=True, try_timeout=90),
        ["apply-config", "--file=<CONFIG>", "--mode=try", "--dry-run", "--timeout=90s", *HOW],
    ),
]  # fmt: skip

MAINTENANCE: list[tuple[str, Command, list[str]]] = [
    (VERSION, lambda t: t.version(ONE), ["version", "--json", *INSECURE]),
    ("", lambda t: t.disks(ONE), ["get", "--output=json", *INSECURE, "--", "Disks.block.talos.dev"]),
    (
        "",
        lambda t: t.apply_config(ONE, CONFIG, fingerprints=["aGVsbG8=", "Ynll"]),
        ["apply-config", "--file=<CONFIG>", "--mode=auto", "--cert-fingerprint=aGVsbG8=,Ynll", *INSECURE],
    ),
    (
        "",
        lambda t: t.reset(ONE, reboot=True),
        ["reset", "--graceful=true", "--reboot=true", "--wipe-mode=all", "--wait=false", *INSECURE],
    ),
]


def _names(commands: list[tuple[str, Command, list[str]]]) -> list[str]:
    return [
        f"{n}-{' '.join(word for word in argv if not word.startswith('-'))}" for n, (_, _, argv) in enumerate(commands)
    ]


@pytest.mark.parametrize(("stdout", "run", "argv"), COMMANDS, ids=_names(COMMANDS))
async def test_commands(
    talosctl: Talosctl, program: standin.StandIn, stdout: str, run: Command, argv: list[str]
) -> None:
    program.says(stdout, "Config diff:\n\nNo changes.\n" if argv[0] == "apply-config" else "")

    await run(talosctl)

    assert program.argv == argv
    assert len(program.calls) == 1


@pytest.mark.parametrize(("stdout", "run", "argv"), MAINTENANCE, ids=_names(MAINTENANCE))
async def test_commands_in_maintenance_mode(
    maintenance: Talosctl, program: standin.StandIn, stdout: str, run: Command, argv: list[str]
) -> None:
    program.says(stdout)

    await run(maintenance)

    assert program.argv == argv


def test_every_command_is_in_the_table() -> None:
    tried = {name for _, run, _ in COMMANDS for name in run.__code__.co_names}
    methods = {name for name in dir(Talosctl) if not name.startswith("_")}

    assert methods - tried == {"etcd_snapshot"}  # it has tests of its own, since its path is new each time


@pytest.mark.parametrize(
    "run",
    [
        lambda t: t.logs(ONE, "-f"),
        lambda t: t.logs(ONE, ""),
        lambda t: t.service_action(ONE, "--nodes=x", "stop"),
        lambda t: t.etcd_remove_member(ONE, "-x"),
        lambda t: t.etcd_remove_member(ONE, "cp-1"),
        lambda t: t.time(ONE, server="-x"),
        lambda t: t.health(ONE, workers=["a,b"]),
        lambda t: t.health(ONE, kubernetes_endpoint="http://h"),
        lambda t: t.upgrade_k8s(ONE, to="--x"),
        lambda t: t.upgrade_k8s(ONE, to="1.36.0", endpoint="h"),
        lambda t: t.reset(ONE, system_labels=["A,B"]),
        lambda t: t.reset(ONE, user_disks=["sdb"]),
        lambda t: t.upgrade(ONE, "-i"),
        lambda t: t.upgrade(ONE, "a b"),
        lambda t: t.get(ONE, ""),
        lambda t: t.get(ONE, "x", "a\0b"),
        lambda t: t.bootstrap(ONE, recover_from=Path("/proc/nowhere")),
        lambda t: t.etcd_snapshot(ONE, Path("/proc/nowhere/x")),
        lambda t: t.apply_config(ONE, CONFIG, fingerprints=["a,b"]),
        lambda t: t.gen_config("worker", cluster="c", endpoint="e", secrets=CONFIG, additional_sans=["a,b"]),
    ],
)
async def test_strange_arguments_are_refused_before_anything_runs(
    talosctl: Talosctl, program: standin.StandIn, run: Command
) -> None:
    with pytest.raises(errors.UsageError):
        await run(talosctl)

    assert program.calls == []


@pytest.mark.parametrize(
    "run",
    [
        lambda t: t.version(TWO),
        lambda t: t.machine_status(TWO),
        lambda t: t.machine_config(TWO),
        lambda t: t.bootstrap(TWO),
        lambda t: t.kubeconfig(TWO),
        lambda t: t.apply_config(TWO, CONFIG),
        lambda t: t.reboot(TWO),
        lambda t: t.shutdown(TWO),
        lambda t: t.reset(TWO),
        lambda t: t.upgrade(TWO, "i"),
        lambda t: t.upgrade_k8s(TWO, to="1.36.0"),
        lambda t: t.health(TWO),
        lambda t: t.dmesg(TWO),
        lambda t: t.logs(TWO, "etcd"),
        lambda t: t.service_action(TWO, "etcd", "stop"),
        lambda t: t.etcd_leave(TWO),
        lambda t: t.etcd_defrag(TWO),
        lambda t: t.etcd_forfeit_leadership(TWO),
        lambda t: t.etcd_remove_member(TWO, "1"),
        lambda t: t.etcd_snapshot(TWO, Path("/tmp/x")),
    ],
)
async def test_what_is_for_one_machine_is_not_done_to_two(
    talosctl: Talosctl, program: standin.StandIn, run: Command
) -> None:
    with pytest.raises(ValueError, match="one machine"):
        await run(talosctl)

    assert program.calls == []


async def test_what_a_machine_in_maintenance_mode_cannot_do(maintenance: Talosctl, program: standin.StandIn) -> None:
    with pytest.raises(errors.UsageError, match="talosctl bootstrap does not work on a machine in maintenance mode"):
        await maintenance.bootstrap(ONE)

    assert program.calls == []


async def test_a_talosconfig_is_needed_to_talk_to_machines(program: standin.StandIn) -> None:
    with pytest.raises(errors.UsageError, match="needs a talosconfig"):
        await Talosctl(program.path).version(ONE)


def test_a_talosconfig_and_maintenance_mode_exclude_each_other(program: standin.StandIn) -> None:
    with pytest.raises(ValueError, match="maintenance"):
        Talosctl(program.path, talosconfig=CONFIG, insecure=True)


async def test_a_snapshot_to_recover_from(talosctl: Talosctl, program: standin.StandIn, tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshot.db"
    snapshot.touch()

    await talosctl.bootstrap(ONE, recover_from=snapshot, skip_hash_check=True)

    assert program.argv == ["bootstrap", f"--recover-from={snapshot}", "--recover-skip-hash-check", *HOW]

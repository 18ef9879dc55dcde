"""A cluster of virtual Talos machines as the real talosctl sees it: resources, configs, rights, routing, health."""

import datetime
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import yaml

from firstlight import errors
from firstlight.clients import command, kube, talosctl
from firstlight.model.secret import Secret
from tests import machines
from tests.labs import condition, until


@pytest_asyncio.fixture
async def client(cluster: machines.Cluster) -> AsyncIterator[kube.Client]:
    async with kube.Client(kube.load(cluster.lab.kubeconfig)) as one:
        yield one


def patched(config: Secret, change: Any) -> Secret:
    """A config with its first document changed."""
    documents = list(yaml.safe_load_all(config.reveal()))
    change(documents[0])
    return Secret(yaml.safe_dump_all(documents).encode())


class TestQuestions:
    async def test_members_are_shown_with_their_declared_addresses(self, cluster: machines.Cluster) -> None:
        members = await cluster.talos.members(cluster.at("cp-1"))

        assert {each.id: each.spec.addresses for each in members} == {
            name: (address,) for name, address in cluster.declared.items()
        }

    async def test_a_question_is_routed_to_several_machines(self, cluster: machines.Cluster) -> None:
        target = cluster.at("cp-1", "cp-2", "cp-3", "worker-1", via=["cp-2"])

        names = await cluster.talos.get(target, "nodename")

        assert {each.node: each.spec["nodename"] for each in names} == {
            address: name for name, address in cluster.declared.items()
        }

    async def test_a_worker_forwards_nothing(self, cluster: machines.Cluster) -> None:
        with pytest.raises(talosctl.TalosUnauthorised):
            await cluster.talos.nodename(cluster.at("cp-1", via=["worker-1"]))

    @pytest.mark.parametrize(
        "kind",
        ["disks", "systemdisk", "links", "addresses", "routes", "hostname", "nodename", "services", "machinestatus",
         "members", "staticpods", "manifests", "manifeststatus", "etcdmember", "nodestatus", "memorymodules",
         "volumestatus", "timestatus", "machineconfig", "kubeletspec", "apiserverconfig"],
    )  # fmt: skip
    async def test_resources_are_there(self, cluster: machines.Cluster, kind: str) -> None:
        assert await cluster.talos.get(cluster.at("cp-1"), kind)

    async def test_nothing_is_wrong(self, cluster: machines.Cluster) -> None:
        assert await cluster.talos.diagnostics(cluster.at("cp-1")) == ()

    async def test_etcd_has_three_members_with_declared_addresses(self, cluster: machines.Cluster) -> None:
        members = await cluster.talos.etcd_members(cluster.at("cp-2"))

        assert {each.peer_urls for each in members} == {(f"https://10.5.0.{n}:2380",) for n in (2, 3, 4)}

    async def test_etcd_says_whether_it_could_go_back_to_a_version(self, cluster: machines.Cluster) -> None:
        async def asked(version: str) -> command.Completed:
            with command.memory_file(cluster.talosconfig) as file:
                return await command.run(
                    [str(cluster.program), f"--talosconfig={file.path}", f"--endpoints={cluster.loopbacks['cp-1']}",
                     f"--nodes={cluster.declared['cp-1']}", "etcd", "downgrade", "validate", version],
                    pass_fds=[file.fd], check=False,
                )  # fmt: skip

        possible, impossible = await asked("3.5"), await asked("2.0")

        assert "downgrade validate success" in possible.stdout.decode() + possible.stderr
        assert impossible.code != 0

    async def test_dmesg_and_logs_say_what_happened(self, cluster: machines.Cluster) -> None:
        lines = await cluster.talos.dmesg(cluster.at("cp-1"))
        assert any("bootstrap request received" in line for line in lines)
        assert not any("bootstrap request received" in line for line in await cluster.talos.dmesg(cluster.at("cp-2")))
        assert await cluster.talos.logs(cluster.at("cp-1"), "etcd")

    async def test_the_kubeconfig_of_talos_opens_the_lab(
        self, cluster: machines.Cluster, machine_programs: dict[str, pathlib.Path]
    ) -> None:
        access = await cluster.talos.kubeconfig(cluster.at("cp-1"))

        with command.memory_file(access) as file:
            done = await command.run(
                [str(machine_programs["kubectl"]), f"--kubeconfig={file.path}", "get", "nodes", "-o", "name"],
                pass_fds=[file.fd],
            )

        assert set(done.stdout.decode().split()) == {f"node/{name}" for name in cluster.declared}


class TestRights:
    async def test_a_reader_reads_and_changes_nothing(self, cluster: machines.Cluster, tmp_path: pathlib.Path) -> None:
        reader = await self._somebody(cluster, tmp_path, role="os:reader", ttl="1h")

        assert (await reader.version(cluster.at("cp-1"))).tag == "v1.14.1"
        with pytest.raises(talosctl.TalosUnauthorised):
            await reader.bootstrap(cluster.at("cp-1"))
        with pytest.raises(talosctl.TalosUnauthorised):
            await reader.kubeconfig(cluster.at("cp-1"))
        with pytest.raises(talosctl.TalosUnauthorised):
            await reader.apply_config(cluster.at("worker-1"), await cluster.config("worker-1"))

    async def test_another_clusters_talosconfig_is_not_trusted(self, cluster: machines.Cluster) -> None:
        tool = talosctl.Talosctl(cluster.program)
        other = await tool.gen_config(
            "talosconfig", cluster="other", endpoint=cluster.api, secrets=await tool.gen_secrets()
        )

        with pytest.raises(talosctl.TalosUntrusted):
            await talosctl.Talosctl(cluster.program, talosconfig=other).version(cluster.at("cp-1"))

    async def test_an_expired_certificate_is_refused(self, cluster: machines.Cluster, tmp_path: pathlib.Path) -> None:
        late = await self._somebody(cluster, tmp_path, role="os:admin", ttl="1s")
        begun = datetime.datetime.now(datetime.UTC)

        async def expired() -> bool:
            return datetime.datetime.now(datetime.UTC) - begun > datetime.timedelta(seconds=2)

        await until(expired, "the certificate to expire")

        with pytest.raises(talosctl.TalosUnauthorised):
            await late.version(cluster.at("cp-1"))

    async def test_strangers_are_not_heard_after_maintenance(self, cluster: machines.Cluster) -> None:
        with pytest.raises(talosctl.TalosError):
            await cluster.stranger.version(cluster.here("cp-1"))

    async def test_nobody_is_there(self, cluster: machines.Cluster) -> None:
        with pytest.raises(talosctl.TalosUnreachable):
            await cluster.talos.version(
                talosctl.MachineTarget.of("127.71.254.254", endpoints=["127.71.254.254"]), timeout=10
            )

    async def _somebody(
        self, cluster: machines.Cluster, folder: pathlib.Path, *, role: str, ttl: str
    ) -> talosctl.Talosctl:
        path = folder / "talosconfig"
        with command.memory_file(cluster.talosconfig) as file:
            await command.run(
                [str(cluster.program), f"--talosconfig={file.path}", f"--endpoints={cluster.loopbacks['cp-1']}",
                 f"--nodes={cluster.loopbacks['cp-1']}", "config", "new", f"--roles={role}", f"--crt-ttl={ttl}",
                 str(path)],
                pass_fds=[file.fd],
            )  # fmt: skip
        return talosctl.Talosctl(cluster.program, talosconfig=Secret(path.read_bytes()))


class TestConfigs:
    async def test_a_dry_run_shows_the_difference_and_changes_nothing(self, cluster: machines.Cluster) -> None:
        config = await cluster.talos.machine_config(cluster.at("worker-1"))
        wanted = patched(config, lambda each: each["machine"].update(nodeLabels={"shown": "yes"}))

        answer = await cluster.talos.apply_config(cluster.at("worker-1"), wanted, dry_run=True)

        assert answer.diff is not None
        assert b"shown" in answer.diff.reveal()
        again = await cluster.talos.machine_config(cluster.at("worker-1"))
        assert b"shown" not in again.reveal()

    async def test_labels_and_taints_follow_the_config_at_once(
        self, cluster: machines.Cluster, client: kube.Client
    ) -> None:
        config = await cluster.talos.machine_config(cluster.at("worker-1"))
        change = {"nodeLabels": {"rack": "two"}, "nodeTaints": {"slow": "yes:NoSchedule"}}

        await cluster.talos.apply_config(
            cluster.at("worker-1"), patched(config, lambda each: each["machine"].update(change))
        )

        async def labelled() -> bool:
            node = await client.get("v1", "Node", "worker-1")
            taints = [taint["key"] for taint in node["spec"].get("taints", ())]
            return node["metadata"]["labels"].get("rack") == "two" and "slow" in taints

        await until(labelled, "the label and the taint")
        await cluster.talos.apply_config(cluster.at("worker-1"), config)

        async def gone() -> bool:
            node = await client.get("v1", "Node", "worker-1")
            return "rack" not in node["metadata"]["labels"] and not node["spec"].get("taints")

        await until(gone, "both to go with the config")

    async def test_a_tried_config_is_taken_back(self, cluster: machines.Cluster, client: kube.Client) -> None:
        config = await cluster.talos.machine_config(cluster.at("worker-1"))
        wanted = patched(config, lambda each: each["machine"].update(nodeLabels={"tried": "yes"}))

        await cluster.talos.apply_config(cluster.at("worker-1"), wanted, mode="try", try_timeout=4)

        async def label() -> str:
            return str((await client.get("v1", "Node", "worker-1"))["metadata"]["labels"].get("tried", ""))

        async def without() -> bool:
            return not await label()

        await until(label, "the tried label")
        await until(without, "the label to go again")

    async def test_a_staged_config_waits_for_a_reboot(self, cluster: machines.Cluster) -> None:
        config = await cluster.talos.machine_config(cluster.at("worker-1"))
        wanted = patched(config, lambda each: each["machine"].update(nodeLabels={"staged": "yes"}))

        await cluster.talos.apply_config(cluster.at("worker-1"), wanted, mode="staged")

        now = await cluster.talos.machine_config(cluster.at("worker-1"))
        later = await cluster.talos.machine_config(cluster.at("worker-1"), persistent=True)
        assert (b"staged" in now.reveal(), b"staged" in later.reveal()) == (False, True)
        await cluster.talos.apply_config(cluster.at("worker-1"), config)

    async def test_nonsense_is_refused(self, cluster: machines.Cluster) -> None:
        config = await cluster.talos.machine_config(cluster.at("worker-1"))
        wanted = patched(config, lambda each: each["machine"].update(kublet={}))

        with pytest.raises(talosctl.TalosRejected):
            await cluster.talos.apply_config(cluster.at("worker-1"), wanted)

    async def test_a_config_that_cannot_be_done_does_not_kill_the_machine(self, cluster: machines.Cluster) -> None:
        """Talos accepts networks that are none, and complains in its log."""
        config = await cluster.talos.machine_config(cluster.at("worker-1"))
        wanted = patched(config, lambda each: each["cluster"]["network"].update(podSubnets=["no network"]))

        await cluster.talos.apply_config(cluster.at("worker-1"), wanted)

        assert any("invalid Prefix" in line for line in await cluster.talos.dmesg(cluster.at("worker-1")))
        await cluster.talos.apply_config(cluster.at("worker-1"), config)


class TestKubernetes:
    async def test_talos_finds_the_cluster_healthy(self, cluster: machines.Cluster) -> None:
        health = await cluster.talos.health(cluster.at("cp-1"), wait=60)

        assert health.is_healthy, health.lines

    async def test_and_not_when_a_machine_is_off(self, cluster: machines.Cluster) -> None:
        await cluster.lab.machine("worker-1", "off")
        try:
            health = await cluster.talos.health(cluster.at("cp-1"), wait=4)
            assert not health.is_healthy
        finally:
            await cluster.lab.machine("worker-1", "on")
            await cluster.answers("worker-1")

    async def test_a_machine_that_was_cut_off_is_noticed_and_comes_back(
        self, cluster: machines.Cluster, client: kube.Client
    ) -> None:
        await cluster.lab.machine("worker-1", "off")

        async def state() -> str:
            return condition(await client.get("v1", "Node", "worker-1"), "Ready")

        async def unknown() -> bool:
            return await state() == "Unknown"

        async def back() -> bool:
            return await state() == "True"

        try:
            await until(unknown, "the controller manager to notice, after its grace period of 8 s")
        finally:
            await cluster.lab.machine("worker-1", "on")
        await until(back, "the node to be ready again")
        await cluster.answers("worker-1")

        async def routed() -> bool:
            try:
                await cluster.talos.version(cluster.at("worker-1"))
            except talosctl.TalosError:
                return False
            return True

        await until(routed, "the others to find it again")

    async def test_inline_manifests_are_applied_with_an_inventory(
        self, cluster: machines.Cluster, client: kube.Client
    ) -> None:
        found = await client.get("v1", "ConfigMap", "greeting", namespace="default")
        inventory = await client.get("v1", "ConfigMap", "talos-bootstrap-manifests-inventory", namespace="kube-system")

        (entry,) = found["metadata"]["managedFields"]
        assert (entry["manager"], entry["operation"]) == ("talos", "Apply")
        assert found["metadata"]["annotations"]["config.k8s.io/owning-inventory"]
        assert "default_greeting__ConfigMap" in inventory["data"]

    async def test_what_leaves_the_configs_is_pruned_by_an_upgrade_to_the_same_version(
        self, cluster: machines.Cluster, client: kube.Client
    ) -> None:
        """What deletes a CNI in reality: released from the configs, still in the inventory."""
        configs = {name: await cluster.talos.machine_config(cluster.at(name)) for name in ("cp-1", "cp-2", "cp-3")}
        for name, config in configs.items():
            without = patched(config, lambda each: each["cluster"].pop("inlineManifests"))
            await cluster.talos.apply_config(cluster.at(name), without)

        plan = await cluster.talos.upgrade_k8s(cluster.at("cp-1"), to="1.36.0", dry_run=True)
        assert any("greeting" in str(change) for change in plan.manifests), plan
        await client.get("v1", "ConfigMap", "greeting", namespace="default")

        await cluster.talos.upgrade_k8s(cluster.at("cp-1"), to="1.36.0", pull_first=False, timeout=120)
        with pytest.raises(kube.NotFound):
            await client.get("v1", "ConfigMap", "greeting", namespace="default")
        for name, config in configs.items():
            await cluster.talos.apply_config(cluster.at(name), config)

    async def test_flags_of_the_config_are_flags_of_the_control_plane(self, cluster: machines.Cluster) -> None:
        status = await cluster.lab.status()

        assert any("1.36.0" in note and "1.36.4" in note for note in status.notes), "the skew is said"
        (part,) = [part for part in status.parts if part.name == "kube-controller-manager"]
        flags = pathlib.Path(f"/proc/{part.pid}/cmdline").read_bytes().split(b"\0")
        assert b"--node-monitor-grace-period=8s" in flags

    async def test_the_api_server_follows_the_first_machine_that_lives(
        self, cluster: machines.Cluster, client: kube.Client
    ) -> None:
        await cluster.lab.machine("cp-1", "off")
        try:

            async def served() -> bool:
                try:
                    await client.get("v1", "Node", "cp-2")
                except errors.ClientError:
                    return False
                (part,) = [part for part in (await cluster.lab.status()).parts if part.name == "kube-apiserver"]
                flags = pathlib.Path(f"/proc/{part.pid}/cmdline").read_text()
                return f"--etcd-servers=https://{cluster.loopbacks['cp-2']}:2379" in flags

            await until(served, "the API server of cp-2", timeout=90)
        finally:
            await cluster.lab.machine("cp-1", "on")
            await cluster.answers("cp-1")
            await cluster.serves()

"""What ``audit --fix`` writes, carried through on a machine: it has what the repo makes of it."""

from pathlib import Path

from firstlight.execute import machine_configs
from firstlight.execute.world import RunPrograms, World
from firstlight.model.secret import Secret
from firstlight.render.machines import machine_drafts
from firstlight.repo import platform_reader
from tests import machines
from tests.integration.commands.audit.audited_clone import laid_out
from tests.integration.commands.audit.test_audit_fixes import BY_MACHINES


async def made(one: machines.Cluster, repo: Path, state: Path) -> Secret:
    """The config that a repo makes of its machine, with the cluster's own secrets; talosctl finds it valid."""
    platform = platform_reader.read(repo)
    (cluster,) = platform.clusters
    (draft,), _ = machine_drafts.machine_drafts(platform, cluster)

    async def secrets(reference: str = "") -> Secret:
        return one.secrets

    programs = RunPrograms(talosctl=one.program)
    world = World(cluster=cluster, programs=programs, resolve=secrets, state=state, talos_secrets=secrets)
    config = await machine_configs.bootstrap(draft, await machine_configs.make(draft, world), world)
    await machine_configs.validate({draft.machine.name: config}, world)
    return config


def services(config: Secret) -> dict[str, list[str]]:
    """The files of each extension's service in a machine config."""
    return {
        str(each["name"]): [file["content"] for file in each["configFiles"]]
        for each in machine_configs.documents(config)
        if each.get("kind") == "ExtensionServiceConfig"
    }


async def test_the_service_of_an_extension_has_its_config(fresh_machines: machines.Make, tmp_path: Path) -> None:
    one = await fresh_machines()
    repo = laid_out(tmp_path / "repo", repo="talos", API=one.api)
    await repo.begin()
    await repo.commit()
    target = one.here("cp-1")

    await one.stranger.apply_config(target, await made(one, repo.path, tmp_path / "before"))
    await one.answers("cp-1")
    assert services(await one.talos.machine_config(target)) == {}

    assert await repo.audit() == BY_MACHINES
    assert await repo.audit("--fix") == set()
    await one.talos.apply_config(target, await made(one, repo.path, tmp_path / "after"))

    assert services(await one.talos.machine_config(target)) == {"lldpd": ["configure lldp status rx-and-tx"]}

"""The lab in the place of Omni's server: machines as a template declares them, configured and bootstrapped.

What Omni does besides (machines that call in over SideroLink, images from its factory, its own patches) is not here.
"""

from pathlib import Path

import msgspec

from firstlight.clients import talosctl
from firstlight.lab import commission, directory
from firstlight.lab import settings as lab_settings
from firstlight.lab.lab import Lab
from firstlight.lab.machine_settings import Machine
from firstlight.lab.omni import configs
from firstlight.model.secret import Secret


def settings(resolved: configs.Resolved, base: lab_settings.Settings) -> lab_settings.Settings:
    """A lab with the machines of a template, which says where it comes from."""
    known = {machine.uuid: machine for machine in base.machines}
    taken = {machine.address for machine in known.values()}
    free = (address for n in range(2, 250) if (address := f"10.5.0.{n}") not in taken)
    machines = tuple(
        msgspec.structs.replace(known[each.uuid], name=each.name)
        if each.uuid in known
        else Machine(name=each.name, address=next(free), uuid=each.uuid)
        for each in resolved.machines
    )
    return msgspec.structs.replace(base, nodes=(), machines=machines, notes=resolved.notes)


async def take_charge(
    lab: Lab, resolved: configs.Resolved, program: Path, *, report: commission.Report
) -> tuple[str, ...]:
    """Give every machine its config, bootstrap the first control plane, keep a talosconfig; what there is to note.

    Run again, changed configs are applied, and nothing is bootstrapped twice.
    """
    client = talosctl.Talosctl(program)
    status = await lab.status()
    endpoint = f"https://{status.loopback}:6443"
    secrets = await _secrets(lab, client)
    made = await configs.make(resolved, client=client, secrets=secrets, endpoint=endpoint)
    talosconfig = await client.gen_config(
        "talosconfig", cluster=resolved.template.cluster.name, endpoint=endpoint, secrets=secrets
    )
    cluster = commission.Commission(lab, program, talosconfig, commission.machines_of(status), report=report)
    planes = [each.name for each in resolved.machines if each.role == "control-plane"]
    cluster.write_talosconfig(planes)
    await cluster.configure({each.name: made.by_machine[each.uuid] for each in resolved.machines})
    await cluster.bootstrap(planes[0])
    return made.notes


async def _secrets(lab: Lab, client: talosctl.Talosctl) -> Secret:
    """The cluster's secrets, made once: like the machines' own disks they live and go with the lab."""
    try:
        return Secret(lab.home.omni.read_bytes())
    except FileNotFoundError:
        fresh = await client.gen_secrets()
        directory.write_whole(lab.home.omni, fresh.reveal())
        return fresh

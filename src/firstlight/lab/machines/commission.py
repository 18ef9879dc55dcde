"""Bare machines of a lab made a cluster, by way of talosctl: what a person would type, or Omni's server would do."""

import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import yaml

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.lab import lab_directory
from firstlight.lab.lab_status import LabStatus, MachineStatus
from firstlight.lab.running_lab import Lab
from firstlight.model.secret import Secret

TIMEOUT = 120.0
"""Seconds for each wait: machines of a lab boot in one."""
POLL = 0.1

Report = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Commission:
    """A lab, its machines, and the administrator of the cluster that they become."""

    lab: Lab
    program: Path
    talosconfig: Secret
    machines: Mapping[str, MachineStatus]
    report: Report = lambda _: None

    @property
    def admin(self) -> talosctl.Talosctl:
        """Talks to machines that have a config."""
        return talosctl.Talosctl(self.program, talosconfig=self.talosconfig)

    def target(self, name: str) -> talosctl.MachineTarget:
        """A machine, through itself: where it really listens, whatever address it declares."""
        endpoint = self.machines[name].endpoint
        return talosctl.MachineTarget.of(endpoint.partition(":")[0], endpoints=[endpoint])

    def write_talosconfig(self, control_planes: Sequence[str]) -> None:
        """Keep the administrator's talosconfig in the lab; workers forward nothing, and are no endpoints."""
        text = yaml.load(self.talosconfig.reveal(), Loader=yaml.CSafeLoader)
        for context in text["contexts"].values():
            context["endpoints"] = [self.machines[name].endpoint for name in control_planes]
            context["nodes"] = [self.machines[control_planes[0]].address]
        lab_directory.write_whole(self.lab.home.talosconfig, yaml.dump(text, Dumper=yaml.CSafeDumper).encode())

    async def configure(self, configs: Mapping[str, Secret]) -> None:
        """Give machines their configs: bare ones without a certificate, others as their administrator.

        Returns when all of them run with them.
        """
        stranger = talosctl.Talosctl(self.program, insecure=True)
        for name, config in configs.items():
            if self.machines[name].stage == "maintenance":
                await stranger.apply_config(talosctl.MachineTarget.of(self.machines[name].endpoint), config)
                self.report(f"{name}: installs, and boots with its config")
            else:
                answer = await self.admin.apply_config(self.target(name), config)
                self.report(f"{name}: config applied, {answer.effect}")
        await asyncio.gather(*(self._wait_running(name) for name in configs))

    async def bootstrap(self, name: str) -> LabStatus:
        """Start etcd on a machine unless that was done, and wait for the control plane."""
        try:
            await self.admin.bootstrap(self.target(name))
            self.report(f"{name}: etcd bootstrapped")
        except talosctl.TalosAlreadyDone:
            self.report(f"{name}: etcd has data already")
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            status = await self.lab.status()
            if (
                any(part.name == "kube-apiserver" and part.state == "ready" for part in status.parts)
                and status.is_ready
            ):
                return status
            await asyncio.sleep(POLL)
        raise errors.LabError(
            f"the control plane of lab {self.lab.home.name} is not ready after {TIMEOUT:g} s",
            hint=f"What waits for what: firstlight lab status -n {self.lab.home.name}",
        )

    async def _wait_running(self, name: str) -> None:
        deadline = time.monotonic() + TIMEOUT
        last: talosctl.TalosError | None = None
        while time.monotonic() < deadline:
            try:
                if (await self.admin.machine_status(self.target(name))).stage == "running":
                    return
            except (
                talosctl.TalosUnreachable,
                talosctl.TalosUntrusted,
                talosctl.TalosNotReady,
                talosctl.TalosTimedOut,
            ) as error:
                last = error  # it still has the certificate of maintenance mode, or boots
            await asyncio.sleep(POLL)
        raise errors.LabError(
            f"{name} of lab {self.lab.home.name} does not run with its config after {TIMEOUT:g} s"
            + (f": {last}" if last else ""),
            hint=f"What it says: firstlight lab logs {name} -n {self.lab.home.name}",
        )


def machines_of(status: LabStatus) -> dict[str, MachineStatus]:
    """The machines of a lab by name."""
    return {machine.name: machine for machine in status.machines}

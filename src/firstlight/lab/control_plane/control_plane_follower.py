"""Runs the one control plane of a lab with machines, for the first live machine that has one.

Each control-plane machine says what its API server, controller manager and scheduler should be. The lab has one of
each and runs them as one machine says: the first of the address book, until it is gone or takes back its word; then
the next. When none is left, the control plane rests.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.lab import certificates, lab_directory, lab_settings, loopback_network
from firstlight.lab.control_plane import cluster_config, component_flags, control_plane_parts
from firstlight.lab.control_plane.cluster_config import ClusterConfig
from firstlight.lab.lab_status import State
from firstlight.lab.machines import machine_node, virtual_machines
from firstlight.lab.part_keeper import Keeper

NOT_YET = "waits for a bootstrap"
NOBODY = "waits for a live control-plane machine"
BACK_OFF = 10.0
"""Seconds after which a part that cannot start is tried again."""
LAST = "kube-apiserver"
"""What stops after all others, which speak to it."""


def choose(names: Sequence[str], able: Collection[str], *, current: str) -> str:
    """Whose control plane to run: still the same machine's if it can be, else the first one's; empty if nobody's."""
    if current in able:
        return current
    return next((name for name in names if name in able), "")


class ControlPlaneFollower:
    """The control plane of a lab with machines."""

    def __init__(
        self,
        home: lab_directory.LabDirectory,
        net: loopback_network.LoopbackNetwork,
        *,
        programs: Mapping[str, Path],
        keepers: Mapping[str, Keeper],
    ) -> None:
        self.home = home
        self.tls: ssl.SSLContext | None = None
        """How the parts are spoken to; nothing until their authority is known."""
        self.notes: tuple[str, ...] = ()
        self._net = net
        self._programs = programs
        self._keepers = keepers
        self._followed = ""
        self._config: ClusterConfig | None = None
        self._basis: tuple[int, ...] = ()
        """The age of the files that the control plane was built from."""
        self._stamps: dict[str, str] = {}
        self._live: tuple[dict[str, float], str] | None = None

    @property
    def followed(self) -> str:
        """The machine whose control plane runs; empty if none does."""
        return self._followed

    def write_files(self, wanted: lab_settings.LabSettings) -> None:
        """Write again what depends on the settings and may change while the control plane runs."""
        if self._config is not None:
            cluster_config.write_kubelet_files(self.home, wanted, self._config)

    async def look(self, wanted: lab_settings.LabSettings) -> None:
        """See which machines live and what they say, and act on it if it has changed."""
        names = [machine.name for machine in wanted.machines]
        live = {name: self._keepers[name].started for name in names if self._keepers[name].is_live}
        able = {name for name in live if (self.home.machine(name) / virtual_machines.CONTROL_PLANE).exists()}
        clusters = {name: self._cluster_of(name) for name in names if self._is_control_plane(name)}
        able = of_one_cluster(able, clusters, self._known_cluster())
        chosen = choose(names, able, current=self._followed)
        cluster = clusters.get(chosen, "") or self._known_cluster()
        if (live, cluster) != self._live:
            said = {"live": list(live), "since": live, "cluster": cluster}
            lab_directory.write_whole(self.home.live, msgspec.json.encode(said))
            self._live = (live, cluster)
        if not chosen:
            await self._rest(wanted)
            return
        basis = _ages(self.home.machine(chosen))
        if chosen != self._followed or basis != self._basis:
            try:
                await self._follow(chosen, wanted)
            except (errors.FirstlightError, OSError, ValueError) as error:
                await self.let_go(f"{chosen}: {error}")
            # What cannot be used is not tried again before it changes.
            self._followed, self._basis = chosen, basis
        for name in control_plane_parts.PARTS:
            # As a kubelet does with static pods: what is missing today, a quorum perhaps, may be back tomorrow.
            if self._keepers[name].failed_for > BACK_OFF:
                self._keepers[name].retry()

    async def let_go(self, why: str, *, idle: bool = False, at_once: bool = False) -> None:
        """Stop the control plane; the next look starts it again if it can."""
        self._followed, self._basis, self._stamps = "", (), {}
        state: State = "waiting" if why == NOT_YET else "resting"
        others = [self._keepers[name] for name in control_plane_parts.PARTS if name != LAST]
        await asyncio.gather(*(each.rest(why, state=state, idle=idle, at_once=at_once) for each in others))
        await self._keepers[LAST].rest(why, state=state, idle=idle, at_once=at_once)

    async def _rest(self, wanted: lab_settings.LabSettings) -> None:
        """Nobody has a control plane: not yet, or no longer, or for the moment."""
        planes = [machine.name for machine in wanted.machines if self._is_control_plane(machine.name)]
        has_been = bool(planes) and self.home.kubeconfig.exists()
        if not has_been:
            certificates.forget_cluster(self.home)
            self.notes, self._config = (), None
        why = NOBODY if has_been else NOT_YET
        # Where all of them were switched off, nothing is awaited.
        idle = not has_been or all(self._keepers[name].is_off for name in planes)
        status = self._keepers[LAST].status()
        if self._keepers[LAST].may_run or (status.detail, status.idle) != (why, idle):
            await self.let_go(why, idle=idle, at_once=True)

    def _known_cluster(self) -> str:
        """The cluster whose control plane the lab has run so far; empty before the first."""
        with contextlib.suppress(OSError):
            return (self.home.certificates / "cluster").read_text()
        return ""

    def _cluster_of(self, name: str) -> str:
        node = machine_node.read(self.home.machine(name))
        return node.cluster if node else ""

    def _is_control_plane(self, name: str) -> bool:
        node = machine_node.read(self.home.machine(name))
        return node is not None and node.role == "control-plane"

    async def _follow(self, name: str, wanted: lab_settings.LabSettings) -> None:
        moved = name != self._followed
        # Static pods die with their machine, and an API server without its etcd would not end by itself.
        at_once = moved and bool(self._followed)
        why = f"is prepared as {name} asks"
        if not self._followed:
            await self.let_go(why)
        folder = self.home.machine(name)
        address = next(machine.address for machine in wanted.machines if machine.name == name)
        asked = cluster_config.of_machine(folder / virtual_machines.CONTROL_PLANE, address=address)
        # So that talosctl and kubectl can be told where the API server really is.
        asked = msgspec.structs.replace(asked, names=(*asked.names, self._net.loopback))
        config, notes = await self._possible(asked)
        await asyncio.to_thread(certificates.adopt_authorities, folder / "pki", self.home.certificates)
        lab_directory.write_whole(self.home.certificates / "cluster", self._cluster_of(name).encode())
        parts = await asyncio.to_thread(
            control_plane_parts.build, self.home, self._net, wanted, self._programs, config=config
        )
        stamps = {part.name: part.stamp(self.home.run) for part in parts}
        # Those who remember what they have seen start anew when another machine's etcd answers.
        fresh = {LAST, *control_plane_parts.ACTORS} if moved else set()
        changed = [part for part in parts if part.name in fresh or stamps[part.name] != self._stamps.get(part.name)]
        await asyncio.gather(
            *(self._keepers[part.name].rest(why, at_once=at_once) for part in changed if part.name != LAST)
        )
        if any(part.name == LAST for part in changed):
            await self._keepers[LAST].rest(why, at_once=at_once)
        self.tls = tls(self.home)
        for part in changed:
            self._keepers[part.name].resume(part)
        self._config, self._stamps = config, stamps
        self.notes = (*cluster_config.skew(config, virtual_machines.kubernetes_version()), *notes)

    async def _possible(self, asked: ClusterConfig) -> tuple[ClusterConfig, list[str]]:
        """The config without what the lab's programs cannot do, and what is said of that."""
        components = {
            "kube-apiserver": asked.api_server,
            "kube-controller-manager": asked.controller_manager,
            "kube-scheduler": asked.scheduler,
        }
        usable = {name: component_flags.usable_flags(name, each.extra_args) for name, each in components.items()}
        answers = await asyncio.gather(
            *(
                component_flags.accepted_flags(self._programs[name], arguments)
                for name, (arguments, _) in usable.items()
            )
        )
        arguments = {name: answer[0] for name, answer in zip(components, answers, strict=True)}
        notes = [
            *(note for _, said in usable.values() for note in said),
            *(note for _, said in answers for note in said),
        ]
        wanted = asked.api_server.admission_plugins
        known = await component_flags.admission_plugins(self._programs["kube-apiserver"]) if wanted else frozenset()
        plugins, unknown = component_flags.usable_plugins(wanted, known)
        replace = msgspec.structs.replace
        config = replace(
            asked,
            api_server=replace(asked.api_server, extra_args=arguments["kube-apiserver"], admission_plugins=plugins),
            controller_manager=replace(asked.controller_manager, extra_args=arguments["kube-controller-manager"]),
            scheduler=replace(asked.scheduler, extra_args=arguments["kube-scheduler"]),
        )
        return config, [*notes, *unknown]


def of_one_cluster(able: set[str], clusters: Mapping[str, str], known: str) -> set[str]:
    """Those who may be followed: machines of the cluster that was there first, as long as one of its machines is left.

    A second cluster in the lab, by mistake or on purpose, has its etcd, and waits for its turn.
    """
    if known and known in clusters.values():
        return {name for name in able if clusters.get(name) == known}
    return able


def _ages(folder: Path) -> tuple[int, ...]:
    """When each of the files that a control plane is built from was written."""
    files = [folder / virtual_machines.CONTROL_PLANE, *sorted((folder / "pki").glob("*"))]
    ages = []
    for path in files:
        with contextlib.suppress(OSError):
            ages.append(path.stat().st_mtime_ns)
    return tuple(ages)


def tls(home: lab_directory.LabDirectory) -> ssl.SSLContext:
    """How the parts of a control plane are asked whether they are ready."""
    context = ssl.create_default_context(cafile=str(home.certificates / "ca.crt"))
    context.load_cert_chain(home.certificates / "admin.crt", home.certificates / "admin.key")
    return context

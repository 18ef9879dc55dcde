"""A snapshot tried: restored by a virtual Talos machine into a real etcd of its own, and compared key by key.

The machine has keys of its own, and no engine runs there: what the snapshot knows of the world outside meets nobody.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.commands.backup import etcd_database
from firstlight.commands.backup.backup_check import Try
from firstlight.commands.backup.etcd_database import EtcdContent
from firstlight.lab import lab_directory, lab_settings, running_lab
from firstlight.lab.machines import commission, machine_settings
from firstlight.lab.machines.commission import Commission
from firstlight.model.verdict import Failed, Passed, VerificationCheck
from firstlight.render import private_directory

MACHINE = "cp-1"
TIMEOUT = 120.0
"""Seconds for etcd to serve what it was restored from."""
POLL = 0.1


def trying(programs: Mapping[str, Path]) -> Try:
    """How a snapshot is tried with these programs: those of the lab, ``lab-machine`` and ``talosctl``."""

    async def tried(snapshot: Path, store: EtcdContent) -> VerificationCheck:
        begun = time.monotonic()
        try:
            with private_directory.create("etcd") as home:
                found = await _restored(snapshot, home, programs, until=store.revision)
        except (errors.FirstlightError, etcd_database.DamagedDatabase) as error:
            return VerificationCheck(name="restore", verdict=Failed(str(error)), seconds=time.monotonic() - begun)
        return VerificationCheck(name="restore", verdict=_compared(store, found), seconds=time.monotonic() - begun)

    return tried


def _compared(store: EtcdContent, found: EtcdContent) -> Passed | Failed:
    """Whether etcd has what the snapshot has, at the same revision; what was written since is not looked at."""
    if found.revision != store.revision:
        return Failed(f"etcd is at revision {found.revision}, and the snapshot at {store.revision}")
    lost = store.keys.keys() - found.keys.keys()
    others = [each for each in store.keys.keys() & found.keys.keys() if store.keys[each] != found.keys[each]]
    more = found.keys.keys() - store.keys.keys()
    if lost or others or more:
        return Failed(f"of {len(store.keys)} keys {len(lost)} are lost and {len(others)} differ; {len(more)} are new")
    return Passed(f"a real etcd serves all {len(store.keys)} keys at revision {store.revision}, byte by byte the same")


async def _restored(snapshot: Path, home: Path, programs: Mapping[str, Path], *, until: int) -> EtcdContent:
    one = running_lab.Lab(lab_directory.LabDirectory(home / "lab"))
    wanted = lab_settings.LabSettings(talos=machine_settings.TalosBehaviour(boot_seconds=0.1))
    try:
        await one.up(
            programs, settings=lab_settings.with_machines(wanted, control_planes=1, workers=0), owner=os.getpid()
        )
        made = await _configured(one, programs["talosctl"])
        target = made.target(MACHINE)
        await made.admin.bootstrap(target, recover_from=snapshot)
        await _serves(made)
        taken = await made.admin.etcd_snapshot(target, home / "again")
        return etcd_database.read(taken.path, until=until)
    finally:
        await one.down()


async def _configured(one: running_lab.Lab, program: Path) -> Commission:
    status = await one.status()
    api = f"https://{status.loopback}:6443"
    offline = talosctl.Talosctl(program)
    secrets = await offline.gen_secrets()
    talosconfig = await offline.gen_config("talosconfig", cluster="trial", endpoint=api, secrets=secrets)
    made = Commission(one, program, talosconfig, commission.machines_of(status))
    config = await offline.gen_config("controlplane", cluster="trial", endpoint=api, secrets=secrets)
    await made.configure({MACHINE: config})
    return made


async def _serves(made: Commission) -> None:
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            (own,) = await made.admin.etcd_status(made.target(MACHINE))
            if own.leader and not own.errors:
                return
            why = own.errors or "it has no leader"
        except talosctl.TalosError as error:
            why = error.detail
        if time.monotonic() >= deadline:
            raise errors.TimedOut(f"etcd does not serve the snapshot: {why}", target=MACHINE)
        await asyncio.sleep(POLL)

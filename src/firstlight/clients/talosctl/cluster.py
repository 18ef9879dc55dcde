"""What concerns a cluster as a whole: its first start, its kubeconfig, its health, the versions of Kubernetes."""

import re
from collections.abc import Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients.talosctl import errors as talos_errors
from firstlight.clients.talosctl import kubernetes_upgrade, units
from firstlight.clients.talosctl.program import GRACE, READ, WRITE, Listener, Program
from firstlight.clients.talosctl.target import Target, is_host
from firstlight.model import cluster_health
from firstlight.model import kubernetes_upgrade as upgrades
from firstlight.model.secret import Secret

RECOVER = 300.0
HEALTH = 60.0
UPGRADE = 30 * 60.0
RECONCILE = 300.0
"""Seconds for which talosctl waits by default until changed manifests are in force."""

_CHECK = re.compile(r"waiting for (?P<name>[^:]+): (?P<rest>.*)", re.DOTALL)
_VERSION = re.compile(r"v?\d+\.\d+\.\d+[A-Za-z0-9.+-]*")
_URL = re.compile(r"https://[A-Za-z0-9.:\[\]-]+")


class Cluster(Program):
    """The cluster behind a control-plane machine."""

    async def bootstrap(
        self, target: Target, *, recover_from: Path | None = None, skip_hash_check: bool = False, timeout: float = WRITE
    ) -> None:
        """Start etcd for the first time, on one machine; or again from a snapshot, when all is lost.

        Talos refuses this only on the same machine. On another one it makes a second cluster with the same keys.

        Args:
            target: The machine.
            recover_from: A snapshot to start from.
            skip_hash_check: Accept a snapshot without a checksum: a copy of a member's database.
            timeout: Seconds; with a snapshot there are five minutes at least.

        Raises:
            talos_errors.AlreadyDone: etcd has data there.
            talos_errors.NotReadyYet: The machine has not booted so far, or its time is not in sync.
        """
        options = []
        if recover_from is not None:
            if not recover_from.is_file():
                raise errors.UsageError(f"there is no snapshot {recover_from}")
            options.append(f"--recover-from={recover_from.absolute()}")
            options += ["--recover-skip-hash-check"] if skip_hash_check else []
            timeout = max(timeout, RECOVER)
        await self._ask(["bootstrap"], target, options=options, timeout=timeout, stays=recover_from is not None)

    async def kubeconfig(self, target: Target, *, timeout: float = READ) -> Secret:
        """An administrator's kubeconfig, made by a control-plane machine for this call."""
        done = await self._ask(["kubeconfig"], target, options=["--merge=false"], operands=["-"], timeout=timeout)
        if not done.stdout.strip():
            raise talos_errors.Unreadable(self._call(["kubeconfig"], target), detail="it printed nothing")
        return Secret(done.stdout)

    async def health(
        self,
        target: Target,
        *,
        wait: float = HEALTH,
        control_planes: Sequence[str] = (),
        workers: Sequence[str] = (),
        kubernetes_endpoint: str = "",
        from_here: bool = False,
        on_line: Listener | None = None,
    ) -> cluster_health.ClusterHealth:
        """Talos's own checks of a cluster. That it is not healthy is an answer; that nobody answers is an error.

        Args:
            target: A control-plane machine, which makes the checks.
            wait: Seconds until it must be healthy.
            control_planes: The machines that should be there; those that discovery knows if not given.
            workers: The same.
            kubernetes_endpoint: Where the Kubernetes API is, if not where the machines think.
            from_here: Make the checks from this computer instead.
            on_line: Called with each line as it comes.
        """
        for host in (*control_planes, *workers):
            if not is_host(host):
                raise errors.UsageError(f"{host[:80]!r} is not the address of a machine")
        options = [
            f"--wait-timeout={units.duration(wait)}",
            *([f"--control-plane-nodes={','.join(control_planes)}"] if control_planes else []),
            *([f"--worker-nodes={','.join(workers)}"] if workers else []),
            *([f"--k8s-endpoint={_url(kubernetes_endpoint)}"] if kubernetes_endpoint else []),
            *(["--server=false"] if from_here else []),
        ]
        reason, stderr = "", ""
        try:
            done = await self._ask(
                ["health"], target, options=options, timeout=wait + READ + GRACE, on_line=on_line, stays=True
            )
            stderr = done.stderr
        except talos_errors.TalosError as error:
            if not _checks(error.stderr):
                raise
            reason, stderr = error.detail, error.stderr
        return cluster_health.ClusterHealth(
            is_healthy=not reason, checks=_checks(stderr), reason=reason, lines=tuple(stderr.splitlines())
        )

    async def upgrade_k8s(
        self,
        target: Target,
        *,
        to: str,
        from_version: str = "",
        dry_run: bool = False,
        endpoint: str = "",
        kubelets: bool = True,
        pull_first: bool = True,
        prune: bool = True,
        force: bool = False,
        inventory_policy: upgrades.InventoryPolicy = "AdoptIfNoInventory",
        reconcile: float = RECONCILE,
        timeout: float = UPGRADE,
    ) -> upgrades.KubernetesUpgrade:
        """Bring Kubernetes to a version and Talos's manifests into force; only the latter if it has that version.

        With Talos 1.13 this deletes what the inventory has and the manifests have not, unless ``prune`` is off.

        Args:
            target: A control-plane machine.
            to: The version.
            from_version: The present version; the lowest that is found if not given.
            dry_run: Only say what would happen.
            endpoint: Where the Kubernetes API is, if not where the machines think.
            kubelets: Upgrade the kubelets, too.
            pull_first: Pull images before anything is changed.
            prune: Delete objects that are no longer in the manifests.
            force: Make objects anew whose changed fields are immutable.
            inventory_policy: Which objects of others may be taken over.
            reconcile: Seconds until the manifests must be in force; 0 does not wait.
            timeout: Seconds for all.
        """
        options = [
            f"--to={_version(to)}",
            *([f"--from={_version(from_version)}"] if from_version else []),
            *(["--dry-run"] if dry_run else []),
            *([f"--endpoint={_url(endpoint)}"] if endpoint else []),
            *([] if kubelets else ["--upgrade-kubelet=false"]),
            *([] if pull_first else ["--pre-pull-images=false"]),
            # What follows came with talosctl 1.13, so it is only said if it is not the default.
            *([] if prune else ["--manifests-no-prune"]),
            *(["--manifests-force"] if force else []),
            *([f"--manifests-inventory-policy={inventory_policy}"] if inventory_policy != "AdoptIfNoInventory" else []),
            *([f"--manifests-reconcile-timeout={units.duration(reconcile)}"] if reconcile != RECONCILE else []),
            "--with-docs=false",
            "--with-examples=false",
        ]
        done = await self._ask(["upgrade-k8s"], target, options=options, timeout=timeout, stays=True)
        return kubernetes_upgrade.parse(done.text, is_dry_run=dry_run)


def _checks(stderr: str) -> tuple[cluster_health.Check, ...]:
    """Each check in the last state that was told, in the order in which they were made."""
    found: dict[str, cluster_health.Check] = {}
    for line in stderr.splitlines():
        if match := _CHECK.fullmatch(line.strip()):
            found[match["name"]] = _check(match["name"], match["rest"])
    return tuple(found.values())


def _check(name: str, rest: str) -> cluster_health.Check:
    match rest:
        case "OK":
            return cluster_health.Check(name, "passed")
        case "SKIP":
            return cluster_health.Check(name, "skipped")
        case "...":
            return cluster_health.Check(name, "waiting")
        case _:
            return cluster_health.Check(name, "failing", rest)


def _version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise errors.UsageError(f"{text[:80]!r} is not a version of Kubernetes")
    return text.removeprefix("v")


def _url(text: str) -> str:
    if not _URL.fullmatch(text):
        raise errors.UsageError(f"{text[:80]!r} is not the address of a Kubernetes API", hint="https://10.5.0.2:6443")
    return text

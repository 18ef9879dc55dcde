"""What concerns a cluster as a whole: its first start, its kubeconfig, its health, the versions of Kubernetes."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients.talosctl import talos_errors, talosctl_output
from firstlight.clients.talosctl.machine_target import MachineTarget, is_host
from firstlight.clients.talosctl.talosctl_program import GRACE, READ, WRITE, Listener, TalosctlProgram
from firstlight.model import machine, upgrade_plan, versions
from firstlight.model.secret import MASK, Secret
from firstlight.model.upgrade_plan import ComponentUpdate, KubernetesUpgrade, ManifestAction, ManifestChange

RECOVER = 300.0
HEALTH = 60.0
UPGRADE = 30 * 60.0
RECONCILE = 300.0
"""Seconds for which talosctl waits by default until changed manifests are in force."""

_CHECK = re.compile(r"waiting for (?P<name>[^:]+): (?P<rest>.*)", re.DOTALL)
_URL = re.compile(r"https://[A-Za-z0-9.:\[\]-]+")


class ClusterCommands(TalosctlProgram):
    """The cluster behind a control-plane machine."""

    async def bootstrap(
        self,
        target: MachineTarget,
        *,
        recover_from: Path | None = None,
        skip_hash_check: bool = False,
        timeout: float = WRITE,
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

    async def kubeconfig(self, target: MachineTarget, *, timeout: float = READ) -> Secret:
        """An administrator's kubeconfig, made by a control-plane machine for this call."""
        done = await self._ask(["kubeconfig"], target, options=["--merge=false"], operands=["-"], timeout=timeout)
        if not done.stdout.strip():
            raise talos_errors.TalosUnreadable(self._call(["kubeconfig"], target), detail="it printed nothing")
        return Secret(done.stdout)

    async def health(
        self,
        target: MachineTarget,
        *,
        wait: float = HEALTH,
        control_planes: Sequence[str] = (),
        workers: Sequence[str] = (),
        kubernetes_endpoint: str = "",
        from_here: bool = False,
        on_line: Listener | None = None,
    ) -> machine.ClusterHealth:
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
            f"--wait-timeout={talosctl_output.format_duration(wait)}",
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
        return machine.ClusterHealth(
            is_healthy=not reason, checks=_checks(stderr), reason=reason, lines=tuple(stderr.splitlines())
        )

    async def upgrade_k8s(
        self,
        target: MachineTarget,
        *,
        to: str,
        from_version: str = "",
        dry_run: bool = False,
        endpoint: str = "",
        kubelets: bool = True,
        pull_first: bool = True,
        prune: bool = True,
        force: bool = False,
        inventory_policy: upgrade_plan.InventoryPolicy = "AdoptIfNoInventory",
        reconcile: float = RECONCILE,
        timeout: float = UPGRADE,
    ) -> upgrade_plan.KubernetesUpgrade:
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
            *(
                [f"--manifests-reconcile-timeout={talosctl_output.format_duration(reconcile)}"]
                if reconcile != RECONCILE
                else []
            ),
            "--with-docs=false",
            "--with-examples=false",
        ]
        done = await self._ask(["upgrade-k8s"], target, options=options, timeout=timeout, stays=True)
        return parse_kubernetes_upgrade(done.text, is_dry_run=dry_run)


def _checks(stderr: str) -> tuple[machine.HealthCheck, ...]:
    """Each check in the last state that was told, in the order in which they were made."""
    found: dict[str, machine.HealthCheck] = {}
    for line in stderr.splitlines():
        if match := _CHECK.fullmatch(line.strip()):
            found[match["name"]] = _check(match["name"], match["rest"])
    return tuple(found.values())


def _check(name: str, rest: str) -> machine.HealthCheck:
    match rest:
        case "OK":
            return machine.HealthCheck(name, "passed")
        case "SKIP":
            return machine.HealthCheck(name, "skipped")
        case "...":
            return machine.HealthCheck(name, "waiting")
        case _:
            return machine.HealthCheck(name, "failing", rest)


def _version(text: str) -> str:
    if not versions.is_upgrade_target(text):
        raise errors.UsageError(f"{text[:80]!r} is not a version of Kubernetes")
    return text.removeprefix("v")


def _url(text: str) -> str:
    if not _URL.fullmatch(text):
        raise errors.UsageError(f"{text[:80]!r} is not the address of a Kubernetes API", hint="https://10.5.0.2:6443")
    return text


# Reading what ``talosctl upgrade-k8s`` prints, which is for people only: line by line, patches by their own counts.


_STARTING = re.compile(r' > "(?P<node>[^"]+)": starting update')
_UPDATE = re.compile(r" > update (?P<component>\S+): (?P<before>\S+) -> (?P<after>\S+)")
_CHANGE = re.compile(r" < (?P<action>created|configured|unchanged|deleted|Pruned) (?P<subject>\S+)")
_SKIPPED = re.compile(r" > skipped (?P<subject>\S+): no changes")
_PROCESSING = re.compile(r" > processing manifest (?P<subject>\S+)")
_UNCHANGED = " < no changes"
_HUNK = re.compile(r"@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_SECRET = re.compile(r"(?:.*\.)?Secret/")
_ACTIONS: dict[str, ManifestAction] = {
    "created": "created",
    "configured": "configured",
    "unchanged": "unchanged",
    "deleted": "pruned",
    "Pruned": "pruned",
}


def parse_kubernetes_upgrade(printed: str, *, is_dry_run: bool) -> KubernetesUpgrade:
    """The updates and changes in what was printed; the text of it without the contents of Secrets."""
    node = ""
    updates: list[ComponentUpdate] = []
    changes: list[tuple[ManifestAction, str]] = []
    patches: list[list[str]] = []
    text: list[str] = []
    for line, in_patch in _lines(printed):
        if in_patch:
            hidden = bool(changes) and _SECRET.match(changes[-1][1]) is not None
            shown = f"{line[:1]} {MASK}" if hidden and not _is_heading(line) else line
            if patches:
                patches[-1].append(shown)
            text.append(shown)
            continue
        text.append(line)
        if match := _STARTING.fullmatch(line):
            node = match["node"]
        elif match := _UPDATE.fullmatch(line):
            updates.append(ComponentUpdate(match["component"], node, match["before"].removeprefix("v"), match["after"]))
        elif match := _CHANGE.fullmatch(line):
            changes.append((_ACTIONS[match["action"]], match["subject"]))
            patches.append([])
        elif match := _SKIPPED.fullmatch(line):
            changes.append(("unchanged", match["subject"]))
            patches.append([])
        elif match := _PROCESSING.fullmatch(line):
            changes.append(("changed", match["subject"]))
            patches.append([])
        elif line == _UNCHANGED and changes:
            changes[-1] = ("unchanged", changes[-1][1])
    return KubernetesUpgrade(
        is_dry_run=is_dry_run,
        updates=tuple(updates),
        manifests=tuple(
            ManifestChange(action, subject, "".join(f"{line}\n" for line in patch))
            for (action, subject), patch in zip(changes, patches, strict=True)
        ),
        text="\n".join(text),
    )


def _lines(printed: str) -> Iterator[tuple[str, bool]]:
    """Every line, and whether it is part of a patch: an object may contain what looks like a line of talosctl's."""
    old = new = 0
    for line in printed.splitlines():
        if old > 0 or new > 0:
            old -= line[:1] in {" ", "-", ""}
            new -= line[:1] in {" ", "+", ""}
            yield line, True
        elif match := _HUNK.match(line):
            old, new = (int(match[side]) if match[side] is not None else 1 for side in ("old", "new"))
            yield line, True
        else:
            yield line, line.startswith(("--- a/", "+++ b/", "\\ No newline"))


def _is_heading(line: str) -> bool:
    return line.startswith(("--- a/", "+++ b/", "@@ -", "\\ No newline"))

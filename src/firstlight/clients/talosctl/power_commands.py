"""What ends with a machine in another state: reboot, shutdown, reset, upgrade. One machine at a time.

With ``wait`` talosctl follows the machine until it is back and ready, or stopped; lines of its progress go to
``on_line``. Without, the request was accepted and no more.
"""

import re
import time
from collections.abc import Sequence
from typing import Literal

from firstlight import errors
from firstlight.clients.talosctl import talos_errors, talosctl_output
from firstlight.clients.talosctl.machine_target import MachineTarget
from firstlight.clients.talosctl.talosctl_program import GRACE, READ, WRITE, Listener, TalosctlProgram

RebootMode = Literal["default", "powercycle", "force"]
WipeMode = Literal["all", "system-disk", "user-disks"]

WAIT = 30 * 60.0
"""Seconds for which talosctl itself waits by default: servers take ten minutes to check their memory."""

INSTALL = 15 * 60.0
"""Seconds in which an image is pulled and installed: from Talos 1.13 on that is over before the reboot is asked for."""

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_DEVICE = re.compile(r"/dev/[A-Za-z0-9][A-Za-z0-9_./:-]*")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*")


class PowerCommands(TalosctlProgram):
    """Machines that go down, and mostly come up again."""

    async def reboot(
        self,
        target: MachineTarget,
        *,
        mode: RebootMode = "default",
        drain: bool = False,
        wait: bool = True,
        timeout: float = WAIT,
        on_line: Listener | None = None,
    ) -> None:
        """Reboot a machine."""
        options = [f"--mode={mode}", *(["--drain"] if drain else [])]
        await self._follow(["reboot"], target, options, wait=wait or drain, timeout=timeout, on_line=on_line)

    async def shutdown(
        self,
        target: MachineTarget,
        *,
        force: bool = False,
        wait: bool = True,
        timeout: float = WAIT,
        on_line: Listener | None = None,
    ) -> None:
        """Shut a machine down; with ``force`` without emptying its node first, for when Kubernetes is down."""
        options = ["--force"] if force else []
        await self._follow(["shutdown"], target, options, wait=wait, timeout=timeout, on_line=on_line)

    async def reset(
        self,
        target: MachineTarget,
        *,
        graceful: bool = True,
        reboot: bool = False,
        wipe: WipeMode = "all",
        system_labels: Sequence[str] = (),
        user_disks: Sequence[str] = (),
        wait: bool = True,
        timeout: float = WAIT,
        on_line: Listener | None = None,
    ) -> None:
        """Wipe a machine.

        Args:
            target: The machine.
            graceful: Let it empty its node and leave etcd first.
            reboot: Boot it again afterwards instead of shutting it down.
            wipe: What to wipe.
            system_labels: Only these partitions of the system disk, such as STATE and EPHEMERAL.
            user_disks: These disks, such as /dev/sdb.
            wait: Follow it until it stops, or is back.
            timeout: Seconds to wait.
            on_line: Called with each line of progress.
        """
        for label in system_labels:
            _check(label, _LABEL, "the label of a partition")
        for disk in user_disks:
            _check(disk, _DEVICE, "the path of a disk")
        options = [
            f"--graceful={_truth(graceful)}",
            f"--reboot={_truth(reboot)}",
            f"--wipe-mode={wipe}",
            *([f"--system-labels-to-wipe={','.join(system_labels)}"] if system_labels else []),
            *([f"--user-disks-to-wipe={','.join(user_disks)}"] if user_disks else []),
        ]
        await self._follow(["reset"], target, options, wait=wait, timeout=timeout, on_line=on_line, in_maintenance=True)

    async def upgrade(
        self,
        target: MachineTarget,
        image: str,
        *,
        mode: RebootMode = "default",
        drain: bool = True,
        drain_timeout: float | None = None,
        wait: bool = True,
        timeout: float = WAIT,
        on_line: Listener | None = None,
    ) -> None:
        """Install another version of Talos from an installer image, and reboot into it."""
        _check(image, _IMAGE, "the name of an image")
        options = [
            f"--image={image}",
            f"--reboot-mode={mode}",
            # talosctl below 1.13 does not know the option, and leaves the draining to the machine.
            *([] if drain else ["--drain=false"]),
            *(
                [f"--drain-timeout={talosctl_output.format_duration(drain_timeout)}"]
                if drain_timeout is not None
                else []
            ),
        ]
        await self._follow(
            ["upgrade"], target, options, wait=wait or drain, timeout=timeout, on_line=on_line, accepted=INSTALL
        )

    async def _follow(
        self,
        words: list[str],
        target: MachineTarget,
        options: list[str],
        *,
        wait: bool,
        timeout: float,
        on_line: Listener | None,
        in_maintenance: bool = False,
        accepted: float = WRITE,
    ) -> None:
        # A machine in maintenance mode cannot be followed: it tells no events.
        wait = wait and not self._insecure
        following = (
            ["--wait=true", f"--timeout={talosctl_output.format_duration(timeout)}"] if wait else ["--wait=false"]
        )
        started = time.monotonic()
        try:
            await self._ask(
                words,
                target,
                options=[*options, *following],
                timeout=timeout + READ + GRACE if wait else min(timeout, accepted),
                in_maintenance=in_maintenance,
                on_line=on_line,
                stays=True,
            )
        except talos_errors.TalosError as error:
            # talosctl gives up without a word, and its last line is the state that the machine stayed in.
            if wait and not error.grpc_code and time.monotonic() - started >= timeout:
                raise talos_errors.TalosTimedOut(
                    error.call,
                    detail=f"it is not done after {timeout:g} s; the last was: {error.detail}",
                    stderr=error.stderr,
                ) from error
            raise


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _check(text: str, pattern: re.Pattern[str], what: str) -> None:
    if not pattern.fullmatch(text):
        raise errors.UsageError(f"{text[:80]!r} is not {what}")

"""The machine that binaries are for: this one, in the words of Go and of release downloads."""

import dataclasses
import platform
import sys

from firstlight import errors

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "riscv64": "riscv64"}


@dataclasses.dataclass(frozen=True)
class Target:
    """An operating system and a processor, as GOOS and GOARCH name them."""

    system: str
    machine: str


def here() -> Target:
    """This machine.

    Raises:
        errors.ToolError: firstlight does not know this kind of machine.
    """
    machine = _MACHINES.get(platform.machine().lower())
    if machine is None or sys.platform not in {"linux", "darwin"}:
        raise errors.ToolError(f"firstlight does not run on {sys.platform} on {platform.machine()}")
    return Target(sys.platform, machine)

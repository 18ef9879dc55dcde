"""How the real git is run: with a clean environment, no configuration but ours, no hooks, and nothing left running."""

import os
from collections.abc import Mapping
from pathlib import Path

from firstlight.clients import command, program_path
from firstlight.clients.sandbox import limits

PUSH_LIMIT = 2 << 30
"""Bytes of one push."""
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "receive.autogc": "false",
    "receive.maxInputSize": str(PUSH_LIMIT),
    # As the large hosts do it: clients fetch a commit that they know from elsewhere, or a part of the content.
    "uploadpack.allowAnySHA1InWant": "true",
    "uploadpack.allowFilter": "true",
}


def argv(*arguments: str) -> list[str]:
    """A command line."""
    return ["git", *(part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")), *arguments]


def environment(scratch: Path, **more: str) -> dict[str, str]:
    """All that git gets to see of ours."""
    return {
        "PATH": program_path.clean(os.environ.get("PATH", os.defpath)),
        "HOME": str(scratch),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "firstlight lab",
        "GIT_AUTHOR_EMAIL": "lab@firstlight.invalid",
        "GIT_COMMITTER_NAME": "firstlight lab",
        "GIT_COMMITTER_EMAIL": "lab@firstlight.invalid",
        **more,
    }


async def run(
    *arguments: str, env: Mapping[str, str], stdin: bytes = b"", check: bool = True, timeout: float = 120
) -> command.Completed:
    """Run it to its end.

    Raises:
        errors.CommandFailed: It exited with an error, and ``check`` is set.
    """
    return await command.run(argv(*arguments), env=env, stdin=stdin, check=check, timeout=timeout, within=limits.READER)


def first_line(output: bytes) -> str:
    """What a command printed, when it printed one line."""
    return output.decode().strip()

"""What the lab's programs accept, by asking them: a flag that one does not know would keep it from starting."""

import re
from collections.abc import Mapping
from pathlib import Path

from firstlight.clients import command
from firstlight.clients.sandbox import limits

ROUNDS = 40
"""Flags and gates that may be wrong in one config; a round takes 0.1 s."""
_PLUGINS = re.compile(r"--enable-admission-plugins .*?admission plugins: ([\w, ]+)\.")
_UNKNOWN_FLAG = re.compile(r"unknown flag: --([\w-]+)")
_UNKNOWN_GATE = re.compile(r"unrecognized feature gate: (\w+)")

Arguments = dict[str, tuple[str, ...]]


async def filtered(program: Path, extra: Mapping[str, tuple[str, ...]]) -> tuple[Arguments, list[str]]:
    """The arguments without the flags and feature gates that a program does not know, and what is said of those."""
    kept, notes = dict(extra), list[str]()
    for _ in range(ROUNDS if extra else 0):
        # Programs parse their flags before they print their version, and name the first that they do not know.
        flags = [f"--{name}={value}" for name, values in kept.items() for value in values]
        answer = await command.run([str(program), *flags, "--version"], check=False, within=limits.READER)
        if match := _UNKNOWN_FLAG.search(answer.stderr):
            kept.pop(match[1], None)
            notes.append(f"{program.name}: it has no flag --{match[1]}, which is left out")
        elif match := _UNKNOWN_GATE.search(answer.stderr):
            kept = without_gate(kept, match[1])
            notes.append(f"{program.name}: it has no feature gate {match[1]}, which is left out")
        else:
            break  # all is well, or a value is wrong: the part will say so itself, as it does on a machine
    return kept, notes


def without_gate(extra: Mapping[str, tuple[str, ...]], gate: str) -> Arguments:
    """The same arguments without one feature gate."""
    gates = [each for value in extra.get("feature-gates", ()) for each in value.split(",")]
    kept = tuple(each for each in gates if each.partition("=")[0].rpartition(":")[2].strip() != gate)
    rest = {name: values for name, values in extra.items() if name != "feature-gates"}
    return {**rest, "feature-gates": kept} if kept else rest


async def admission_plugins(apiserver: Path) -> frozenset[str]:
    """The names of the admission plugins that an API server has."""
    text = (await command.run([str(apiserver), "--help"], within=limits.READER)).stdout.decode(errors="replace")
    match = _PLUGINS.search(text)
    return frozenset(match[1].split(", ") if match else ())

"""Commands that act on machines or fetch secrets: facts for later, no components."""

from collections.abc import Sequence

from firstlight.repo.scripts import flags
from firstlight.repo.scripts.commands.context import Reading
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.step import Role

_VALUED = flags.names(
    """
    -n --nodes -e --endpoints --talosconfig --context --account --vault -c --cluster --omniconfig --cluster-name
    --kubeconfig -f --file
    """
)
_LOOKS = {
    "talosctl": {"health", "get", "version", "logs", "dmesg", "read", "list", "ls", "services", "service", "dashboard",
                 "containers", "members", "etcd", "disks", "config", "validate", "stats", "time", "usage", "inspect"},
    "omnictl": {"get", "config", "download", "support"},
    "talhelper": {"validate"},
}  # fmt: skip
_PAIRS = flags.names(
    """
    cluster gen patch machineconfig etcd item connect document account vault config secret
    """
)
"""Subcommands that mean nothing without the next one."""
_SECRETS = {"op", "sops", "age", "vault", "bao", "bws", "doppler"}
PROGRAMS = {"talosctl", "talhelper", "omnictl", "topf"} | _SECRETS


def read(invocation: Invocation) -> Reading:
    """What such a command is for."""
    program = invocation.program
    words = _plain([word.text for word in invocation.words[1:]])
    verb = words[0] if words else ""
    if program == "sops":
        decrypts = any(
            word.text in ("-d", "--decrypt", "decrypt", "exec-env", "exec-file") for word in invocation.words
        )
        return Reading("sops decrypt" if decrypts else "sops", Role.SECRET)
    length = 3 if words[:2] == ["cluster", "template"] else 2 if verb in _PAIRS else 1
    name = " ".join(words[:length])
    if program in _SECRETS:
        return Reading(f"{program} {name}".strip(), Role.SECRET)
    is_look = verb in _LOOKS.get(program, set()) or name.endswith((" validate", " status", " info", " diff"))
    return Reading(f"{program} {name}".strip(), Role.GATE if is_look else Role.MACHINE)


def _plain(words: Sequence[str]) -> list[str]:
    """Words that are no flags, nor their values."""
    found: list[str] = []
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("-"):
            is_value = word in _VALUED
        else:
            found.append(word)
    return found

"""Flags of a machine config on the lab's own programs: which are taken, which are not, and how that is said.

Data in, data out; ``accepted_flags`` asks the programs themselves.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from firstlight.clients import command
from firstlight.clients.sandbox import program_limits

KEPT_FLAGS = {
    "kube-apiserver": frozenset(
        {"advertise-address", "bind-address", "secure-port", "etcd-servers", "etcd-cafile", "etcd-certfile",
         "etcd-keyfile", "tls-cert-file", "tls-private-key-file", "client-ca-file", "service-account-key-file",
         "service-account-signing-key-file", "requestheader-client-ca-file", "requestheader-allowed-names",
         "requestheader-username-headers", "requestheader-group-headers", "requestheader-extra-headers-prefix",
         "proxy-client-cert-file", "proxy-client-key-file", "kubelet-client-certificate", "kubelet-client-key",
         "kubelet-certificate-authority", "kubelet-preferred-address-types", "enable-aggregator-routing",
         "egress-selector-config-file", "audit-policy-file", "audit-log-path", "shutdown-delay-duration"}
    ),
    "kube-controller-manager": frozenset(
        {"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig", "bind-address", "secure-port",
         "tls-cert-file", "tls-private-key-file", "leader-elect", "root-ca-file", "cluster-signing-cert-file",
         "cluster-signing-key-file", "service-account-private-key-file", "use-service-account-credentials"}
    ),
    "kube-scheduler": frozenset(
        {"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig", "bind-address", "secure-port",
         "tls-cert-file", "tls-private-key-file", "leader-elect"}
    ),
}  # fmt: skip
"""What makes the lab work: addresses, certificates, the simulated network. A machine config does not change these."""

ADDED_FLAGS = frozenset(
    {"enable-admission-plugins", "feature-gates", "authorization-mode", "tls-cipher-suites", "controllers"}
)
"""Lists that Talos adds to instead of replacing them."""

_OF_FILES = re.compile(r"(.*-)?(file|dir|path|config|kubeconfig|keyfile|certfile|cafile|cert-key)s?")
"""Flags that name a file or a directory. One of a kubeconfig may name a command, also by a path that is relative."""


def flag_name(flag: str) -> str:
    """``x`` of ``--x=y``."""
    return flag.removeprefix("--").partition("=")[0]


def usable_flags(component: str, extra: Mapping[str, Sequence[str]]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The arguments of a machine config that can be meant on this machine, and what is said of the others."""
    taken: dict[str, tuple[str, ...]] = {}
    notes = []
    for name, values in extra.items():
        if name in KEPT_FLAGS[component]:
            notes.append(f"{component}: --{name} stays the lab's own")
        elif _OF_FILES.fullmatch(name) or any(value.startswith(("/", ".", "~")) or "/../" in value for value in values):
            notes.append(f"{component}: --{name} is left out, since it names a file of the machine")
        else:
            taken[name] = tuple(values)
    return taken, notes


def merge_flags(ours: Sequence[str], extra: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Our flags with those of a machine config in place of them, or added where they are lists."""
    merged = []
    for flag in ours:
        name = flag_name(flag)
        if name not in extra:
            merged.append(flag)
        elif name in ADDED_FLAGS:
            merged.append(f"{flag},{','.join(extra[name])}")
    there = {flag_name(flag) for flag in ours}
    for name, values in extra.items():
        if name in ADDED_FLAGS:
            merged += [] if name in there else [f"--{name}={','.join(values)}"]
        else:
            merged += [f"--{name}={value}" for value in values]
    return tuple(merged)


def usable_plugins(wanted: Sequence[str], known: Collection[str]) -> tuple[tuple[str, ...], list[str]]:
    """The admission plugins that the API server has, and what is said of the others."""
    notes = [f"kube-apiserver: it has no admission plugin {name}" for name in wanted if name not in known]
    return tuple(name for name in wanted if name in known), notes


# What the lab's programs accept, by asking them: a flag that one does not know would keep it from starting.


ROUNDS = 40
"""Flags and gates that may be wrong in one config; a round takes 0.1 s."""
_PLUGINS = re.compile(r"--enable-admission-plugins .*?admission plugins: ([\w, ]+)\.")
_UNKNOWN_FLAG = re.compile(r"unknown flag: --([\w-]+)")
_UNKNOWN_GATE = re.compile(r"unrecognized feature gate: (\w+)")

Arguments = dict[str, tuple[str, ...]]


async def accepted_flags(program: Path, extra: Mapping[str, tuple[str, ...]]) -> tuple[Arguments, list[str]]:
    """The arguments without the flags and feature gates that a program does not know, and what is said of those."""
    kept, notes = dict(extra), list[str]()
    for _ in range(ROUNDS if extra else 0):
        # Programs parse their flags before they print their version, and name the first that they do not know.
        flags = [f"--{name}={value}" for name, values in kept.items() for value in values]
        answer = await command.run([str(program), *flags, "--version"], check=False, within=program_limits.READER)
        if match := _UNKNOWN_FLAG.search(answer.stderr):
            kept.pop(match[1], None)
            notes.append(f"{program.name}: it has no flag --{match[1]}, which is left out")
        elif match := _UNKNOWN_GATE.search(answer.stderr):
            kept = without_feature_gate(kept, match[1])
            notes.append(f"{program.name}: it has no feature gate {match[1]}, which is left out")
        else:
            break  # all is well, or a value is wrong: the part will say so itself, as it does on a machine
    return kept, notes


def without_feature_gate(extra: Mapping[str, tuple[str, ...]], gate: str) -> Arguments:
    """The same arguments without one feature gate."""
    gates = [each for value in extra.get("feature-gates", ()) for each in value.split(",")]
    kept = tuple(each for each in gates if each.partition("=")[0].rpartition(":")[2].strip() != gate)
    rest = {name: values for name, values in extra.items() if name != "feature-gates"}
    return {**rest, "feature-gates": kept} if kept else rest


async def admission_plugins(apiserver: Path) -> frozenset[str]:
    """The names of the admission plugins that an API server has."""
    text = (await command.run([str(apiserver), "--help"], within=program_limits.READER)).stdout.decode(errors="replace")
    match = _PLUGINS.search(text)
    return frozenset(match[1].split(", ") if match else ())

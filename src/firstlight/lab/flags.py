"""Flags of a machine config on the lab's own programs: which are taken, which are not, and how that is said.

Data in, data out; ``accepted_flags`` asks the programs themselves.
"""

import re
from collections.abc import Collection, Mapping, Sequence

KEPT = {
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

ADDED = frozenset(
    {"enable-admission-plugins", "feature-gates", "authorization-mode", "tls-cipher-suites", "controllers"}
)
"""Lists that Talos adds to instead of replacing them."""

_OF_FILES = re.compile(r"(.*-)?(file|dir|path|config|kubeconfig|keyfile|certfile|cafile|cert-key)s?")
"""Flags that name a file or a directory. One of a kubeconfig may name a command, also by a path that is relative."""


def name_of(flag: str) -> str:
    """``x`` of ``--x=y``."""
    return flag.removeprefix("--").partition("=")[0]


def usable(component: str, extra: Mapping[str, Sequence[str]]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The arguments of a machine config that can be meant on this machine, and what is said of the others."""
    taken: dict[str, tuple[str, ...]] = {}
    notes = []
    for name, values in extra.items():
        if name in KEPT[component]:
            notes.append(f"{component}: --{name} stays the lab's own")
        elif _OF_FILES.fullmatch(name) or any(value.startswith(("/", ".", "~")) or "/../" in value for value in values):
            notes.append(f"{component}: --{name} is left out, since it names a file of the machine")
        else:
            taken[name] = tuple(values)
    return taken, notes


def merge(ours: Sequence[str], extra: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Our flags with those of a machine config in place of them, or added where they are lists."""
    merged = []
    for flag in ours:
        name = name_of(flag)
        if name not in extra:
            merged.append(flag)
        elif name in ADDED:
            merged.append(f"{flag},{','.join(extra[name])}")
    there = {name_of(flag) for flag in ours}
    for name, values in extra.items():
        if name in ADDED:
            merged += [] if name in there else [f"--{name}={','.join(values)}"]
        else:
            merged += [f"--{name}={value}" for value in values]
    return tuple(merged)


def plugins(wanted: Sequence[str], known: Collection[str]) -> tuple[tuple[str, ...], list[str]]:
    """The admission plugins that the API server has, and what is said of the others."""
    notes = [f"kube-apiserver: it has no admission plugin {name}" for name in wanted if name not in known]
    return tuple(name for name in wanted if name in known), notes

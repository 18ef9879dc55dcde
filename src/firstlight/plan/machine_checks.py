"""Machines that cannot be told apart or reached: names and addresses given twice, addresses that are none."""

import ipaddress
import re
from collections.abc import Iterator, Sequence

from firstlight.model.cluster import Cluster, Machine
from firstlight.model.diagnostic import Diagnostic, Severity

_HOST = re.compile(r"(?=.{1,253}$)(?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?")
_NUMBERS = re.compile(r"[\d.]+")
_OPEN = ("{", "$", "<", "%")
"""What is still to be filled in is not judged."""


def problems(clusters: Sequence[Cluster]) -> Iterator[Diagnostic]:
    """Yield what is wrong with the machines of each cluster."""
    for cluster in clusters:
        yield from _twice(cluster.machines)
        for machine in cluster.machines:
            if why := _why_not(machine.address):
                message = f"machine {machine.name} cannot have the address {machine.address}: {why}"
                fix = "Write the IP address or the host name at which Talos answers."
                yield Diagnostic.error("machine-address-wrong", message, at=machine.place, fix=fix)


def _twice(machines: Sequence[Machine]) -> Iterator[Diagnostic]:
    names: dict[str, Machine] = {}
    addresses: dict[str, Machine] = {}
    for machine in machines:
        first = names.setdefault(machine.name, machine)
        if first is not machine:
            yield Diagnostic(
                code="machine-name-twice",
                severity=_severity(first, machine),
                message=f"two machines are called {machine.name}, also at {first.place}",
                places=(machine.place,),
                fix="Give each machine its own name.",
            )
            continue
        holder = addresses.setdefault(machine.address, machine) if machine.address else machine
        if holder is not machine:
            yield Diagnostic(
                code="machine-address-twice",
                severity=_severity(holder, machine),
                message=f"machines {holder.name} and {machine.name} have the same address {machine.address}",
                places=(machine.place,),
                fix="Give each machine its own address.",
            )


def _severity(first: Machine, second: Machine) -> Severity:
    """Return an error where one file lists both; two files may be two views of one machine."""
    return Severity.ERROR if first.place.path == second.place.path else Severity.WARNING


def _why_not(address: str) -> str:
    if not address or any(each in address for each in _OPEN):
        return ""
    bare = address.partition("/")[0]
    try:
        known = ipaddress.ip_address(bare)
    except ValueError:
        if _NUMBERS.fullmatch(bare) or ":" in bare:
            return "it is not an IP address"
        return "" if _HOST.fullmatch(bare) else "it is neither an IP address nor a host name"
    if known.is_unspecified or known.is_multicast or known == ipaddress.ip_address("255.255.255.255"):
        return "no machine answers there"
    return ""

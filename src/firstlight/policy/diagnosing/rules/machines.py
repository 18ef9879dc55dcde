"""Machines: not reached, at another address, without a lease, not ours, without a disk or interface that they need."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.gates import hardware, status
from firstlight.model.machine_report import EtcdData, Standing
from firstlight.policy.diagnosing import found
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.machine_found import told
from firstlight.policy.diagnosing.scene import MachineSight, Scene

_NO_LEASE = re.compile(r"DHCP request/renew failed.*?\"link\": \"?(?P<link>[\w.-]+)|DHCP request/renew failed")


def standings(scene: Scene) -> Iterator[Found]:
    """Machines that do not answer, are somebody else's, or wait for a config though the cluster lives."""
    lives = scene.api.is_reached is True or any(each.report.etcd.data is EtcdData.SOME for each in scene.machines)
    for each in scene.machines:
        report = each.report
        if report.standing is Standing.ABSENT:
            yield _absent(each, scene)
        elif report.standing is Standing.FOREIGN:
            yield told(
                "machine-foreign",
                each,
                f"the machine {each.name} belongs to another cluster: {status.said(report.why)}",
                shown=report.why,
                next=found.command(f"talosctl -n {_at(each)} version --insecure", "what answers there"),
            )
        elif report.standing is Standing.MAINTENANCE and lives:
            yield told(
                "machine-in-maintenance",
                each,
                f"the machine {each.name} is in maintenance mode, without a config, though its cluster lives: it was "
                "wiped, replaced, or boots from another disk",
                shown=f"stage {report.stage or 'maintenance'}",
                next=found.command(
                    f"firstlight up {scene.cluster.name}", "configures it; data of other machines stays"
                ),
                needs=frozenset({f"disk of {each.name}", f"address of {each.name}"}),
            )


def _absent(sight: MachineSight, scene: Scene) -> Found:
    if not sight.machine.address:
        says = f"no address is declared for the machine {sight.name}, so that it cannot be asked"
        next_one = found.command("firstlight inventory", "which machines have an address")
        return told("machine-without-address", sight, says, shown=str(sight.machine.place), next=next_one)
    why = status.said(sight.report.why)
    says = (
        f"the machine {sight.name} does not answer at {sight.machine.address}{f' ({why})' if why else ''}: it is off, "
    )
    says += "has another address, or the way to port 50000 is closed"
    next_one = found.command(f"talosctl -n {sight.machine.address} version", "whether it answers now")
    needs = frozenset({f"address of {sight.name}"})
    return told("machine-unreachable", sight, says, shown=why or "no answer", next=next_one, needs=needs)


def _at(sight: MachineSight) -> str:
    return sight.machine.address


def other_addresses(scene: Scene) -> Iterator[Found]:
    """Machines whose node has another address than is declared."""
    for each in scene.cluster.machines:
        node = scene.one("/Node", each.name)
        has = [
            text(one, "address") for one in sequence(node, "status", "addresses") if text(one, "type") == "InternalIP"
        ]
        if node is None or not has or not each.address or not _is_address(each.address) or each.address in has:
            continue
        yield Found(
            rule="machine-address-differs",
            subject=f"machine {each.name}",
            says=f"the machine {each.name} is declared at {each.address} and runs at {', '.join(has)}: usually it got "
            "another lease from DHCP",
            evidence=(
                found.of_field(node, "status.addresses", ", ".join(has)),
                found.evidence(str(each.place), each.address),
            ),
            next=(found.command(f"talosctl -n {has[0]} get addresses", "which it has, and from whom"),),
            names=frozenset({f"address of {each.name}"}),
        )


def _is_address(written: str) -> bool:
    try:
        ipaddress.ip_address(written)
    except ValueError:
        return False
    return True


def leases(scene: Scene) -> Iterator[Found]:
    """Interfaces that ask for an address and get none."""
    for each in scene.machines:
        lines = [line for line in each.dmesg if "DHCP request/renew failed" in line]
        if not lines:
            continue
        match = _NO_LEASE.search(lines[-1])
        link = match["link"] if match and match["link"] else ""
        if any(_is_real(one.address) and (not link or one.link_name == link) for one in each.addresses):
            continue  # it has got one since
        yield told(
            "no-dhcp-lease",
            each,
            f"the machine {each.name} gets no address by DHCP{f' on {link}' if link else ''}",
            shown=lines[-1],
            next=found.command(f"talosctl -n {_at(each)} get addresses", "which it has meanwhile"),
            names=frozenset({f"address of {each.name}"}),
        )


def _is_real(address: str) -> bool:
    try:
        found_one = ipaddress.ip_interface(address).ip
    except ValueError:
        return False
    return not (found_one.is_link_local or found_one.is_loopback)


def parts(scene: Scene) -> Iterator[Found]:
    """Disks and interfaces that a config names and the machine does not have."""
    for each in scene.machines:
        documents = list(each.documents)
        if not documents and each.machine.install_disk:
            documents = [{"machine": {"install": {"disk": each.machine.install_disk}}}]
        is_bare = each.report.standing is Standing.MAINTENANCE or each.report.stage == "installing"
        for lack in hardware.missing(documents, disks=each.disks, links=each.links):
            is_disk = lack.startswith(("no disk", "there is no disk"))
            if (is_disk and (not is_bare or not each.disks)) or (not is_disk and not each.links):
                continue
            kind = "disks" if is_disk else "links"
            yield told(
                "install-disk-missing" if is_disk else "interface-missing",
                each,
                f"the machine {each.name}: {lack}",
                shown=lack,
                next=found.command(
                    f"talosctl -n {_at(each)} get {kind}{' --insecure' if is_bare else ''}", "what it has"
                ),
                names=frozenset({f"{'disk' if is_disk else 'address'} of {each.name}"}),
            )
        if is_bare:
            yield from _ambiguous(each, documents)


def _ambiguous(sight: MachineSight, documents: list[Mapping[str, Any]]) -> Iterator[Found]:
    for document in documents:
        selector = mapping(document, "machine", "install", "diskSelector")
        fits = [
            each.dev_path
            for each in sight.disks
            if not each.readonly and not each.cdrom and hardware.matches(selector, each)
        ]
        if selector and len(fits) > 1:
            yield told(
                "install-disk-ambiguous",
                sight,
                f"the machine {sight.name}: its diskSelector fits {len(fits)} disks ({', '.join(fits)})",
                shown=", ".join(f"{key}: {value}" for key, value in selector.items()),
                next=found.command(f"talosctl -n {_at(sight)} get disks --insecure", "by what they differ"),
            )

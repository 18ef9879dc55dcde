"""What is found of a machine: it is named for it, and shows what the machine said."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import symptoms
from firstlight.commands.doctor.symptoms import NextCommand, Symptom
from firstlight.document import conditions
from firstlight.document.within import mapping, sequence, text
from firstlight.gates import hardware
from firstlight.model.machine_report import EtcdData, MachineStanding
from firstlight.observe.cluster.observation import ClusterObservation, MachineObservation


def machine_finding(
    code: str,
    sight: MachineObservation,
    message: str,
    *,
    shown: str,
    next: NextCommand,
    needs: frozenset[str] = frozenset(),
    names: frozenset[str] = frozenset(),
    since: float | None = None,
) -> Symptom:
    """A symptom of a machine; its node has it too."""
    return symptoms.symptom(
        code=code,
        subject=f"machine {sight.name}",
        message=message,
        evidence=(symptoms.evidence(f"machine {sight.name}", shown),),
        next=(next,),
        since=since,
        names=names,
        needs=needs,
    )


# Machines: not reached, at another address, without a lease, not ours, without a disk or interface that they need.


_KUBELET_CSR = "kubelet-csr"
"""What Talos calls a kubelet whose certificate nobody approves."""
_NO_LEASE = re.compile(r"DHCP request/renew failed.*?\"link\": \"?(?P<link>[\w.-]+)|DHCP request/renew failed")


def standings(scene: ClusterObservation) -> Iterator[Symptom]:
    """Machines that do not answer, are somebody else's, or wait for a config though the cluster lives."""
    lives = scene.api.is_reached is True or any(each.report.etcd.data is EtcdData.SOME for each in scene.machines)
    for each in scene.machines:
        report = each.report
        if report.standing is MachineStanding.ABSENT:
            yield _absent(each, scene)
        elif report.standing is MachineStanding.FOREIGN:
            yield machine_finding(
                "machine-foreign",
                each,
                f"the machine {each.name} belongs to another cluster: {conditions.said(report.why)}",
                shown=report.why,
                next=symptoms.command(f"talosctl -n {_at(each)} version --insecure", "what answers there"),
            )
        elif report.standing is MachineStanding.MAINTENANCE and lives:
            yield machine_finding(
                "machine-in-maintenance",
                each,
                f"the machine {each.name} is in maintenance mode, without a config, though its cluster lives: it was "
                "wiped, replaced, or boots from another disk",
                shown=f"stage {report.stage or 'maintenance'}",
                next=symptoms.command(
                    f"firstlight up {scene.cluster.name}", "configures it; data of other machines stays"
                ),
                needs=frozenset({f"disk of {each.name}", f"address of {each.name}"}),
            )


def _absent(sight: MachineObservation, scene: ClusterObservation) -> Symptom:
    if not sight.machine.address:
        message = f"no address is declared for the machine {sight.name}, so that it cannot be asked"
        next_one = symptoms.command("firstlight inventory", "which machines have an address")
        return machine_finding("machine-without-address", sight, message, shown=str(sight.machine.place), next=next_one)
    why = conditions.said(sight.report.why)
    message = (
        f"the machine {sight.name} does not answer at {sight.machine.address}{f' ({why})' if why else ''}: it is off, "
    )
    message += "has another address, or the way to port 50000 is closed"
    next_one = symptoms.command(f"talosctl -n {sight.machine.address} version", "whether it answers now")
    needs = frozenset({f"address of {sight.name}"})
    return machine_finding("machine-unreachable", sight, message, shown=why or "no answer", next=next_one, needs=needs)


def _at(sight: MachineObservation) -> str:
    return sight.machine.address


def other_addresses(scene: ClusterObservation) -> Iterator[Symptom]:
    """Machines whose node has another address than is declared."""
    for each in scene.cluster.machines:
        node = scene.one("/Node", each.name)
        has = [
            text(one, "address") for one in sequence(node, "status", "addresses") if text(one, "type") == "InternalIP"
        ]
        if node is None or not has or not each.address or not _is_address(each.address) or each.address in has:
            continue
        yield symptoms.symptom(
            code="machine-address-differs",
            subject=f"machine {each.name}",
            message=f"the machine {each.name} is declared at {each.address} and runs at {', '.join(has)}: "
            "usually it got another lease from DHCP",
            evidence=(
                symptoms.of_field(node, "status.addresses", ", ".join(has)),
                symptoms.evidence(str(each.place), each.address),
            ),
            next=(symptoms.command(f"talosctl -n {has[0]} get addresses", "which it has, and from whom"),),
            names=frozenset({f"address of {each.name}"}),
        )


def _is_address(written: str) -> bool:
    try:
        ipaddress.ip_address(written)
    except ValueError:
        return False
    return True


def leases(scene: ClusterObservation) -> Iterator[Symptom]:
    """Interfaces that ask for an address and get none."""
    for each in scene.machines:
        lines = [line for line in each.dmesg if "DHCP request/renew failed" in line]
        if not lines:
            continue
        match = _NO_LEASE.search(lines[-1])
        link = match["link"] if match and match["link"] else ""
        if any(_is_real(one.address) and (not link or one.link_name == link) for one in each.addresses):
            continue  # it has got one since
        yield machine_finding(
            "no-dhcp-lease",
            each,
            f"the machine {each.name} gets no address by DHCP{f' on {link}' if link else ''}",
            shown=lines[-1],
            next=symptoms.command(f"talosctl -n {_at(each)} get addresses", "which it has meanwhile"),
            names=frozenset({f"address of {each.name}"}),
        )


def _is_real(address: str) -> bool:
    try:
        found_one = ipaddress.ip_interface(address).ip
    except ValueError:
        return False
    return not (found_one.is_link_local or found_one.is_loopback)


def parts(scene: ClusterObservation) -> Iterator[Symptom]:
    """Disks and interfaces that a config names and the machine does not have."""
    for each in scene.machines:
        documents = list(each.documents)
        if not documents and each.machine.install_disk:
            documents = [{"machine": {"install": {"disk": each.machine.install_disk}}}]
        is_bare = each.report.standing is MachineStanding.MAINTENANCE or each.report.stage == "installing"
        for lack in hardware.missing(documents, disks=each.disks, links=each.links):
            is_disk = lack.startswith(("no disk", "there is no disk"))
            if (is_disk and (not is_bare or not each.disks)) or (not is_disk and not each.links):
                continue
            kind = "disks" if is_disk else "links"
            yield machine_finding(
                "install-disk-missing" if is_disk else "interface-missing",
                each,
                f"the machine {each.name}: {lack}",
                shown=lack,
                next=symptoms.command(
                    f"talosctl -n {_at(each)} get {kind}{' --insecure' if is_bare else ''}", "what it has"
                ),
                names=frozenset({f"{'disk' if is_disk else 'address'} of {each.name}"}),
            )
        if is_bare:
            yield from _ambiguous(each, documents)


def _ambiguous(sight: MachineObservation, documents: list[Mapping[str, Any]]) -> Iterator[Symptom]:
    for document in documents:
        selector = mapping(document, "machine", "install", "diskSelector")
        fits = [
            each.dev_path
            for each in sight.disks
            if not each.readonly and not each.cdrom and hardware.matches(selector, each)
        ]
        if selector and len(fits) > 1:
            yield machine_finding(
                "install-disk-ambiguous",
                sight,
                f"the machine {sight.name}: its diskSelector fits {len(fits)} disks ({', '.join(fits)})",
                shown=", ".join(f"{key}: {value}" for key, value in selector.items()),
                next=symptoms.command(f"talosctl -n {_at(sight)} get disks --insecure", "by what they differ"),
            )


# What runs on a machine besides Kubernetes: services and extensions of Talos, its clock, its disk, its warnings.


_SKEW = 10.0
"""Seconds: less is corrected without anybody noticing; certificates and etcd leases suffer from more."""
_FULL = re.compile(r"no space left on device", re.IGNORECASE)
_BOOT_MINUTES = 70
"""How long Talos waits for all services before the boot has failed (``BootTimeout`` of its constants)."""
_WAITS_FOR_CONFIG = "Waiting for extension service config"


def services(scene: ClusterObservation) -> Iterator[Symptom]:
    """Services of Talos that do not run; extensions such as lldpd that wait for their config."""
    for each in scene.machines:
        for service in each.services:
            if service.id == "etcd":  # other rules speak of it
                continue
            name = service.id.removeprefix("ext-")
            ago = service.last_change or 0.0
            said = f"{service.id}: {service.state}: {service.last_event}"
            logs = symptoms.command(f"talosctl -n {each.machine.address} logs {service.id}", "what it says")
            since = scene.now - ago if service.last_change is not None else None
            if _WAITS_FOR_CONFIG in service.last_event and service.state == "Waiting" and ago >= scene.patience:
                yield machine_finding(
                    "extension-waits",
                    each,
                    f"the extension {name} of {each.name} waits for its config, and the machine stays in its boot: it "
                    f"needs a document ExtensionServiceConfig with the name {name}. Talos gives up the boot after "
                    f"{_BOOT_MINUTES} minutes and restarts the machine, again and again",
                    shown=said,
                    next=symptoms.command(
                        f"talosctl -n {each.machine.address} service {service.id}", "what it waits for"
                    ),
                    since=since,
                )
            elif service.state == "Failed" or (service.is_healthy is False and ago >= scene.patience):
                is_extension = service.id.startswith("ext-")
                yield machine_finding(
                    "extension-failed" if is_extension else "service-failed",
                    each,
                    f"{'the extension' if is_extension else 'the service'} {name} of {each.name} "
                    f"{'fails' if service.state == 'Failed' else 'is not healthy'}: "
                    f"{conditions.said(service.last_event)}",
                    shown=said,
                    next=logs,
                    since=since,
                    needs=frozenset({symptoms.ETCD, symptoms.API, symptoms.TIME}),
                )


def clocks(scene: ClusterObservation) -> Iterator[Symptom]:
    """Machines with another time than everybody else."""
    for each in scene.machines:
        if each.clock is not None and abs(each.clock.offset) >= _SKEW:
            offset = each.clock.offset
            yield machine_finding(
                "clock-skew",
                each,
                f"the clock of {each.name} is {abs(offset):.0f} seconds {'ahead' if offset > 0 else 'behind'}: "
                "certificates are refused, and etcd loses its leader",
                shown=f"{symptoms.written(each.clock.node_time.timestamp())} here, "
                f"{symptoms.written(each.clock.server_time.timestamp())} at {each.clock.server}",
                next=symptoms.command(f"talosctl -n {each.machine.address} time", "against which server it is set"),
                names=frozenset({symptoms.TIME}),
            )


def full_disks(scene: ClusterObservation) -> Iterator[Symptom]:
    """Machines whose disk is full."""
    for each in scene.machines:
        lines = [line for line in each.dmesg if _FULL.search(line)]
        node = scene.one("/Node", each.name)
        if lines and (node is None or conditions.is_true(node, "DiskPressure")):
            yield machine_finding(
                "disk-full",
                each,
                f"the disk of {each.name} is full",
                shown=lines[-1],
                next=symptoms.command(f"talosctl -n {each.machine.address} mounts", "which one is full"),
            )


def warnings(scene: ClusterObservation) -> Iterator[Symptom]:
    """What Talos itself warns of."""
    for each in scene.machines:
        for warning in each.diagnostics:
            details = "; ".join(warning.details)
            yield symptoms.symptom(
                code="talos-warning",
                subject=f"machine {each.name}: {conditions.said(warning.message)}",
                message=f"{each.name}: "
                f"{conditions.said(warning.message)}{f' ({conditions.said(details)})' if details else ''}",
                evidence=(
                    symptoms.evidence(f"machine {each.name}, diagnostics", f"{warning.message} {details}".strip()),
                ),
                next=(symptoms.command(f"talosctl -n {each.machine.address} get diagnostics", "all warnings"),),
                names=symptoms.names(f"Node {each.name}" if warning.id == _KUBELET_CSR else ""),
                needs=symptoms.names(f"Node {each.name}" if warning.id == _KUBELET_CSR else ""),
            )


def kubelet_certificates(scene: ClusterObservation) -> Iterator[Symptom]:
    """Kubelets whose own certificate has expired, so that the API no longer knows them."""
    for each in scene.machines:
        lines = [
            line
            for line in each.dmesg
            if "kubelet" in line and re.search(r"certificate.{0,80}(has expired|is expired)", line)
        ]
        if lines:
            yield machine_finding(
                "kubelet-certificate-expired",
                each,
                f"the certificate by which the kubelet of {each.name} is known to the API has expired",
                shown=lines[-1],
                next=symptoms.command(
                    f"talosctl -n {each.machine.address} service kubelet restart", "it asks for a new one"
                ),
                names=frozenset({f"Node {each.name}"}),
                needs=frozenset({symptoms.TIME}),
            )

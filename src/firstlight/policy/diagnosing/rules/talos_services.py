"""What runs on a machine besides Kubernetes: services and extensions of Talos, its clock, its disk, its warnings."""

import re
from collections.abc import Iterator

from firstlight.gates import status
from firstlight.policy.diagnosing import found
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.machine_found import told
from firstlight.policy.diagnosing.scene import Scene

_SKEW = 10.0
"""Seconds: less is corrected without anybody noticing; certificates and etcd leases suffer from more."""
_FULL = re.compile(r"no space left on device", re.IGNORECASE)
_WAITS_FOR_CONFIG = "Waiting for extension service config"


def services(scene: Scene) -> Iterator[Found]:
    """Services of Talos that do not run; extensions such as lldpd that wait for their config."""
    for each in scene.machines:
        for service in each.services:
            if service.id == "etcd":  # other rules speak of it
                continue
            name = service.id.removeprefix("ext-")
            ago = service.last_change or 0.0
            said = f"{service.id}: {service.state}: {service.last_event}"
            logs = found.command(f"talosctl -n {each.machine.address} logs {service.id}", "what it says")
            since = scene.now - ago if service.last_change is not None else None
            if _WAITS_FOR_CONFIG in service.last_event and service.state == "Waiting" and ago >= scene.patience:
                yield told(
                    "extension-waits",
                    each,
                    f"the extension {name} of {each.name} waits for its config, and the machine stays in its boot: it "
                    f"needs a document ExtensionServiceConfig with the name {name}",
                    shown=said,
                    next=found.command(f"talosctl -n {each.machine.address} service {service.id}", "what it waits for"),
                    since=since,
                )
            elif service.state == "Failed" or (service.is_healthy is False and ago >= scene.patience):
                is_extension = service.id.startswith("ext-")
                yield told(
                    "extension-failed" if is_extension else "service-failed",
                    each,
                    f"{'the extension' if is_extension else 'the service'} {name} of {each.name} "
                    f"{'fails' if service.state == 'Failed' else 'is not healthy'}: {status.said(service.last_event)}",
                    shown=said,
                    next=logs,
                    since=since,
                    needs=frozenset({found.ETCD, found.API, found.TIME}),
                )


def clocks(scene: Scene) -> Iterator[Found]:
    """Machines with another time than everybody else."""
    for each in scene.machines:
        if each.clock is not None and abs(each.clock.offset) >= _SKEW:
            offset = each.clock.offset
            yield told(
                "clock-skew",
                each,
                f"the clock of {each.name} is {abs(offset):.0f} seconds {'ahead' if offset > 0 else 'behind'}: "
                "certificates are refused, and etcd loses its leader",
                shown=f"{found.written(each.clock.node_time.timestamp())} here, "
                f"{found.written(each.clock.server_time.timestamp())} at {each.clock.server}",
                next=found.command(f"talosctl -n {each.machine.address} time", "against which server it is set"),
                names=frozenset({found.TIME}),
            )


def full_disks(scene: Scene) -> Iterator[Found]:
    """Machines whose disk is full."""
    for each in scene.machines:
        lines = [line for line in each.dmesg if _FULL.search(line)]
        node = scene.one("/Node", each.name)
        if lines and (node is None or status.is_true(node, "DiskPressure")):
            yield told(
                "disk-full",
                each,
                f"the disk of {each.name} is full",
                shown=lines[-1],
                next=found.command(f"talosctl -n {each.machine.address} mounts", "which one is full"),
            )


def warnings(scene: Scene) -> Iterator[Found]:
    """What Talos itself warns of."""
    for each in scene.machines:
        for warning in each.diagnostics:
            details = "; ".join(warning.details)
            yield Found(
                rule="talos-warning",
                subject=f"machine {each.name}: {status.said(warning.message)}",
                says=f"{each.name}: {status.said(warning.message)}{f' ({status.said(details)})' if details else ''}",
                evidence=(found.evidence(f"machine {each.name}, diagnostics", f"{warning.message} {details}".strip()),),
                next=(found.command(f"talosctl -n {each.machine.address} get diagnostics", "all warnings"),),
                names=frozenset({f"Node {each.name}"}) if "kubelet" in warning.message.lower() else frozenset(),
                needs=found.names(f"Node {each.name}" if "CSR" in warning.message else ""),
            )


def kubelet_certificates(scene: Scene) -> Iterator[Found]:
    """Kubelets whose own certificate has expired, so that the API no longer knows them."""
    for each in scene.machines:
        lines = [
            line
            for line in each.dmesg
            if "kubelet" in line and re.search(r"certificate.{0,80}(has expired|is expired)", line)
        ]
        if lines:
            yield told(
                "kubelet-certificate-expired",
                each,
                f"the certificate by which the kubelet of {each.name} is known to the API has expired",
                shown=lines[-1],
                next=found.command(
                    f"talosctl -n {each.machine.address} service kubelet restart", "it asks for a new one"
                ),
                names=frozenset({f"Node {each.name}"}),
                needs=frozenset({found.TIME}),
            )

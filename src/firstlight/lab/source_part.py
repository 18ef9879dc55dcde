"""The sources of a lab as one of its parts: Git, OCI and Helm repositories for those who live in it."""

from firstlight.clients import interpreter
from firstlight.lab import directory
from firstlight.lab import network as networks
from firstlight.lab.part import Part, Probe

NAME = "sources"


def part(home: directory.Directory, net: networks.Network) -> Part:
    """How they are started; what they hold is kept, as etcd's data is."""
    ready = home.run / "sources.ready"
    return Part(
        name=NAME,
        what=f"Git, OCI and Helm repositories, ports {net.git}, {net.registry} and {net.charts}",
        reality="simulated",
        argv=interpreter.module(
            "firstlight.lab.sources",
            f"--home={home.sources}",
            f"--address={net.loopback}",
            f"--git-port={net.git}",
            f"--oci-port={net.registry}",
            f"--charts-port={net.charts}",
            f"--control={home.sources_control}",
            f"--ready={ready}",
        ),
        probe=Probe(mark=ready, what="its servers to listen"),
        stale=(ready,),
    )

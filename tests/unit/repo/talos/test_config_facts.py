"""What is known of a machine from pieces of its config."""

import hypothesis
import pytest
from hypothesis import strategies

from firstlight.model.cluster import MachineRole
from firstlight.repo.talos import config_facts
from firstlight.repo.talos.config_facts import MachineFacts

FACTS = strategies.builds(
    MachineFacts,
    hostname=strategies.sampled_from(["", "a", "b"]),
    role=strategies.sampled_from([None, *MachineRole]),
    extensions=strategies.sampled_from([(), ("x",)]),
)


@hypothesis.given(FACTS, FACTS, FACTS)
def test_putting_facts_over_each_other_is_associative_and_has_a_neutral(
    a: MachineFacts, b: MachineFacts, c: MachineFacts
) -> None:
    assert a.over(b).over(c) == a.over(b.over(c))
    assert a.over(MachineFacts()) == MachineFacts().over(a) == a


def test_addresses_of_vlans_come_last_and_dummies_not_at_all() -> None:
    interfaces = [
        {"interface": "dummy0", "dummy": True, "addresses": ["198.51.100.1/32"]},
        {"interface": "eth0", "vlans": [{"addresses": ["203.0.113.1/24"]}]},
        {"interface": "eth1", "addresses": ["not one", "192.0.2.1/24"]},
        {"interface": "eth2", "cidr": "192.0.2.2/24"},
    ]

    assert list(config_facts.interface_addresses(interfaces)) == ["192.0.2.1", "192.0.2.2", "203.0.113.1"]


@pytest.mark.parametrize(
    ("image", "version", "schematic"),
    [
        ("ghcr.io/siderolabs/kubelet:v1.36.0", "v1.36.0", ""),
        ("localhost:5000/kubelet", "", ""),
        ("localhost:5000/kubelet:v1.36.0@sha256:" + "a" * 64, "v1.36.0", ""),
        (f"factory.example.org/metal-installer/{'b' * 64}:v1.13.0-rc.1", "v1.13.0-rc.1", "b" * 64),
        (f"https://factory.example.org/image/{'b' * 64}/v1.10.5/metal-amd64.tar.gz", "v1.10.5", "b" * 64),
        ("kubelet:latest", "", ""),
        ("", "", ""),
    ],
)
def test_images_tell_versions_and_schematics(image: str, version: str, schematic: str) -> None:
    assert config_facts.image_version(image) == version
    assert config_facts.schematic_id(image) == schematic

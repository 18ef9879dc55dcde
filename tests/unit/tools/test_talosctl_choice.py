"""Which talosctl drives the machines of a cluster."""

import pytest

from firstlight.tools import talosctl_choice


@pytest.mark.parametrize(
    ("talos", "name"),
    [
        ("v1.12.4", "talosctl-1-13"),
        ("v1.13.9", "talosctl-1-13"),
        ("v1.14.1", "talosctl"),
        ("v1.14.0-beta.1", "talosctl"),
        ("v1.15.0", "talosctl"),
        ("", "talosctl"),
        ("v1.11.0", "talosctl"),
        ("latest", "talosctl"),
    ],
)
def test_machines_are_driven_by_a_talosctl_of_their_line_or_a_newer_one(talos: str, name: str) -> None:
    assert talosctl_choice.name_for(talos) == name

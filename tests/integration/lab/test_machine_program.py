"""The Go tests of the virtual machine, with the real etcd, API server and talosctl."""

import pathlib

import pytest

from tests import go

LIGHT = ["behaviour", "disk", "discovery", "events", "journal", "services", "pki", "trustd", "apid"]


@pytest.mark.parametrize("packages", [LIGHT, ["etcd"], ["manifests"], ["resources"]], ids=lambda each: each[0])
async def test_the_go_tests_pass(packages: list[str], machine_programs: dict[str, pathlib.Path]) -> None:
    names = {
        "FIRSTLIGHT_ETCD": "etcd",
        "FIRSTLIGHT_KUBE_APISERVER": "kube-apiserver",
        "FIRSTLIGHT_TALOSCTL": "talosctl",
    }
    programs = {variable: str(machine_programs[name]) for variable, name in names.items()}

    await go.run_tests("machine", *(f"./internal/{each}" for each in packages), env=programs)

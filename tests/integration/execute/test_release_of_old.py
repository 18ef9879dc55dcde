"""Talos before its inventory forgets what the engine owns, and nothing brings it back."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml

from firstlight.clients import kube
from firstlight.execute import machine_configs
from firstlight.execute.actions import configure
from firstlight.lab.machines import machine_settings
from firstlight.model.cluster import Machine
from firstlight.model.handover import Passing
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.secret import Secret
from firstlight.model.work import Configure
from tests import machines
from tests.integration.execute.release_bench import MANIFEST, OBJECTS, PLACE, Bench, believe
from tests.labs import until

OLD = """
machine: {kubelet: {image: ghcr.io/siderolabs/kubelet:v1.35.0}}
cluster:
  apiServer: {image: registry.k8s.io/kube-apiserver:v1.35.0}
  controllerManager: {image: registry.k8s.io/kube-controller-manager:v1.35.0}
  scheduler: {image: registry.k8s.io/kube-scheduler:v1.35.0}
"""
"""A version of Kubernetes that Talos 1.12 takes."""


@pytest.fixture(autouse=True)
def proven(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Passing, ...]]:
    """What a provisional certificate was wanted of."""
    return believe(monkeypatch)


@contextlib.contextmanager
def served(contents: str) -> Iterator[str]:
    """The URL of a manifest."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(contents.encode())

        def log_message(self, *_: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1.0.0/net.yaml"
        server.shutdown()


@pytest.mark.long  # what Talos 1.13 does is shown in every run: test_release.py
async def test_talos_before_its_inventory_a_url_and_a_machine_that_joins_later(
    fresh_machines: machines.Make, tmp_path: Path
) -> None:
    """Created by Talos 1.12, half inline and half by a URL; afterwards nothing brings either of them back."""
    talos = machine_settings.TalosBehaviour(manifests="1.12", boot_seconds=0.1)
    bare = tuple(
        machine_settings.VirtualMachine(name=f"cp-{n}", address=f"10.5.0.{n + 1}", talos="v1.12.1") for n in (1, 2)
    )  # fmt: skip
    settings = msgspec.structs.replace(machines.FAST, talos=talos, machines=bare)
    lab = await fresh_machines(machines=2, settings=settings)
    inline, _, rest = OBJECTS.partition("---\n")
    with served(rest) as url:
        entry = {"name": MANIFEST, "contents": inline}
        lists = yaml.safe_dump({"cluster": {"extraManifests": [url], "inlineManifests": [entry]}})
        await lab.apply("cp-1", patches=[machines.BARE, lists, OLD])
        await lab.bootstrap()
        async with kube.Client(kube.load(lab.lab.kubeconfig)) as client:
            bench = Bench(lab, client, tmp_path, manifests=(MANIFEST, url))
            await bench.world.connect(kube.load(lab.lab.kubeconfig))
            await until(functools.partial(bench.has_run, "cp-1"), "cp-1 to apply it")
            await bench.adopt()
            before = await bench.talos()

            change = await bench.perform()

            assert before.bare == ("cp-2",)
            assert before.configs["cp-1"] == (MANIFEST, url)
            assert (before.has_inventory, before.keys, before.annotated) == (False, (), ())
            assert {*before.managed} == {each.id for each in bench.passing}
            assert change is not None
            assert change.writes == (
                f"apply the config of cp-1 without {MANIFEST}, {url}", "take Talos's marks from 3 objects"
            )  # fmt: skip
            assert "ConfigMap default/net-config" in bench.told[0], bench.told
            assert bench.told[0].startswith("before the release: talosctl upgrade-k8s would write"), bench.told
            assert bench.told[-1] == "after the release: talosctl upgrade-k8s would touch nothing"
            assert await bench.perform() is None
            for each in await bench.live():
                found = [one for one in each["metadata"]["managedFields"] if not one.get("subresource")]
                assert [(one["manager"], one["operation"]) for one in found] == [("kustomize-controller", "Apply")]
            await _nothing_comes_back(bench, lists=lists, url=url)
            await bench.world.close()


async def _nothing_comes_back(bench: Bench, *, lists: str, url: str) -> None:
    """The repo still declares both, for clusters that begin; this one has outgrown them."""

    def draft(machine: Machine) -> MachineDraft:
        hostname = f"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: {machine.name}\nauto: off\n"
        texts = (hostname, machines.BARE, lists, OLD)
        return MachineDraft(
            machine=machine, cluster="lab", endpoint=bench.lab.api, passing=frozenset({url}),
            talos="v1.12.1", kubernetes="v1.36.0", install_image=machines.IMAGE,
            patches=tuple(DraftPatch(place=PLACE, text=Secret(each)) for each in texts),
            inline={MANIFEST: Secret("kind: ConfigMap\n")},
        )  # fmt: skip

    task = Configure(drafts=tuple(map(draft, bench.planes)))
    bench.world.patience = 30.0
    change = await configure.look(task, bench.world, "machine:control-planes")
    assert change is not None
    assert change.writes == ("apply the config of cp-2: it installs, and boots",)
    await change.perform()
    await bench.lab.answers("cp-2")
    config = await bench.lab.talos.machine_config(bench.lab.here("cp-2"))
    assert machine_configs.manifests(config).names == frozenset()
    assert (await bench.talos()).is_released

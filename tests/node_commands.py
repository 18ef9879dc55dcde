"""``firstlight node …`` as it is typed, on virtual machines that a repo of the test declares."""

import asyncio
import contextlib
import dataclasses
import io
import unittest.mock
from collections.abc import Mapping
from pathlib import Path

from firstlight.cli import main
from firstlight.cli import means as cli_means
from firstlight.execute.means import Means
from firstlight.execute.world import RunPrograms
from firstlight.model.cluster import AddressBook, Cluster
from firstlight.model.secret import Secret
from firstlight.render.component_renderer import Renderer
from tests import machines as tests_machines
from tests.runs import Told

PATCH = "cluster:\n  network: {cni: {name: none}}\n  proxy: {disabled: true}\n"
RELEASED = """
cluster:
  inlineManifests:
    - name: released
      contents: "{apiVersion: v1, kind: ConfigMap, metadata: {name: released, namespace: default}}"
"""
"""What the repo still has, and no machine any more."""
LABEL = "example.org/shelf"


@dataclasses.dataclass
class Living:
    """Machines, and a repo that declares them."""

    machines: tests_machines.Cluster
    root: Path
    sops: Path | None = None

    def declare(self, *names: str, talos: str = "v1.13.0", kubernetes: str = "v1.36.0") -> None:
        """Write the repo: these machines, in this order, each with a label of its own."""
        listed = "".join(f"      - {_written(name, self.machines.declared[name])}\n" for name in names)
        (self.root / "talos").mkdir(parents=True, exist_ok=True)
        (self.root / "talos" / "all.yaml").write_text(PATCH)
        (self.root / "talos" / "planes.yaml").write_text(RELEASED)
        for name in names:
            (self.root / "talos" / f"{name}.yaml").write_text(f"machine: {{nodeLabels: {{{LABEL}: of-{name}}}}}\n")
        (self.root / "firstlight.yaml").write_text(
            "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: lab}\nclusters:\n  lab:\n"
            f"    talos: {talos}\n    kubernetes: {kubernetes}\n"
            f'    network: {{endpoint: "{self.machines.api}"}}\n'
            "    patches: [talos/all.yaml]\n    controlPlane: {patches: [talos/planes.yaml]}\n"
            f"    machines:\n{listed}"
        )

    def means(self) -> Means:
        """How commands come by the machines."""
        one = self.machines

        async def open_renderer(_: object) -> Renderer:
            raise AssertionError("nothing is rendered")

        async def talos_secrets(_: Cluster) -> Secret:
            return one.secrets

        async def resolve(reference: str) -> Secret:
            raise AssertionError(reference)

        return Means(
            programs=RunPrograms(talosctl=one.program, sops=self.sops), state=self.root / ".firstlight",
            open_renderer=open_renderer, resolve=resolve, talos_secrets=talos_secrets,
            reach=AddressBook(machines=self.reach, kubernetes=one.api),
        )  # fmt: skip

    @property
    def reach(self) -> Mapping[str, str]:
        """Where the machines really listen."""
        return {self.machines.declared[name]: host for name, host in self.machines.loopbacks.items()}

    async def node(self, *arguments: str) -> Told:
        """Run ``firstlight node …``."""
        return await self.typed("node", *arguments)

    async def typed(self, *arguments: str) -> Told:
        """Run a command in a thread of this process."""

        async def given(*_: object, **__: object) -> Means:
            return self.means()

        def run() -> Told:
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main.run([*arguments, "--repo", str(self.root)])
            return Told(code, out.getvalue(), err.getvalue())

        with unittest.mock.patch.object(cli_means, "user_means", given):
            return await asyncio.to_thread(run)


def _written(name: str, address: str) -> str:
    role = "worker" if name.startswith("worker") else "controlplane"
    return f"{{name: {name}, address: {address}, role: {role}, disk: /dev/sda, patches: [talos/{name}.yaml]}}"

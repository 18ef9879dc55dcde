"""Real Flux in a lab for tests: the lab, its sources, and questions to Flux's objects."""

import contextlib
import dataclasses
import gzip
import io
import itertools
import os
import tarfile
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
import yaml

from firstlight.clients import kube as clients_kube
from firstlight.lab import lab_directory, lab_settings, procfs, running_lab
from firstlight.lab.sources import control_messages
from firstlight.lab.sources.sources_client import SourcesClient
from firstlight.tools import content as tools_content
from firstlight.tools import install
from tests import labs
from tests.labs import condition, manifests, until

CONTROLLERS = ("source-controller", "kustomize-controller", "helm-controller")
EXTRAS = ("source-watcher", "notification-controller")
API = {
    "ArtifactGenerator": "source.extensions.fluxcd.io/v1beta1",
    "ExternalArtifact": "source.toolkit.fluxcd.io/v1",
    "Receiver": "notification.toolkit.fluxcd.io/v1",
    "GitRepository": "source.toolkit.fluxcd.io/v1",
    "OCIRepository": "source.toolkit.fluxcd.io/v1",
    "HelmRepository": "source.toolkit.fluxcd.io/v1",
    "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
    "HelmRelease": "helm.toolkit.fluxcd.io/v2",
    "FluxInstance": "fluxcd.controlplane.io/v1",
}
REQUEST = "reconcile.fluxcd.io/requestedAt"
_numbers = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Flux:
    """A lab in which Flux runs."""

    lab: running_lab.Lab
    kube: clients_kube.Client
    sources: SourcesClient
    at: control_messages.SourcesStatus

    async def apply(self, kind: str, name: str, namespace: str, spec: Mapping[str, Any]) -> None:
        """Declare an object of Flux's."""
        metadata = {"name": name, "namespace": namespace}
        await self.kube.apply(
            {"apiVersion": API[kind], "kind": kind, "metadata": metadata, "spec": dict(spec)}, manager="tests"
        )

    async def get(self, kind: str, name: str, namespace: str) -> dict[str, Any]:
        """An object of Flux's."""
        return dict(await self.kube.get(API[kind], kind, name, namespace=namespace))

    async def ready(self, kind: str, name: str, namespace: str, *, revision: str = "") -> dict[str, Any]:
        """Wait until an object is ready in its present form, and at a revision if one is given."""
        last: dict[str, Any] = {}

        async def is_ready() -> bool:
            last.update(await self.get(kind, name, namespace))
            status = last.get("status", {})
            at = status.get("lastAppliedRevision") or (status.get("artifact") or {}).get("revision", "")
            seen = status.get("observedGeneration") or _seen(last)
            is_current = seen == last["metadata"]["generation"]
            return condition(last, "Ready") == "True" and is_current and revision in at

        try:
            await until(is_ready, f"{kind} {name}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {said(last, 'Ready')}") from None
        return last

    async def unready(self, kind: str, name: str, namespace: str, *words: str) -> str:
        """Wait until an object says why it is not ready."""

        async def message() -> str:
            obj = await self.get(kind, name, namespace)
            text = said(obj, "Ready")
            return text if condition(obj, "Ready") == "False" and all(word in text for word in words) else ""

        return await until(message, f"{kind} {name} to say {', '.join(words)}")

    async def reconcile(self, kind: str, name: str, namespace: str, *, wait: bool = True) -> None:
        """What ``flux reconcile`` does."""
        token = f"{next(_numbers)}-{uuid.uuid4().hex}"
        patch = {"metadata": {"annotations": {REQUEST: token}}}
        await self.kube.patch(API[kind], kind, name, patch, manager="tests", namespace=namespace)

        async def is_handled() -> bool:
            obj = await self.get(kind, name, namespace)
            return bool(obj.get("status", {}).get("lastHandledReconcileAt") == token)

        if wait:
            await until(is_handled, f"{kind} {name} to be reconciled")

    async def repository(self, name: str, namespace: str, files: Mapping[str, object]) -> str:
        """A Git repository with files, and the GitRepository that fetches it; the commit."""
        made = await self.sources.create_git(f"tests/{name}")
        commit = await self.commit(name, files)
        await self.apply("GitRepository", name, namespace, {"url": made.url, "ref": {"branch": "main"}, **OFTEN})
        return commit

    async def commit(self, name: str, files: Mapping[str, object]) -> str:
        """Put files on the branch: text as it is, objects as YAML, nothing to remove one."""
        given = {path: None if each is None else _text(each).encode() for path, each in files.items()}
        return (await self.sources.commit(f"tests/{name}", given, message="a change")).after

    async def config_map(self, name: str, namespace: str) -> dict[str, str] | None:
        """Its data; nothing if there is none."""
        try:
            found = await self.kube.get("v1", "ConfigMap", name, namespace=namespace)
        except clients_kube.NotFound:
            return None
        return dict(found.get("data") or {})

    async def holds(self, name: str, namespace: str, wanted: Mapping[str, str] | None) -> None:
        """Wait until a ConfigMap has this data, or is gone."""

        async def does() -> bool:
            return await self.config_map(name, namespace) == wanted

        await until(does, f"ConfigMap {name} to be {wanted}")

    async def part(self, name: str) -> Any:
        """The part of an actor; nothing if there is none."""
        return next((each for each in (await self.lab.status()).parts if each.name == name), None)

    async def running(self, *names: str) -> None:
        """Wait until actors are ready."""

        async def are() -> bool:
            ready = {each.name for each in (await self.lab.status()).parts if each.state == "ready" and each.pid}
            return ready >= set(names)

        await until(are, f"{', '.join(names)} to run")


OFTEN = {"interval": "1m", "timeout": "20s"}


def _seen(obj: Mapping[str, Any]) -> int:
    """The generation that its condition is about."""
    found = [each for each in obj.get("status", {}).get("conditions") or () if each["type"] == "Ready"]
    return int(found[0].get("observedGeneration", 0)) if found else 0


def said(obj: Mapping[str, Any], kind: str) -> str:
    """The message of a condition."""
    found = [each for each in obj.get("status", {}).get("conditions") or () if each["type"] == kind]
    return str(found[0].get("message", "")) if found else ""


def _text(content: object) -> str:
    return content if isinstance(content, str) else yaml.safe_dump(content)


def config(name: str, **data: str) -> dict[str, Any]:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def chart(name: str, version: str, templates: Mapping[str, str], values: str = "") -> bytes:
    """A chart as ``helm package`` makes it."""
    files = {"Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\n", "values.yaml": values}
    files |= {f"templates/{path}": text for path, text in templates.items()}
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(raw.getvalue(), mtime=0)


@contextlib.asynccontextmanager
async def running(programs: Mapping[str, Path], home: Path) -> AsyncIterator[Flux]:
    """A control plane, a worker and Flux's own manifests; its controllers run, but for those of images."""
    await install.ensure([*CONTROLLERS, *EXTRAS, "flux-operator"])
    found = (await tools_content.ensure(["flux-manifests", "flux-operator-manifests"]))["flux-manifests"]
    one = running_lab.Lab(lab_directory.LabDirectory(home))
    nodes = lab_settings.with_nodes(labs.FAST, control_planes=1, workers=1)
    wanted = msgspec.structs.replace(nodes, actors=("flux", "flux-operator", *EXTRAS))
    await one.up(programs, settings=wanted, owner=os.getpid())
    async with clients_kube.Client(clients_kube.load(one.kubeconfig)) as client:
        for obj in [*manifests(labs.NETWORK), *manifests(found / "install-with-source-watcher.yaml")]:
            if obj and obj["kind"] == "Deployment" and obj["metadata"]["name"] in CONTROLLERS:
                # Its default is 30 s; flags of the pod reach the program.
                obj["spec"]["template"]["spec"]["containers"][0]["args"].append("--requeue-dependency=1s")
            if obj:
                await client.apply(obj, manager="tests")
        made = Flux(one, client, one.sources(), await one.sources().status())
        await made.running(*CONTROLLERS, *EXTRAS)
        yield made
    await one.down()
    assert procfs.processes_of(one.home.path) == (), "the lab left processes behind"


@pytest_asyncio.fixture(scope="session")
async def flux(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Flux]:
    """The lab with Flux that tests share: whoever installs Flux anew, by its operator or otherwise, makes another."""
    async with running(programs, tmp_path_factory.mktemp("labs") / "flux") as one:
        yield one


@pytest_asyncio.fixture
async def space(flux: Flux) -> AsyncIterator[str]:
    """A namespace of the test's own, in the lab where Flux runs."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    await flux.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, manager="tests")
    yield name
    await flux.kube.delete("v1", "Namespace", name)

"""Real Argo CD in a lab for tests: the lab, its sources, and questions to Applications."""

import contextlib
import dataclasses
import os
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
from firstlight.lab.actors import actor_table
from firstlight.lab.lab_status import PartStatus
from firstlight.lab.sources import control_messages
from firstlight.lab.sources.declarations import Access
from firstlight.lab.sources.sources_client import SourcesClient
from firstlight.tools import catalogue, install
from firstlight.tools import content as tools_content
from tests import labs
from tests.labs import manifests, until

API = "argoproj.io/v1alpha1"
HOME = "argocd"
"""The namespace in which it is installed."""
REFRESH = "argocd.argoproj.io/refresh"
CONTROLLER, REPO_SERVER = "argocd-application-controller", "argocd-repo-server"
ACTORS = ("argocd-redis", REPO_SERVER, CONTROLLER, "argocd-applicationset-controller")
_KINDS = ("ApplicationSet", "Application")
AUTOMATED = {"prune": True, "selfHeal": True}
PARAMETERS = {
    "controller.sync.wave.delay.seconds": "0",
    "controller.repo.error.grace.period.seconds": "0",
    "controller.self.heal.backoff.timeout.seconds": "1",
    "controller.self.heal.backoff.factor": "1",
}
"""Without waits of seconds and minutes; they are variables of the pod, and reach the program."""


@dataclasses.dataclass(frozen=True)
class ArgoCD:
    """A lab in which Argo CD runs."""

    lab: running_lab.Lab
    kube: clients_kube.Client
    sources: SourcesClient
    at: control_messages.SourcesStatus

    async def commit(self, name: str, files: Mapping[str, object], *, access: Access | None = None) -> str:
        """Put files into a Git repository, which is made if it is not there; the commit."""
        await self.sources.create_git(f"tests/{name}", access=access)
        given = {path: None if each is None else _text(each).encode() for path, each in files.items()}
        return (await self.sources.commit(f"tests/{name}", given, message="a change")).after

    def git(self, name: str) -> str:
        """The address of a repository."""
        return f"{self.at.git}tests/{name}.git"

    async def application(self, name: str, space: str, source: Mapping[str, Any], **policy: Any) -> None:
        """Declare an Application that is synced by itself, with server-side apply."""
        await self.kube.apply(application(name, space, source, **policy), manager="tests")

    async def get(self, name: str, kind: str = "Application") -> dict[str, Any]:
        """An object of Argo CD's."""
        return dict(await self.kube.get(API, kind, name, namespace=HOME))

    async def change(self, name: str, spec: Mapping[str, Any]) -> None:
        """Change what an Application asks for."""
        await self.kube.patch(API, "Application", name, {"spec": spec}, manager="tests", namespace=HOME)

    async def refresh(self, name: str) -> None:
        """What ``argocd app get --hard-refresh`` does, until it is done."""
        patch = {"metadata": {"annotations": {REFRESH: "hard"}}}
        await self.kube.patch(API, "Application", name, patch, manager="tests", namespace=HOME)

        async def is_done() -> bool:
            return REFRESH not in ((await self.get(name))["metadata"].get("annotations") or {})

        await until(is_done, f"{name} to be refreshed")

    async def synced(self, name: str, revision: str = "") -> dict[str, Any]:
        """Wait until an Application is synced, at a revision if one is given, and healthy."""
        last: dict[str, Any] = {}

        async def is_synced() -> bool:
            try:
                last.update(await self.get(name))
            except clients_kube.NotFound:
                return False
            status = last.get("status", {})
            sync = status.get("sync", {})
            done = status.get("operationState", {}).get("phase") == "Succeeded"
            healthy = status.get("health", {}).get("status") == "Healthy"
            return done and healthy and sync["status"] == "Synced" and revision in sync.get("revision", "")

        try:
            await until(is_synced, f"{name} to be synced")
        except AssertionError as error:
            raise AssertionError(f"{error}: {msgspec.json.encode(last.get('status')).decode()}") from None
        return last

    async def says(self, name: str, *words: str) -> str:
        """Wait until conditions or the last operation of an Application say something."""

        last: dict[str, Any] = {}

        async def message() -> str:
            status = (await self.get(name)).get("status", {})
            last.update(status)
            texts = [each["message"] for each in status.get("conditions") or ()]
            state = status.get("operationState", {})
            texts += [state.get("message", "")]
            texts += [each.get("message", "") for each in (state.get("syncResult") or {}).get("resources") or ()]
            return next((text for text in texts if all(word in text for word in words)), "")

        try:
            return await until(message, f"{name} to say {', '.join(words)}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {msgspec.json.encode(last).decode()}") from None

    async def config_map(self, name: str, space: str) -> dict[str, Any] | None:
        """It, if it is there."""
        try:
            return dict(await self.kube.get("v1", "ConfigMap", name, namespace=space))
        except clients_kube.NotFound:
            return None

    async def holds(self, name: str, space: str, wanted: Mapping[str, str] | None) -> None:
        """Wait until a ConfigMap has this data, or is gone."""

        async def does() -> bool:
            found = await self.config_map(name, space)
            return (found and found.get("data")) == wanted

        await until(does, f"ConfigMap {name} to be {wanted}")

    async def part(self, name: str) -> PartStatus:
        """The part of an actor."""
        return next(each for each in (await self.lab.status()).parts if each.name == name)

    async def running(self, *names: str) -> None:
        """Wait until actors are ready."""

        async def are() -> bool:
            ready = {each.name for each in (await self.lab.status()).parts if each.state == "ready"}
            return ready >= set(names)

        await until(are, f"{', '.join(names)} to run")

    async def killed(self, name: str) -> None:
        """Kill an actor, and wait until another process does its work."""
        before = (await self.part(name)).pid
        await self.lab.process(name, "kill")

        async def is_back() -> bool:
            part = await self.part(name)
            return part.state == "ready" and part.pid not in (0, before)

        await until(is_back, f"{name} to be back")


def application(name: str, space: str, source: Mapping[str, Any], **policy: Any) -> dict[str, Any]:
    """An Application."""
    return {
        "apiVersion": API,
        "kind": "Application",
        "metadata": {"name": name, "namespace": HOME},
        "spec": {
            "project": "default",
            "source": dict(source),
            "destination": {"server": "https://kubernetes.default.svc", "namespace": space},
            "syncPolicy": {"automated": AUTOMATED, "syncOptions": ["ServerSideApply=true"], **policy},
        },
    }


def _text(content: object) -> str:
    return content if isinstance(content, str) else yaml.safe_dump(content)


PROJECT = {
    "apiVersion": API,
    "kind": "AppProject",
    "metadata": {"name": "default", "namespace": HOME},
    "spec": {
        "sourceRepos": ["*"],
        "destinations": [{"namespace": "*", "server": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    },
}
"""Its API server would make it; the core installation has none."""


@pytest_asyncio.fixture(scope="session")
async def argocd(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ArgoCD]:
    """A control plane, a worker and Argo CD's own manifests (core); its programs run."""
    known = catalogue.load()
    await install.ensure([name for name in actor_table.installed(["argocd"]) if name not in known.content])
    found = (await tools_content.ensure(["argocd-manifests"]))["argocd-manifests"]
    one = running_lab.Lab(lab_directory.LabDirectory(tmp_path_factory.mktemp("labs") / "argocd"))
    nodes = lab_settings.with_nodes(labs.FAST, control_planes=1, workers=1)
    await one.up(programs, settings=msgspec.structs.replace(nodes, actors=("argocd",)), owner=os.getpid())
    async with clients_kube.Client(clients_kube.load(one.kubeconfig)) as client:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
        core = manifests(found / "core-install.yaml")
        kinds = [each for each in core if each["kind"] == "CustomResourceDefinition"]
        for obj in (namespace, *kinds):
            await client.apply(obj, manager="tests")
        # Before the controller runs: one that once found no project says so of an Application for minutes.
        await until(lambda: _has_project(client), "the kind AppProject to be served")
        for obj in [*manifests(labs.NETWORK), *(each for each in core if each not in kinds)]:
            if obj["metadata"]["name"] == "argocd-cmd-params-cm":
                obj["data"] = PARAMETERS
            if obj["kind"] not in ("ClusterRole", "ClusterRoleBinding", "Namespace"):
                obj["metadata"].setdefault("namespace", HOME)
            await client.apply(obj, manager="tests")
        made = ArgoCD(one, client, one.sources(), await one.sources().status())
        await made.running(*ACTORS)
        yield made
    await one.down()
    assert procfs.processes_of(one.home.path) == (), "the lab left processes behind"


async def _has_project(client: clients_kube.Client) -> bool:
    try:
        await client.apply(PROJECT, manager="tests")
    except clients_kube.UnknownKind:
        return False
    return True


@pytest_asyncio.fixture
async def site(argocd: ArgoCD) -> AsyncIterator[str]:
    """A namespace of the test's own, and a name for all else that is its own."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    await argocd.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, manager="tests")
    yield name
    await until(lambda: _is_clear(argocd, name), "all Applications to go")
    await argocd.kube.delete("v1", "Namespace", name)


async def _is_clear(argocd: ArgoCD, site: str) -> bool:
    """Delete what is there; more than once, since a set that goes may still make its Applications anew.

    Those that it made after the test before was over have no namespace any more: they would be synced in vain for
    minutes before they go, so they are not waited for.
    """
    left = [(kind, each) for kind in _KINDS for each in (await argocd.kube.list(API, kind, namespace=HOME)).items]
    for kind, each in left:
        name = each["metadata"]["name"]
        is_late = kind == "Application" and not name.startswith(site) and "deletionTimestamp" in each["metadata"]
        with contextlib.suppress(clients_kube.NotFound):
            await argocd.kube.delete(API, kind, name, namespace=HOME)
            if is_late:
                body = {"metadata": {"finalizers": None}}
                await argocd.kube.patch(API, kind, name, body, manager="tests", namespace=HOME)
    return not left

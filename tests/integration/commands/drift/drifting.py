"""A platform that real Flux applies, somebody who uses kubectl, and what is said of it: for tests of drift."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from firstlight.clients import kube
from firstlight.commands.drift import correct as drift_correct
from firstlight.commands.drift import expected_state
from firstlight.commands.drift.applied_commit import CorrectionContext
from firstlight.commands.drift.expected_state import ExpectedState
from firstlight.execute.means import Means
from firstlight.execute.world import RunPrograms
from firstlight.model.cluster import Cluster
from firstlight.model.drift import Drift, DriftKind
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.render.chart_fetch import ChartCredentials, FetchClients
from firstlight.render.chart_store import ChartStore
from firstlight.render.component_renderer import Renderer
from firstlight.render.render_cache import RenderCache
from firstlight.render.renderer_programs import RendererPrograms
from firstlight.repo import platform_reader
from firstlight.tools import install
from tests import flux as tests_flux
from tests.flux import API, OFTEN, Flux
from tests.labs import until

KUSTOMIZATION = API["Kustomization"]
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"word": "git"}}


def deployment(replicas: int) -> dict[str, Any]:
    container = {"name": "web", "image": "registry.example.org/web:1", "resources": {"limits": {"cpu": "1000m"}}}
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def declared(url: str) -> dict[str, Any]:
    return {
        "apiVersion": "firstlight.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "tests"},
        "gitops": {"engine": "flux", "url": url, "branch": "main"}, "clusters": {"lab": {"path": "cluster"}},
    }  # fmt: skip


def write(root: Path, files: Mapping[str, object]) -> None:
    for path, value in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(value if isinstance(value, str) else yaml.safe_dump(value))


async def repo(flux: Flux, space: str, root: Path) -> str:
    """A platform with one Kustomization, here and in the lab, applied by Flux; the commit."""
    made = await flux.sources.create_git(f"tests/{space}")
    kustomization: dict[str, Any] = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "apps", "namespace": space},
        "spec": {**OFTEN, "path": "./apps", "prune": True, "targetNamespace": space,
                 "sourceRef": {"kind": "GitRepository", "name": space}},
    }  # fmt: skip
    files: dict[str, object] = {
        "firstlight.yaml": declared(made.url),
        "cluster/apps.yaml": kustomization,
        "apps/kustomization.yaml": {"resources": ["settings.yaml", "web.yaml"]},
        "apps/settings.yaml": SETTINGS,
        "apps/web.yaml": deployment(2),
    }
    write(root, files)
    commit = await flux.commit(space, files)
    await flux.apply("GitRepository", space, space, {"url": made.url, "ref": {"branch": "main"}, **OFTEN})
    await flux.apply("Kustomization", "apps", space, kustomization["spec"])
    await flux.ready("Kustomization", "apps", space, revision=commit)
    return commit


async def means(root: Path, commit: str) -> Means:
    """How the platform is rendered, without a network."""
    programs = await install.ensure(["helm", "kustomize"])

    async def open_renderer(platform: Platform) -> Renderer:
        fetching = FetchClients(programs["helm"], None, ChartCredentials(), frozenset())
        return Renderer(
            platform, programs=RendererPrograms(helm=programs["helm"], kustomize=programs["kustomize"]),
            store=ChartStore(root / ".charts", fetching, offline=True), cache=RenderCache(None),
        )  # fmt: skip

    async def unresolved(reference: str) -> Secret:
        raise AssertionError(reference)

    async def no_secrets(cluster: Cluster) -> Secret:
        raise AssertionError(cluster.name)

    return Means(
        programs=RunPrograms(), state=root / ".firstlight", open_renderer=open_renderer, resolve=unresolved,
        talos_secrets=no_secrets, revision=commit,
    )  # fmt: skip


async def scene(flux: Flux, space: str, root: Path) -> ExpectedState:
    commit = await repo(flux, space, root)
    return await expected_state.prepare(platform_reader.read(root), "", await means(root, commit), components=["apps"])


async def edit(flux: Flux, space: str, body: Mapping[str, Any], *, kind: str = "ConfigMap") -> None:
    """Somebody uses kubectl."""
    version, name = ("v1", "settings") if kind == "ConfigMap" else ("apps/v1", "web")
    await flux.kube.patch(version, kind, name, body, manager="kubectl-edit", namespace=space)


async def uid_of(client: kube.Client) -> str:
    return str((await client.get("v1", "Namespace", "kube-system"))["metadata"]["uid"])


async def correct(
    one: ExpectedState,
    client: kube.Client,
    found: Drift,
    *,
    said: list[str],
    wishes: drift_correct.CorrectionOptions | None = None,
    confirm: Callable[[str], bool] = lambda _: False,
    ground: CorrectionContext | None = None,
    agree: Callable[[str], bool] = lambda _: False,
) -> Drift:
    """On the cluster that is meant, unless something else is said."""
    return await drift_correct.correct(
        one, client, found, wishes=wishes or drift_correct.CorrectionOptions(), tell=said.append, confirm=confirm,
        ground=ground or CorrectionContext(state=Path("nowhere"), uid=await uid_of(client)), agree=agree,
    )  # fmt: skip


async def silence(flux: Flux, space: str) -> None:
    """The controller waits for something that never comes, and handles no request meanwhile."""
    never = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "namespace": space}
    body = {"spec": {"healthChecks": [never], "timeout": "90s"}}
    await flux.kube.patch(KUSTOMIZATION, "Kustomization", "apps", body, manager="tests", namespace=space)

    async def is_waiting() -> bool:
        return "health checks" in tests_flux.said(await flux.get("Kustomization", "apps", space), "Reconciling")

    await until(is_waiting, "the controller to wait for what never comes")


STAND_IN = drift_correct.CorrectionOptions(as_owner=True, answer=1, patience=1)


def told(found: Drift) -> list[tuple[str, DriftKind, list[str]]]:
    return [(each.id.kind, each.difference, [one.path for one in each.fields]) for each in found.drifted]

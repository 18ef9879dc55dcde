"""A platform that real Flux applies, somebody who uses kubectl, and what is said of it: for tests of drift."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from firstlight.clients import kube as kube_client
from firstlight.execute.world import Programs
from firstlight.model.cluster import Cluster
from firstlight.model.drift import Difference, Drift
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.operate import drift_correcting, drift_scene
from firstlight.operate.drift_permission import Ground
from firstlight.operate.drift_scene import Scene
from firstlight.operate.means import Means
from firstlight.render.cache import Cache
from firstlight.render.charts.credentials import Credentials
from firstlight.render.charts.fetching import Means as Fetching
from firstlight.render.charts.store import ChartStore
from firstlight.render.rendering import Renderer
from firstlight.render.tools import Programs as Renderers
from firstlight.repo import platform as platforms
from firstlight.tools import install
from tests.flux import API, OFTEN, Flux
from tests.flux import said as flux_said
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
        fetching = Fetching(programs["helm"], None, Credentials(), frozenset())
        return Renderer(
            platform, programs=Renderers(helm=programs["helm"], kustomize=programs["kustomize"]),
            store=ChartStore(root / ".charts", fetching, offline=True), cache=Cache(None),
        )  # fmt: skip

    async def unresolved(reference: str) -> Secret:
        raise AssertionError(reference)

    async def no_secrets(cluster: Cluster) -> Secret:
        raise AssertionError(cluster.name)

    return Means(
        programs=Programs(), state=root / ".firstlight", open_renderer=open_renderer, resolve=unresolved,
        talos_secrets=no_secrets, revision=commit,
    )  # fmt: skip


async def scene(flux: Flux, space: str, root: Path) -> Scene:
    commit = await repo(flux, space, root)
    return await drift_scene.prepare(platforms.read(root), "", await means(root, commit), components=["apps"])


async def edit(flux: Flux, space: str, body: Mapping[str, Any], *, kind: str = "ConfigMap") -> None:
    """Somebody uses kubectl."""
    version, name = ("v1", "settings") if kind == "ConfigMap" else ("apps/v1", "web")
    await flux.kube.patch(version, kind, name, body, manager="kubectl-edit", namespace=space)


async def uid_of(client: kube_client.Client) -> str:
    return str((await client.get("v1", "Namespace", "kube-system"))["metadata"]["uid"])


async def correct(
    one: Scene,
    client: kube_client.Client,
    found: Drift,
    *,
    said: list[str],
    wishes: drift_correcting.Wishes | None = None,
    confirm: Callable[[str], bool] = lambda _: False,
    ground: Ground | None = None,
    agree: Callable[[str], bool] = lambda _: False,
) -> Drift:
    """On the cluster that is meant, unless something else is said."""
    return await drift_correcting.correct(
        one, client, found, wishes=wishes or drift_correcting.Wishes(), tell=said.append, confirm=confirm,
        ground=ground or Ground(state=Path("nowhere"), uid=await uid_of(client)), agree=agree,
    )  # fmt: skip


async def silence(flux: Flux, space: str) -> None:
    """The controller waits for something that never comes, and handles no request meanwhile."""
    never = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "namespace": space}
    body = {"spec": {"healthChecks": [never], "timeout": "90s"}}
    await flux.kube.patch(KUSTOMIZATION, "Kustomization", "apps", body, manager="tests", namespace=space)

    async def is_waiting() -> bool:
        return "health checks" in flux_said(await flux.get("Kustomization", "apps", space), "Reconciling")

    await until(is_waiting, "the controller to wait for what never comes")


STAND_IN = drift_correcting.Wishes(as_owner=True, answer=1, patience=1)


def told(found: Drift) -> list[tuple[str, Difference, list[str]]]:
    return [(each.id.kind, each.difference, [one.path for one in each.fields]) for each in found.drifted]

"""Components moved with a real Argo CD, to bootstrap and back, and between Applications: no pod is replaced."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.commands.change import followed_branch
from firstlight.commands.change.moves import move_path
from firstlight.lab.sources.declarations import Access
from firstlight.tools import install
from tests import changing, moving
from tests.argocd import API, CONTROLLER, HOME, ArgoCD, application
from tests.changing import Clone
from tests.flux import config
from tests.integration.commands.change.test_change_argocd import deployment
from tests.labs import until

SKIP = "argocd.argoproj.io/skip-reconcile"
TRACKING = "argocd.argoproj.io/tracking-id"
OPTIONS = "argocd.argoproj.io/sync-options"
INSTANCE = "app.kubernetes.io/instance"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_branch, "PAUSES", (0.2,))


@pytest_asyncio.fixture
async def by_label(argocd: ArgoCD) -> AsyncIterator[None]:
    """Argo CD knows what is its own by a label, as it was set up before 3.0."""

    async def say(method: str | None) -> None:
        body = {"data": {"application.resourceTrackingMethod": method}}
        await argocd.kube.patch("v1", "ConfigMap", "argocd-cm", body, manager="tests", namespace=HOME)

    await say("label")
    await argocd.killed(CONTROLLER)  # what it has seen so far it has seen by annotations
    yield
    await say(None)
    await argocd.killed(CONTROLLER)


@pytest_asyncio.fixture
async def clone(request: pytest.FixtureRequest, argocd: ArgoCD, site: str, tmp_path: Path) -> Clone:
    """An app of apps that Argo CD has synced: Applications of kustomizations and of plain directories, with a pod."""
    policy = getattr(request, "param", {})
    made = await argocd.sources.create_git(f"tests/{site}", access=Access(anonymous="write"))
    programs = await install.ensure(["helm", "kustomize"])

    def app(name: str, path: str, space: str = site) -> dict[str, Any]:
        source = {"repoURL": made.url, "path": path, "targetRevision": "main"}
        return application(f"{site}-{name}", space, source, **policy)

    notes = config("notes", a="b")
    notes["metadata"]["annotations"] = {OPTIONS: "SkipDryRunOnMissingResource=true"}
    files = {
        "firstlight.yaml": {
            "apiVersion": "firstlight.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "small"},
            "gitops": {"engine": "argocd", "url": made.url, "branch": "main"}, "clusters": {"home": {"path": "apps"}},
        },
        "root.yaml": app("root", "apps", HOME),
        **{f"apps/{name}.yaml": app(name, name) for name in ("shop", "tools", "plain", "other")},
        "shop/kustomization.yaml": "resources: [web, notes.yaml]\n",
        "shop/web/kustomization.yaml": "resources: [web.yaml]\n",
        "shop/web/web.yaml": deployment(),
        "shop/notes.yaml": notes,
        "tools/kustomization.yaml": "resources: [tools.yaml]\n",
        "tools/tools.yaml": config("tools", a="b"),
        "plain/one.yaml": config("one", a="b"),
        "plain/two.yaml": config("two", a="b"),
        "other/three.yaml": config("three", a="b"),
    }  # fmt: skip
    found = changing.cloned(made.url, tmp_path / "repo", files, kubeconfig=argocd.lab.kubeconfig, programs=programs)
    await argocd.kube.apply(files["root.yaml"], manager="tests")  # type: ignore[arg-type]
    for name in ("root", "shop", "tools", "plain", "other"):
        await argocd.synced(f"{site}-{name}", found.git("rev-parse", "HEAD"))

    async def runs() -> bool:
        return bool(await moving.pods(argocd.kube, site))

    await until(runs, "a pod")
    return found


async def _live(argocd: ArgoCD, space: str, name: str = "web") -> dict[str, Any]:
    version, kind = ("apps/v1", "Deployment") if name == "web" else ("v1", "ConfigMap")
    return dict(await argocd.kube.get(version, kind, name, namespace=space))


def _annotations(obj: dict[str, Any]) -> dict[str, str]:
    return dict(obj["metadata"].get("annotations") or {})


async def _carried_by_hand(clone: Clone) -> None:
    """The same for what somebody has written into the work tree."""
    told = await clone.change("start", "--why", moving.WHY, "--no-wait", "--yes", "--anyway", "a test")
    assert told.code == 3, f"{told.out}\n{told.err}"
    moving.merge(clone, clone.git("branch", "--show-current"))
    await moving.resume(clone)
    assert clone.records()[-1]["path"] == "move"


async def test_there_and_back_again(clone: Clone, argocd: ArgoCD, site: str) -> None:
    begun, pods, uid = time.time(), await moving.pods(argocd.kube, site), (await _live(argocd, site))["metadata"]["uid"]
    shop = f"{site}-shop"

    await moving.carry(clone, shop, "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)

    web, notes = await _live(argocd, site), await _live(argocd, site, "notes")
    for each in (web, notes):
        assert "firstlight" in moving.managers(each)
        assert moving.managers(each) & {"argocd-controller", move_path.MANAGER} == set()
        assert TRACKING not in _annotations(each)
    assert OPTIONS not in _annotations(web)
    assert _annotations(notes)[OPTIONS] == "SkipDryRunOnMissingResource=true"
    assert _annotations(await argocd.get(shop))[SKIP] == "true"
    assert clone.records()[-1]["path"] == "move"

    await moving.carry(clone, shop, "--to", "gitops")

    web, notes = await _live(argocd, site), await _live(argocd, site, "notes")
    for each in (web, notes):
        assert "argocd-controller" in moving.managers(each)
        assert moving.managers(each) & {"firstlight", move_path.MANAGER} == set()
        assert _annotations(each)[TRACKING].startswith(f"{shop}:")
    assert OPTIONS not in _annotations(web)
    assert _annotations(notes)[OPTIONS] == "SkipDryRunOnMissingResource=true"
    assert SKIP not in _annotations(await argocd.get(shop))
    assert web["metadata"]["uid"] == uid
    assert await moving.pods(argocd.kube, site) == pods
    assert moving.deleted(argocd.lab, site, since=begun) == []


async def test_the_old_owner_looks_first_and_prunes_nothing(clone: Clone, argocd: ArgoCD, site: str) -> None:
    """Whoever of the two syncs first: here it is the one that does not have it any more, with prune and selfHeal."""
    begun, pods, uid = time.time(), await moving.pods(argocd.kube, site), (await _live(argocd, site))["metadata"]["uid"]
    shop, tools = f"{site}-shop", f"{site}-tools"
    branch = await moving.pushed(clone, "shop/web", "--into", tools)
    assert _annotations(await _live(argocd, site))[OPTIONS] == "Prune=false"
    await _rest(argocd, tools, is_resting=True)

    commit = moving.merge(clone, branch)
    await argocd.refresh(shop)

    assert await argocd.says(shop, "prune") == "ignored (no prune)"

    async def is_synced_there() -> bool:
        # Between two operations the status has none.
        state = (await argocd.get(shop))["status"].get("operationState") or {}
        return bool((state.get("syncResult") or {}).get("revision") == commit)

    await until(is_synced_there, f"{shop} to sync {commit[:7]}")
    assert _annotations(await _live(argocd, site))[TRACKING].startswith(f"{shop}:")
    await _rest(argocd, tools, is_resting=False)
    await moving.resume(clone)

    web = await _live(argocd, site)
    assert _annotations(web)[TRACKING] == f"{tools}:apps/Deployment:{site}/web"
    assert OPTIONS not in _annotations(web)
    assert move_path.MANAGER not in moving.managers(web)
    assert web["metadata"]["uid"] == uid
    assert await moving.pods(argocd.kube, site) == pods
    assert moving.deleted(argocd.lab, site, since=begun) == []
    await argocd.synced(shop, commit)
    listed = {name: (await argocd.get(name))["status"]["resources"] for name in (shop, tools)}
    assert [name for name, each in listed.items() if "Deployment" in {one["kind"] for one in each}] == [tools]


@pytest.mark.long
async def test_there_and_back_again_where_a_label_tells_whose_it_is(
    by_label: None, clone: Clone, argocd: ArgoCD, site: str
) -> None:
    begun, pods = time.time(), await moving.pods(argocd.kube, site)
    shop = f"{site}-shop"
    assert (await _live(argocd, site))["metadata"]["labels"][INSTANCE] == shop

    await moving.carry(clone, shop, "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)

    assert INSTANCE not in ((await _live(argocd, site))["metadata"].get("labels") or {})

    await moving.carry(clone, shop, "--to", "gitops")

    assert (await _live(argocd, site))["metadata"]["labels"][INSTANCE] == shop
    assert await moving.pods(argocd.kube, site) == pods
    assert moving.deleted(argocd.lab, site, since=begun) == []


@pytest.mark.long
@pytest.mark.parametrize("clone", [{}, {"syncOptions": []}], indirect=True, ids=["server-side", "client-side"])
async def test_a_directory_passes_to_another_application(clone: Clone, argocd: ArgoCD, site: str) -> None:
    begun, pods = time.time(), await moving.pods(argocd.kube, site)
    tools = f"{site}-tools"

    await moving.carry(clone, "shop/web", "--into", tools)

    web = await _live(argocd, site)
    assert _annotations(web)[TRACKING].startswith(f"{tools}:")
    assert {OPTIONS} & _annotations(web).keys() == set()
    assert await moving.pods(argocd.kube, site) == pods
    assert moving.deleted(argocd.lab, site, since=begun) == []


@pytest.mark.long
async def test_a_file_put_into_another_plain_directory_by_hand(clone: Clone, argocd: ArgoCD, site: str) -> None:
    begun, uid = time.time(), (await _live(argocd, site, "one"))["metadata"]["uid"]
    clone.git("mv", "plain/one.yaml", "other/one.yaml")

    await _carried_by_hand(clone)

    one = await _live(argocd, site, "one")
    assert _annotations(one)[TRACKING].startswith(f"{site}-other:")
    assert OPTIONS not in _annotations(one)
    assert one["metadata"]["uid"] == uid
    assert moving.deleted(argocd.lab, site, since=begun) == []


@pytest.mark.long
async def test_a_whole_application_passes_to_another_app_of_apps(clone: Clone, argocd: ArgoCD, site: str) -> None:
    begun, pods, shop = time.time(), await moving.pods(argocd.kube, site), await argocd.get(f"{site}-shop")
    clone.git("mv", "apps/shop.yaml", "other/shop.yaml")

    await _carried_by_hand(clone)

    now = await argocd.get(f"{site}-shop")
    assert _annotations(now)[TRACKING] == f"{site}-other:argoproj.io/Application:{HOME}/{site}-shop"
    assert OPTIONS not in _annotations(now)
    assert now["metadata"]["uid"] == shop["metadata"]["uid"]
    assert await moving.pods(argocd.kube, site) == pods
    assert moving.deleted(argocd.lab, site, since=begun) == []


@pytest.mark.long
async def test_a_part_gets_an_application_of_its_own_and_is_taken_back(clone: Clone, argocd: ArgoCD, site: str) -> None:
    begun, pods = time.time(), await moving.pods(argocd.kube, site)
    shop, pages = f"{site}-shop", f"{site}-pages"

    await moving.carry(clone, shop, "--split", pages, "--only", "shop/web")

    assert _annotations(await _live(argocd, site))[TRACKING].startswith(f"{pages}:")
    told = await clone.change("revert", clone.records()[-1]["id"], "--emergency", "outage", "--why", "a test", "--yes")

    assert told.code == 0, f"{told.out}\n{told.err}"
    assert told.err.index(f"guard Deployment {site}/web against pruning") < told.err.index("is without it at")
    web = await _live(argocd, site)
    assert _annotations(web)[TRACKING].startswith(f"{shop}:")
    assert OPTIONS not in _annotations(web)
    assert await moving.pods(argocd.kube, site) == pods
    assert moving.deleted(argocd.lab, site, since=begun) == []


async def _rest(argocd: ArgoCD, name: str, *, is_resting: bool) -> None:
    body = {"metadata": {"annotations": {SKIP: "true" if is_resting else None}}}
    await argocd.kube.patch(API, "Application", name, body, manager="tests", namespace=HOME)

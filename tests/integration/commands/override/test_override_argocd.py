"""Overrides under an Argo CD that is real: a root that heals itself, a set that rewrites its Applications."""

from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.commands.override import apply, begin, end
from firstlight.commands.override.git_agreement import RenderedGit
from firstlight.commands.override.session import lease_held
from firstlight.model import argocd_names
from firstlight.model.component import ObjectId
from firstlight.model.override import OverrideStanding
from tests.argocd import AUTOMATED, HOME, ArgoCD
from tests.flux import config
from tests.integration.commands.override.overriding import (
    deployment,
    ground,
    is_marked,
    managers,
    part,
    placed,
    web,
    web_id,
    wish,
)
from tests.labs import until

SET_REFRESH = "argocd.argoproj.io/application-set-refresh"


def generated(argocd: ArgoCD, site: str) -> dict[str, Any]:
    """A set with one Application; it keeps an annotation of its own."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": f"{site}-set", "namespace": HOME},
        "spec": {
            "preservedFields": {"annotations": ["example.org/kept"]},
            "generators": [{"list": {"elements": [{"app": "shop"}]}}],
            "template": {
                "metadata": {"name": f"{site}-shop"},
                "spec": {
                    "project": "default",
                    "source": {"repoURL": argocd.git(site), "path": "shop", "targetRevision": "main"},
                    "destination": {"server": "https://kubernetes.default.svc", "namespace": site},
                    "syncPolicy": {"automated": AUTOMATED, "syncOptions": ["ServerSideApply=true"]},
                },
            },
        },
    }


async def test_root_and_set_leave_an_application_alone_until_git_has_the_fix(
    argocd: ArgoCD, site: str, tmp_path: Path
) -> None:
    shop, root = f"{site}-shop", f"{site}-root"
    commit = await argocd.commit(site, {"root/set.yaml": generated(argocd, site), "shop/web.yaml": web()})
    await argocd.application(root, HOME, {"repoURL": argocd.git(site), "path": "root", "targetRevision": "main"})
    await argocd.synced(shop, commit)
    at = ground(argocd.kube, tmp_path)
    async with lease_held(at):
        override = await begin.begin_override(wish(f"Application {shop}"), at)
        override = await apply.apply_objects(override, [part(site, {"replicas": 3})], at)
    assert [(each.kind, each.is_above) for each in override.held] == [
        ("Application", True), ("ApplicationSet", True), ("Application", False),
    ]  # fmt: skip

    poked = {"metadata": {"annotations": {SET_REFRESH: "true"}}}
    await argocd.kube.patch(
        "argoproj.io/v1alpha1", "ApplicationSet", f"{site}-set", poked, manager="tests", namespace=HOME
    )

    async def is_refreshed() -> bool:
        return SET_REFRESH not in ((await argocd.get(f"{site}-set", "ApplicationSet"))["metadata"]["annotations"])

    await until(is_refreshed, "the set to come by")
    assert (await argocd.get(shop))["metadata"]["annotations"][argocd_names.SKIP_RECONCILE_ANNOTATION] == "true"
    assert (await deployment(argocd.kube, site))["spec"]["replicas"] == 3

    commit = await argocd.commit(site, {"shop/web.yaml": web(3)})
    async with lease_held(at):
        over = await end.end_override(
            override, at, git=RenderedGit(wanted={web_id(site): placed(web(3), site)}, revision=commit)
        )  # fmt: skip
    assert (over.standing, over.notes) == (OverrideStanding.ENDED, ())
    await argocd.synced(shop, commit)
    live = await deployment(argocd.kube, site)
    assert live["spec"]["replicas"] == 3
    assert managers(live) - {"kube-controller-manager"} == {"argocd-controller"}
    for name, kind in ((root, "Application"), (f"{site}-set", "ApplicationSet"), (shop, "Application")):
        assert not is_marked(await argocd.get(name, kind)), name
    kept = (await argocd.get(f"{site}-set", "ApplicationSet"))["spec"]["preservedFields"]
    assert kept == {"annotations": ["example.org/kept"]}


async def test_a_set_above_two_overrides_rests_until_both_are_over(argocd: ArgoCD, site: str, tmp_path: Path) -> None:
    made = generated(argocd, site)
    made["spec"]["generators"][0]["list"]["elements"].append({"app": "blog"})
    made["spec"]["template"]["metadata"]["name"] = f"{site}-{{{{app}}}}"
    made["spec"]["template"]["spec"]["source"]["path"] = "{{app}}"
    files = {f"{name}/map.yaml": config(name, a="1") for name in ("shop", "blog")}
    commit = await argocd.commit(site, files)
    await argocd.kube.apply(made, manager="tests")
    for name in ("shop", "blog"):
        await argocd.synced(f"{site}-{name}", commit)
    at = ground(argocd.kube, tmp_path)

    async def kept() -> list[str]:
        found = await argocd.get(f"{site}-set", "ApplicationSet")
        return list(found["spec"]["preservedFields"]["annotations"])

    generated_one = ObjectId("argoproj.io", "Application", HOME, f"{site}-shop")
    with pytest.raises(errors.Refused, match=f"is made by ApplicationSet {HOME}/{site}-set"):
        await begin.look_at_scope((), [generated_one], at)
    async with lease_held(at):
        first = await begin.begin_override(wish(f"Application {site}-shop"), at)
        second = await begin.begin_override(wish(f"Application {site}-blog"), at)
        over = await end.abort_override(first, at)
        assert (over.standing, over.notes) == (OverrideStanding.ABORTED, ())
        assert argocd_names.SKIP_RECONCILE_ANNOTATION in await kept()
        assert (await argocd.get(f"{site}-blog"))["metadata"]["annotations"][
            argocd_names.SKIP_RECONCILE_ANNOTATION
        ] == "true"
        over = await end.abort_override(second, at)
        assert (over.standing, over.notes) == (OverrideStanding.ABORTED, ())
    assert await kept() == ["example.org/kept"]
    assert not is_marked(await argocd.get(f"{site}-set", "ApplicationSet"))


async def test_an_aborted_one_is_as_git_has_it(argocd: ArgoCD, site: str, tmp_path: Path) -> None:
    shop = f"{site}-shop"
    commit = await argocd.commit(site, {"shop/web.yaml": web()})
    await argocd.application(shop, site, {"repoURL": argocd.git(site), "path": "shop", "targetRevision": "main"})
    await argocd.synced(shop, commit)
    at = ground(argocd.kube, tmp_path)
    async with lease_held(at):
        override = await begin.begin_override(wish(objects=(web_id(site),)), at)
        override = await apply.apply_objects(override, [part(site, {"replicas": 3, "paused": True})], at)
        over = await end.abort_override(override, at)
    assert (over.standing, over.notes) == (OverrideStanding.ABORTED, ())
    live = await deployment(argocd.kube, site)
    assert (live["spec"]["replicas"], "paused" in live["spec"]) == (1, False)
    assert managers(live) - {"kube-controller-manager"} == {"argocd-controller"}
    assert not is_marked(await argocd.get(shop))

"""``drift`` of what a HelmRelease and an Application have."""

import dataclasses

import pytest

from firstlight import errors
from firstlight.commands.drift import correct as drift_correct
from firstlight.commands.drift import drift
from firstlight.commands.drift import text as drift_text
from firstlight.commands.drift.expected_state import ExpectedState
from firstlight.model.cluster import Cluster
from firstlight.model.drift import Drift, DriftKind
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.ownership.drift_judgement import WantedObject
from tests.argocd import HOME, ArgoCD
from tests.flux import OFTEN, Flux
from tests.integration.commands.drift.drifting import SETTINGS, STAND_IN, correct, edit, told


async def release(flux: Flux, space: str) -> ExpectedState:
    """A chart in Git, and a HelmRelease of it that a Kustomization applies."""
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {word: {{ .Values.word }}}\n"
    source = {"kind": "GitRepository", "name": space}
    spec = {**OFTEN, "values": {"word": "git"}, "chart": {"spec": {"chart": "./charts/web", "sourceRef": source}}}
    made = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": "web", "namespace": space}, "spec": spec,
    }  # fmt: skip
    files: dict[str, object] = {
        "charts/web/Chart.yaml": {"apiVersion": "v2", "name": "web", "version": "1.0.0"},
        "charts/web/templates/settings.yaml": template,
        "releases/web.yaml": made,
    }
    commit = await flux.repository(space, space, files)
    await flux.apply("Kustomization", "releases", space, {**OFTEN, "path": "./releases", "prune": True,
                                                          "sourceRef": source})  # fmt: skip
    await flux.ready("Kustomization", "releases", space, revision=commit)
    await flux.ready("HelmRelease", "web", space)
    owner = ObjectOwner(Party.FLUX, f"HelmRelease {space}/web")
    value = {**SETTINGS, "metadata": {"name": "settings", "namespace": space}}
    wanted = WantedObject(object=Object(value), component="web", manager="helm-controller", owner=owner)
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"))
    known = frozenset({wanted.id})
    return ExpectedState(cluster=cluster, wanted=(wanted,), owners={owner: "web"}, known=known, revision=commit)


async def test_a_release_without_drift_detection_is_upgraded(flux: Flux, space: str) -> None:
    one = await release(flux, space)
    assert told(await drift.look(one, flux.kube)) == []
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    assert told(found) == [("ConfigMap", DriftKind.CHANGED, ["data.word"])]
    said: list[str] = []
    after = await correct(one, flux.kube, found, said=said)
    assert told(after) == []
    assert "by an upgrade to the same" in said[0]
    assert await flux.config_map("settings", space) == {"word": "git"}

    # It is of the commit of whoever has applied it.
    other = dataclasses.replace(one, revision="1" * 40)
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(other, flux.kube)
    assert found.applied == (f"main@{one.revision[:7]} (releases)",)
    with pytest.raises(errors.Refused, match="the engine has applied"):
        await correct(other, flux.kube, dataclasses.replace(found, applied=()), said=said)


async def test_what_a_release_never_applied_is_removed_only_in_its_place(flux: Flux, space: str) -> None:
    one = await release(flux, space)
    await edit(flux, space, {"data": {"word": "hand", "more": "hand"}, "metadata": {"labels": {"by": "hand"}}})
    body = {"metadata": {"annotations": {"theirs": "x"}}}
    await flux.kube.patch("v1", "ConfigMap", "settings", body, manager="some-controller", namespace=space)
    found = await drift.look(one, flux.kube)
    said: list[str] = []
    asked: list[str] = []

    async def corrected(*, as_owner: bool, yes: bool) -> Drift:
        def confirm(text: str) -> bool:
            asked.append(text)
            return yes

        said.clear()
        wishes = drift_correct.CorrectionOptions(as_owner=as_owner)
        return await correct(one, flux.kube, found, said=said, wishes=wishes, confirm=confirm)

    # Helm puts its own back, and leaves what it never had.
    after = await corrected(as_owner=False, yes=True)
    assert told(after) == [("ConfigMap", DriftKind.CHANGED, ["data.more", "metadata.labels.by"])]
    assert await flux.config_map("settings", space) == {"word": "git", "more": "hand"}
    assert (
        said[-1]
        == f"HelmRelease {space}/web answered, and leaves fields that it never applied; --as-owner removes them"
    )
    assert asked == []
    text = drift_text.text(after)
    assert "firstlight drift lab --correct --as-owner removes, after it has asked" in text
    assert "--correct asks the engine" not in text

    after = await corrected(as_owner=True, yes=False)
    assert asked[0].endswith(
        f"  ConfigMap {space}/settings   data.more (kubectl-edit)\n"
        f"  ConfigMap {space}/settings   metadata.labels.by (kubectl-edit)"
    )
    assert said[-1] == "nothing was removed"
    assert (
        f"kubectl edit configmap settings -n {space}, and take data.more, metadata.labels.by away"
        in drift_text.text(after)
    )

    before = await flux.kube.get("v1", "ConfigMap", "settings", namespace=space)
    assert told(await corrected(as_owner=True, yes=True)) == []
    assert said[-1] == f"removed data.more, metadata.labels.by from ConfigMap {space}/settings"
    live = await flux.kube.get("v1", "ConfigMap", "settings", namespace=space)
    assert live["data"] == {"word": "git"}
    assert "by" not in live["metadata"]["labels"]
    # What a controller put there is nobody's business, and nothing else was touched.
    assert live["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert live["metadata"]["annotations"]["theirs"] == "x"


async def test_an_application_heals_itself_only_if_it_says_so(argocd: ArgoCD, site: str) -> None:
    commit = await argocd.commit(site, {"apps/settings.yaml": SETTINGS})
    source = {"repoURL": argocd.git(site), "path": "apps", "targetRevision": "main"}
    await argocd.application(site, site, source, automated={"prune": False, "selfHeal": False})
    await argocd.synced(site, commit)
    owner = ObjectOwner(Party.ARGOCD, f"Application {site}")
    value = {**SETTINGS, "metadata": {"name": "settings", "namespace": site}}
    wanted = WantedObject(object=Object(value), component="apps", manager="argocd-controller", owner=owner)
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"), url=argocd.git(site))
    one = ExpectedState(
        cluster=cluster, wanted=(wanted,), owners={owner: "apps"}, known=frozenset({wanted.id}), revision=commit
    )
    clean = await drift.look(one, argocd.kube)
    assert (told(clean), clean.applied) == ([], ())
    # Git's form is put back; what Git does not have, Argo CD leaves.
    body = {"data": {"word": "hand"}}
    await argocd.kube.patch("v1", "ConfigMap", "settings", body, manager="kubectl-edit", namespace=site)
    found = await drift.look(one, argocd.kube)
    assert told(found) == [("ConfigMap", DriftKind.CHANGED, ["data.word"])]
    said: list[str] = []

    async def corrected(patience: float) -> Drift:
        wishes = drift_correct.CorrectionOptions(patience=patience)
        return await correct(one, argocd.kube, found, said=said, wishes=wishes)

    assert told(await corrected(0.5)) == told(found)
    assert said == [
        f"asked Application {HOME}/{site} to look again; it does not heal itself, so sync it: argocd app sync {site}"
    ]

    # Whom somebody lets rest is not asked, and nobody acts in his place.
    async def rest(value: str | None) -> None:
        body = {"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": value}}}
        await argocd.kube.patch(
            "argoproj.io/v1alpha1", "Application", site, body, manager="kubectl-annotate", namespace=HOME
        )

    await rest("True")
    said.clear()
    wishes = dataclasses.replace(STAND_IN, patience=0.5)
    resting = await correct(one, argocd.kube, found, said=said, wishes=wishes, confirm=lambda _: True)
    assert told(resting) == told(found)
    assert said == [f"Application {site} is suspended: it was not asked"]
    assert f"Application {HOME}/{site} is suspended: nothing corrects what is its" in resting.notes
    await rest(None)
    await argocd.change(site, {"syncPolicy": {"automated": {"selfHeal": True}}})
    assert told(await corrected(40)) == []

"""Objects passed to an Argo CD that is real and at work already; and what it is told to ignore, it leaves alone."""

from pathlib import Path
from typing import Any

from firstlight.execute.actions import migrate_owners
from firstlight.execute.world import RunPrograms, World
from firstlight.model.cluster import Cluster
from firstlight.model.component import Origin, Side, SourceForm
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.source import ChartSource
from firstlight.model.work import MigrateOwners
from firstlight.plan import argocd_takeover
from tests.argocd import ArgoCD, application
from tests.flux import config

HOOK = "admissionregistration.k8s.io/v1"
MANAGER = "argocd-controller"


async def unresolved(reference: str) -> Secret:
    raise AssertionError(reference)


def passing(app: str, *values: dict[str, Any]) -> tuple[Passing, ...]:
    owner = ObjectOwner(Party.ARGOCD, f"Application {app}")
    return tuple(Passing(object=Object(each), component=app, manager=MANAGER, owner=owner) for each in values)


def placed(value: dict[str, Any], space: str) -> dict[str, Any]:
    return {**value, "metadata": {**value["metadata"], "namespace": space}}


async def test_an_application_at_work_rests_meanwhile(argocd: ArgoCD, site: str, tmp_path: Path) -> None:
    value = config("one", a="1", b="2")
    await argocd.kube.apply(placed(value, site), manager="talos")
    commit = await argocd.commit(site, {"apps/one.yaml": value})
    await argocd.application(site, site, {"repoURL": argocd.git(site), "targetRevision": "main", "path": "apps"})
    await argocd.synced(site, commit)
    here = World(
        cluster=Cluster(name="lab", place=Place("x")), programs=RunPrograms(), resolve=unresolved, state=tmp_path
    )
    here._kube = argocd.kube
    wanted = MigrateOwners(passing=passing(site, placed(value, site)))

    change = await migrate_owners.look(wanted, here, "owners")

    assert change is not None
    assert change.writes[0] == f"suspend Application argocd/{site}"
    assert change.writes[-1] == f"resume Application argocd/{site}"
    await change.perform()
    live = await argocd.kube.get("v1", "ConfigMap", "one", namespace=site)
    assert {each["manager"] for each in live["metadata"]["managedFields"]} == {MANAGER}
    assert await migrate_owners.look(wanted, here, "owners") is None
    # It is at work again, and a field that is removed in Git goes.
    commit = await argocd.commit(site, {"apps/one.yaml": config("one", a="1")})
    await argocd.refresh(site)
    await argocd.synced(site, commit)
    await argocd.holds("one", site, {"a": "1"})


async def test_what_is_offered_to_be_ignored_is_left_to_whoever_writes_it(argocd: ArgoCD, site: str) -> None:
    client = {"url": "https://hook.example.org", "caBundle": "Cg=="}
    rules = [{"apiGroups": ["example.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["webs"]}]
    hook = {
        "apiVersion": HOOK, "kind": "ValidatingWebhookConfiguration", "metadata": {"name": site},
        "webhooks": [
            {"name": "web.example.org", "clientConfig": client, "rules": rules, "sideEffects": "None",
             "admissionReviewVersions": ["v1"]}
        ],
    }  # fmt: skip
    certificate = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tls", "namespace": site},
        "data": {"tls.crt": "b2xk", "tls.key": "b2xk"},
    }  # fmt: skip
    origin = Origin(
        form=SourceForm.APPLICATION,
        side=Side.GITOPS,
        place=Place("app.yaml"),
        name=site,
        source=ChartSource(name="web"),
    )
    entries = [each.entry for each in argocd_takeover.fields_to_ignore(passing(site, hook, certificate), [], origin)]
    assert len(entries) == 2
    commit = await argocd.commit(site, {"apps/hook.yaml": hook, "apps/tls.yaml": certificate})
    app = application(site, site, {"repoURL": argocd.git(site), "targetRevision": "main", "path": "apps"})
    app["spec"]["ignoreDifferences"] = entries
    app["spec"]["syncPolicy"]["syncOptions"].append(argocd_takeover.RESPECT)
    await argocd.kube.apply(app, manager="tests")
    await argocd.synced(site, commit)

    bundle = [{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "LS0tCg=="}]
    await argocd.kube.patch(HOOK, "ValidatingWebhookConfiguration", site, bundle, form="json", manager="injector")
    await argocd.kube.patch("v1", "Secret", "tls", {"data": {"tls.crt": "bmV3"}}, manager="rotor", namespace=site)
    # A change of something else makes it sync everything once more.
    commit = await argocd.commit(site, {"apps/other.yaml": config("other", a="1")})
    await argocd.refresh(site)
    await argocd.synced(site, commit)

    await argocd.holds("other", site, {"a": "1"})
    live = await argocd.kube.get(HOOK, "ValidatingWebhookConfiguration", site)
    assert live["webhooks"][0]["clientConfig"]["caBundle"] == "LS0tCg=="
    kept = await argocd.kube.get("v1", "Secret", "tls", namespace=site)
    assert kept["data"] == {"tls.crt": "bmV3", "tls.key": "b2xk"}
    await argocd.kube.delete(HOOK, "ValidatingWebhookConfiguration", site)

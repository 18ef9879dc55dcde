"""Which objects are asked for, and who is to own them as a repo says."""

import pytest

from firstlight import errors
from firstlight.commands.owners import owners
from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner, OwnedObject, OwnerMap, Party
from tests.unit.plan import platforms

WEB = ObjectOwner(Party.FLUX, "Kustomization flux-system/web")


def obj(kind: str, name: str, owner: ObjectOwner, namespace: str = "web", under: ObjectId | None = None) -> OwnedObject:
    id = ObjectId("", kind, namespace, name)
    return OwnedObject(id=id, api_version="v1", owner=owner, under=under)


MAP = OwnerMap(
    cluster="infra",
    objects=(
        obj("Deployment", "main", WEB),
        obj("Pod", "main-1", WEB, under=ObjectId("", "Deployment", "web", "main")),
        obj("ConfigMap", "kube-root-ca.crt", ObjectOwner(Party.SYSTEM)),
        obj("Node", "cp-1", ObjectOwner(Party.SYSTEM), namespace=""),
        obj("ConfigMap", "mine", ObjectOwner(Party.PERSON, "kubectl-create"), namespace="default"),
    ),
)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["main", "mine"]),
        ({"everything": True}, ["main", "main-1", "kube-root-ca.crt", "cp-1", "mine"]),
        ({"kind": "pod"}, ["main-1"]),
        ({"kind": "ConfigMap"}, ["kube-root-ca.crt", "mine"]),
        ({"owner": "system"}, ["kube-root-ca.crt", "cp-1"]),
        ({"owner": "flux-system/web"}, ["main"]),
        ({"owner": "talos"}, []),
        ({"namespace": "web"}, ["main"]),
        ({"namespace": "web", "everything": True}, ["main", "main-1", "kube-root-ca.crt"]),
    ],
)
def test_what_is_asked_for(asked: dict[str, object], names: list[str]) -> None:
    assert [each.id.name for each in owners.only(MAP, **asked).objects] == names  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["main", "main-1", "kube-root-ca.crt", "cp-1", "mine"]),
        ({"namespace": "web"}, ["main", "main-1", "kube-root-ca.crt"]),
        ({"namespace": "web", "kind": "Deployment"}, ["main"]),
        ({"owner": "flux"}, ["main", "main-1"]),
    ],
)
def test_what_is_counted(asked: dict[str, str], names: list[str]) -> None:
    assert [each.id.name for each in owners.counted(MAP, **asked).objects] == names


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ({"owner": "flax"}, "nobody is called flax", "talos, bootstrap, flux, argocd"),
        ({"kind": "Deploymant"}, "there is no Deploymant here", "There is Deployment."),
    ],
)
def test_what_nobody_has_is_told(asked: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(errors.UsageError, match=message) as caught:
        owners.only(MAP, **asked)  # type: ignore[arg-type]
    assert hint in caught.value.hint


def _config(name: str, annotations: str = "{}") -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: x, annotations: {annotations}}}\n---\n"
    )


def test_who_is_to_own_what() -> None:
    """The engine what Git brings, by the owner that applies it; bootstrap what it keeps; nobody a hook."""
    platform, renditions = platforms.make(
        {
            "components": {
                "certs": {"phase": "core", "side": "hybrid"},
                "base": {"phase": "core"},
                "web": {"form": "Kustomization", "namespace": "flux-system"},
                "shop": {"form": "Application"},
                "broken": {"form": "Kustomization"},
            },
            "renditions": {
                "certs": {
                    "bootstrap": _config("first") + _config("both"),
                    "gitops": _config("certs") + _config("both") + _config("a-hook", "{helm.sh/hook: test}"),
                },
                "base": {"bootstrap": _config("base")},
                "web": {"gitops": _config("web") + "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n"},
                "shop": {"gitops": _config("shop")},
                "broken": {"gitops": "ERROR no such chart"},
            },
        }
    )
    (cluster,) = platform.clusters

    found = owners.declared(platform, cluster, renditions)

    assert {id.name: (each.component, each.owner and str(each.owner)) for id, each in found.items()} == {
        "both": ("certs", "flux (HelmRelease apps/certs)"),
        "certs": ("certs", "flux (HelmRelease apps/certs)"),
        "base": ("base", None),
        "web": ("web", "flux (Kustomization flux-system/web)"),
        "x": ("web", "flux (Kustomization flux-system/web)"),
        "shop": ("shop", "argocd (Application shop)"),
    }
    assert [id.name for id, each in found.items() if each.is_passing] == ["both", "x"]
    assert owners.unrendered(platform, cluster, renditions) == ("broken",)

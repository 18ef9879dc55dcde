"""Secrets that something needs: which are brought by objects, by templates of bootstrap, or by what was not read."""

from pathlib import Path

import pytest

from firstlight.model.platform import FoundationSecret
from firstlight.repo import platform_reader

SYNC = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/home, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""
STORE = """\
apiVersion: external-secrets.io/v1
kind: ClusterSecretStore
metadata: {name: vault}
spec:
  provider:
    onepasswordSDK: {auth: {serviceAccountSecretRef: {name: vault-token, namespace: stores, key: token}}}
"""
RECEIVER = """\
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: hook, namespace: flux-system}
spec: {type: github, secretRef: {name: hook-token}, resources: [{kind: GitRepository, name: flux-system}]}
"""


def secrets(root: Path, **files: str) -> dict[str, FoundationSecret]:
    """What must exist first in a repo with a cluster, by name."""
    for name, content in {"clusters/home/flux-system/gotk-sync.yaml": SYNC, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return {each.name: each for each in platform_reader.read(root).secrets}


@pytest.mark.parametrize(
    "maker",
    [
        "{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: hook, namespace: flux-system},"
        " spec: {secretStoreRef: {name: vault}, target: {name: hook-token}}}",
        "{apiVersion: external-secrets.io/v1, kind: ClusterExternalSecret, metadata: {name: hook},"
        " spec: {externalSecretSpec: {target: {name: hook-token}}}}",
        "{apiVersion: bitnami.com/v1alpha1, kind: SealedSecret, metadata: {name: other, namespace: flux-system},"
        " spec: {template: {metadata: {name: hook-token}}}}",
        "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: hook, namespace: flux-system},"
        " spec: {secretName: hook-token}}",
    ],
)
def test_a_secret_is_made_under_the_name_of_its_target(tmp_path: Path, maker: str) -> None:
    found = secrets(tmp_path, **{"clusters/home/hook.yaml": RECEIVER, "clusters/home/maker.yaml": f"{maker}\n"})

    assert found == {}


def test_a_store_is_not_served_by_what_it_makes_itself(tmp_path: Path) -> None:
    maker = (
        "{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: vault-token, namespace: stores},"
        " spec: {secretStoreRef: {name: vault}}}\n"
    )

    found = secrets(tmp_path, **{"clusters/home/store.yaml": STORE, "clusters/home/maker.yaml": maker})

    assert [*found] == ["vault-token"]
    assert found["vault-token"].brought is None


TEMPLATE = """\
{% for name in ["stores"] %}
---
apiVersion: v1
kind: Namespace
metadata: {name: "{{ name }}"}
{% endfor %}
---
apiVersion: v1
kind: Secret
metadata:
  name: vault-token
  namespace: stores
stringData:
  token: "op://Home/the vault/token" # a space
"""


def test_a_template_of_bootstrap_says_what_fills_a_secret(tmp_path: Path) -> None:
    found = secrets(tmp_path, **{"clusters/home/store.yaml": STORE, "bootstrap/resources.yaml.j2": TEMPLATE})

    assert found["vault-token"].data == {"token": "op://Home/the vault/token"}
    assert str(found["vault-token"].brought) == "bootstrap/resources.yaml.j2:8"


def test_half_of_the_keys_are_not_enough(tmp_path: Path) -> None:
    template = f"{TEMPLATE}  user: somebody\n"

    found = secrets(tmp_path, **{"clusters/home/store.yaml": STORE, "bootstrap/resources.yaml.j2": template})

    assert found["vault-token"].data == {"token": ""}
    assert found["vault-token"].brought is not None


def test_another_namespace_is_another_secret(tmp_path: Path) -> None:
    template = TEMPLATE.replace("namespace: stores", "namespace: elsewhere")

    found = secrets(tmp_path, **{"clusters/home/store.yaml": STORE, "bootstrap/resources.yaml.j2": template})

    assert found["vault-token"].brought is None


def test_what_was_not_read_may_bring_it(tmp_path: Path) -> None:
    elsewhere = (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n"
        "metadata: {name: other, namespace: flux-system}\n"
        "spec: {interval: 1m, url: https://git.example.org/team/other}\n---\n"
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "metadata: {name: other, namespace: flux-system}\n"
        "spec: {interval: 1h, path: ./all, prune: true, sourceRef: {kind: GitRepository, name: other}}\n"
    )

    found = secrets(tmp_path, **{"clusters/home/store.yaml": STORE, "clusters/home/other.yaml": elsewhere})

    assert str(found["vault-token"].brought) == "clusters/home/other.yaml:6"


def test_a_task_that_no_bootstrap_calls_may_bring_a_secret(tmp_path: Path) -> None:
    tasks = """\
version: '3'
tasks:
  bootstrap: kubectl apply -f clusters/home/flux-system/gotk-sync.yaml
  rotate: kubectl create secret generic vault-token --namespace stores --from-literal=token=$TOKEN
"""
    found = secrets(tmp_path, **{"clusters/home/store.yaml": STORE, "Taskfile.yaml": tasks})

    brought = found["vault-token"].brought
    assert brought is not None
    assert (brought.path, brought.line) == ("Taskfile.yaml", 4)

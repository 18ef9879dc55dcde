"""The kinds of Kubernetes itself."""

from firstlight.render import kubernetes


def test_kinds_come_with_their_version() -> None:
    new, old = kubernetes.api_versions("v1.36.1"), kubernetes.api_versions("1.29.0")
    assert "apps/v1/Deployment" in old
    assert "v1/Service" in old
    assert "resource.k8s.io/v1/ResourceClaim" in new
    assert "resource.k8s.io/v1/ResourceClaim" not in old
    assert "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy" in kubernetes.api_versions("v1.30.0")


def test_an_unknown_version_has_all() -> None:
    assert set(kubernetes.api_versions("")) >= set(kubernetes.api_versions("v1.36.1"))


def test_scopes_by_group() -> None:
    assert kubernetes.scopes()["rbac.authorization.k8s.io", "ClusterRole"] is False
    assert kubernetes.scopes()["rbac.authorization.k8s.io", "Role"] is True
    assert ("example.org", "ClusterRole") not in kubernetes.scopes()

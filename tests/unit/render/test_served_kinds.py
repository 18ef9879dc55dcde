"""The kinds of Kubernetes itself."""

from firstlight.render import served_kinds


def test_kinds_come_with_their_version() -> None:
    new, old = served_kinds.builtin_api_versions("v1.36.1"), served_kinds.builtin_api_versions("1.29.0")
    assert "apps/v1/Deployment" in old
    assert "v1/Service" in old
    assert "resource.k8s.io/v1/ResourceClaim" in new
    assert "resource.k8s.io/v1/ResourceClaim" not in old
    assert "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy" in served_kinds.builtin_api_versions("v1.30.0")
    newest = set(served_kinds.builtin_api_versions("v1.37.0")) - set(new)
    assert "storagemigration.k8s.io/v1/StorageVersionMigration" in newest


def test_an_unknown_version_has_all() -> None:
    assert set(served_kinds.builtin_api_versions("")) >= set(served_kinds.builtin_api_versions("v1.36.1"))


def test_scopes_by_group() -> None:
    assert served_kinds.builtin_scopes()["rbac.authorization.k8s.io", "ClusterRole"] is False
    assert served_kinds.builtin_scopes()["rbac.authorization.k8s.io", "Role"] is True
    assert ("example.org", "ClusterRole") not in served_kinds.builtin_scopes()

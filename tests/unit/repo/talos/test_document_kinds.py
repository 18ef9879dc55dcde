"""What a document has to do with Talos."""

from typing import Any

import pytest

from firstlight.repo.talos import document_kinds


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"version": "v1alpha1", "machine": {"type": "worker"}, "cluster": {}}, "config"),
        ({"machine": {"sysctls": {}}}, "patch"),
        ({"cluster": {"proxy": {}}, "debug": True}, "patch"),
        ({"cluster": {"name": "apps"}}, ""),
        ({"cluster": {"proxy": {}}, "replicas": 2}, ""),
        ({"machine": None}, ""),
        ([{"op": "add", "path": "/machine/sysctls", "value": {}}], "JSON patch"),
        ([{"op": "add", "path": "/spec/replicas", "value": 1}], ""),
        ([], ""),
        ({"apiVersion": "v1alpha1", "kind": "HostnameConfig"}, "HostnameConfig"),
        ({"apiVersion": "v1alpha1", "kind": "HostnameConfig", "metadata": {}}, ""),
        ({"apiVersion": "v1alpha1", "kind": "Other"}, ""),
        ({"apiVersion": "apps/v1alpha1", "kind": "HostnameConfig"}, ""),
        ({"customization": {}}, "schematic"),
        ({"customization": {}, "replicas": 2}, ""),
        ({"cluster": {"id": 1}, "secrets": {}, "trustdinfo": {}, "certs": {}, "sops": {}}, "secrets"),
        ("text", ""),
        (None, ""),
    ],
)
def test_documents_are_told_apart(value: Any, expected: str) -> None:
    assert document_kinds.of(value) == expected


def test_near_talos_files_a_field_that_is_unknown_is_a_mistake() -> None:
    value = {"machine": {"userVolumes": []}, "cluster": {"network": {"proxy": {}}, "proxy": {"$patch": "delete"}}}

    assert document_kinds.of({"machine": {"userVolumes": []}}, is_near=True) == "patch"
    assert list(document_kinds.unknown_fields(value)) == [("machine", "userVolumes"), ("cluster", "network", "proxy")]


def test_omni_templates_have_no_api_version() -> None:
    assert document_kinds.is_omni({"kind": "Cluster", "name": "a"})
    assert not document_kinds.is_omni({"kind": "Cluster", "apiVersion": "postgresql.cnpg.io/v1"})
    assert not document_kinds.is_omni({"kind": "Deployment"})

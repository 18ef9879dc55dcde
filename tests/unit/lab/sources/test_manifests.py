import json
from typing import Any

import pytest

from firstlight.lab.sources import oci_artifacts
from firstlight.lab.sources.oci_artifacts import DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST

PART = {"mediaType": "x", "digest": "sha256:" + "a" * 64, "size": 1}


@pytest.mark.parametrize(
    ("media_type", "content"),
    [
        (OCI_MANIFEST, {"config": PART, "layers": [PART]}),
        (DOCKER_MANIFEST, {"mediaType": DOCKER_MANIFEST, "config": PART, "layers": []}),
        (OCI_INDEX, {"manifests": [PART]}),
        (DOCKER_LIST, {"manifests": [], "somethingNew": 1}),
        (OCI_MANIFEST, {"config": PART, "layers": [], "annotations": None}),
    ],
)
def test_manifests(media_type: str, content: dict[str, Any]) -> None:
    assert (
        oci_artifacts.parse_manifest(json.dumps({"schemaVersion": 2, **content}).encode(), media_type).schema_version
        == 2
    )


@pytest.mark.parametrize(
    ("media_type", "content"),
    [
        ("", b"{}"),
        ("application/vnd.docker.distribution.manifest.v1+prettyjws", b'{"schemaVersion": 1}'),
        (OCI_MANIFEST, b""),
        (OCI_MANIFEST, b"[]"),
        (OCI_MANIFEST, b"[" * 100_000),
        (OCI_MANIFEST, b'{"schemaVersion": 2, "manifests": []}'),
        (OCI_INDEX, json.dumps({"schemaVersion": 2, "config": PART}).encode()),
        (OCI_MANIFEST, json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "config": PART}).encode()),
        (OCI_MANIFEST, json.dumps({"schemaVersion": 2, "config": {**PART, "size": "1"}}).encode()),
    ],
)
def test_what_is_none(media_type: str, content: bytes) -> None:
    with pytest.raises(oci_artifacts.InvalidManifestError):
        oci_artifacts.parse_manifest(content, media_type)


def test_layers_from_elsewhere_need_not_be_here() -> None:
    elsewhere = {**PART, "urls": ["https://example.org/layer"]}
    content = json.dumps({"schemaVersion": 2, "config": PART, "layers": [elsewhere]}).encode()
    assert len(oci_artifacts.parse_manifest(content, OCI_MANIFEST).blobs) == 1

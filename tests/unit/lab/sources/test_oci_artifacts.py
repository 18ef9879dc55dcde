import io
import json
import tarfile

from firstlight.lab.sources import oci_artifacts
from firstlight.lab.sources.oci_artifacts import SourceFile

FILES = {"b/c.yaml": SourceFile(b"c"), "a.sh": SourceFile(b"a", "100755"), "b/link": SourceFile(b"c.yaml", "120000")}


def flux(files: dict[str, SourceFile], **changed: str) -> oci_artifacts.OciArtifact:
    given = {"created": "2026-01-02T03:04:05Z", "source": "http://git", "revision": "main@sha1:1", **changed}
    return oci_artifacts.flux_artifact(
        files, created=given["created"], source=given["source"], revision=given["revision"], annotations={}
    )


def test_the_layer_depends_on_the_files_alone() -> None:
    one = flux(FILES)
    assert flux(dict(reversed(FILES.items())), created="2027-01-02T03:04:05Z").layer == one.layer
    assert flux({**FILES, "a.sh": SourceFile(b"a")}).layer != one.layer


def test_the_archive_has_nothing_of_this_machine() -> None:
    with tarfile.open(fileobj=io.BytesIO(flux(FILES).layer)) as tar:
        members = list(tar)
    assert [(each.name, each.isdir()) for each in members] == [("a.sh", False), ("b", True), ("b/c.yaml", False)]
    assert {(each.uid, each.gid, each.uname, each.gname, each.mtime) for each in members} == {(0, 0, "", "", 0)}
    assert [each.mode for each in members] == [0o755, 0o755, 0o644]


def test_a_chart_as_helm_pushes_it() -> None:
    made = oci_artifacts.helm_artifact(
        b"tgz", {"name": "web", "version": "1.0.0+b", "apiVersion": "v2"}, created="2026-01-02T03:04:05Z"
    )
    manifest = oci_artifacts.parse_manifest(made.manifest, oci_artifacts.OCI_MANIFEST)

    assert manifest.config is not None
    assert manifest.config.media_type == "application/vnd.cncf.helm.config.v1+json"
    assert manifest.layers[0].media_type == "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    assert manifest.layers[0].digest == oci_artifacts.content_digest(b"tgz")
    assert manifest.annotations == {
        "org.opencontainers.image.title": "web",
        "org.opencontainers.image.version": "1.0.0+b",
        "org.opencontainers.image.created": "2026-01-02T03:04:05Z",
    }
    assert json.loads(made.config)["name"] == "web"
    assert oci_artifacts.helm_tag("1.0.0+b") == "1.0.0_b"

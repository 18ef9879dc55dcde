import json
from pathlib import Path
from typing import Any

import pytest

from firstlight.lab.sources import oci_artifacts
from firstlight.lab.sources.declarations import SourcesHome
from firstlight.lab.sources.oci_artifacts import OCI_INDEX, OCI_MANIFEST
from firstlight.lab.sources.registry_store import BlobUploads, RegistryStore, WrongDigestError


@pytest.fixture
def home(tmp_path: Path) -> SourcesHome:
    one = SourcesHome(tmp_path / "home")
    one.make()
    return one


def image(store: RegistryStore, name: str, **more: Any) -> bytes:
    config = {"mediaType": "x", "digest": store.add_blob(name, b"{}"), "size": 2}
    return json.dumps({"schemaVersion": 2, "config": config, "layers": [], **more}).encode()


def test_content_belongs_to_those_who_have_it(home: SourcesHome) -> None:
    store = RegistryStore(home)
    digest = store.add_blob("a", b"content")

    assert store.blob("b", digest) is None
    store.link("b", digest)
    store.delete_blob("a", digest)
    found = store.blob("b", digest)

    assert store.blob("a", digest) is None
    assert found is not None
    assert found.read_bytes() == b"content"


def test_names_below_names_are_apart(home: SourcesHome) -> None:
    store = RegistryStore(home)
    for name in ("team", "team/a", "team/a/b", "other"):
        store.put_manifest(name, image(store, name), OCI_MANIFEST, tag=name.rpartition("/")[2])
    store.add_blob("only/blobs", b"x")

    assert store.repositories() == ("other", "team", "team/a", "team/a/b")
    assert store.delete_repository("team/a")
    assert not store.delete_repository("team/a")
    assert store.repositories() == ("other", "team", "team/a/b")
    assert store.tags("team/a/b") == ("b",)
    assert store.tags("team/a") == ()


def test_a_tag_moves_and_its_old_manifest_stays(home: SourcesHome) -> None:
    store = RegistryStore(home)
    old = store.put_manifest("a", image(store, "a"), OCI_MANIFEST, tag="latest")
    new = store.put_manifest("a", image(store, "a", annotations={"n": "2"}), OCI_MANIFEST, tag="latest")
    tagged = store.manifest("a", "latest")

    assert tagged is not None
    assert tagged.digest == new
    assert store.manifest("a", old) is not None
    assert store.delete_manifest("a", new)
    assert store.manifest("a", "latest") is None


def test_an_index_needs_its_manifests(home: SourcesHome) -> None:
    store = RegistryStore(home)
    content = image(store, "a")
    part = {"mediaType": OCI_MANIFEST, "digest": oci_artifacts.content_digest(content), "size": len(content)}
    index = oci_artifacts.parse_manifest(json.dumps({"schemaVersion": 2, "manifests": [part]}).encode(), OCI_INDEX)

    assert store.missing("a", index) == part["digest"]
    store.put_manifest("a", content, OCI_MANIFEST)
    assert store.missing("a", index) == ""
    assert store.missing("b", index) == part["digest"]


def test_what_nobody_has_is_swept_and_nothing_else(home: SourcesHome) -> None:
    store = RegistryStore(home)
    kept = store.put_manifest("a", image(store, "a"), OCI_MANIFEST, tag="v1")
    gone = store.add_blob("b", b"gone")
    store.delete_blob("b", gone)

    assert store.sweep() == 1
    store.link("b", gone)
    assert store.blob("b", gone) is None, "a link without its content is none"
    assert store.manifest("a", "v1") is not None
    assert store.blob("a", kept) is not None
    assert RegistryStore(home).sweep() == 0


async def test_an_upload_ends_with_what_was_announced_or_with_nothing(home: SourcesHome) -> None:
    store, uploads = RegistryStore(home), BlobUploads(home)

    async def chunks(*parts: bytes) -> Any:
        for part in parts:
            yield part

    async def broken() -> Any:
        yield b"half of"
        raise ConnectionResetError

    good = uploads.start("a")
    bad = uploads.start("a")
    assert good is not None
    assert bad is not None
    await good.append(chunks(b"one ", b"two "))
    with pytest.raises(ConnectionResetError):
        await good.append(broken())
    assert good.size == 8
    await good.append(chunks(b"three"))
    await bad.append(chunks(b"something else"))
    digest = oci_artifacts.content_digest(b"one two three")

    store.adopt("a", digest, await uploads.complete(good, digest))
    with pytest.raises(WrongDigestError, match="14 bytes"):
        await uploads.complete(bad, digest)

    found = store.blob("a", digest)
    assert found is not None
    assert found.read_bytes() == b"one two three"
    assert uploads.get("a", good.id) is None
    assert uploads.get("a", bad.id) is None
    assert list(home.scratch.iterdir()) == []


def test_an_upload_belongs_to_its_repository(home: SourcesHome) -> None:
    uploads = BlobUploads(home)
    upload = uploads.start("a")
    assert upload is not None
    assert uploads.get("b", upload.id) is None
    assert uploads.get("a", upload.id) is upload
    uploads.drop(upload)
    assert uploads.get("a", upload.id) is None

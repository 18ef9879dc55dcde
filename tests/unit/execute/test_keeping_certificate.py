"""Certificates in files: whole, where they belong, and an incomplete one never in the place of a complete one."""

import dataclasses
import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.execute.handover import certificate_store
from firstlight.model.certificate import Certificate, CertificateClaim, CertificateStage, ClaimProof, ObjectProof
from firstlight.model.component import ObjectId
from firstlight.ownership import certificate_seal

EMPTY = certificate_seal.seal(
    Certificate(
        cluster="infra",
        uid="u",
        engine="flux",
        revision="abc",
        run="r",
        at=1,
        baseline_at=1,
        stage=CertificateStage.FINAL,
        objects=(),
    )
)


def test_an_incomplete_one_is_kept_under_another_name(tmp_path: Path) -> None:
    directory = tmp_path / ".firstlight" / "infra"

    path = certificate_store.keep_incomplete(EMPTY, directory)

    assert sorted(each.name for each in directory.iterdir()) == [
        "certificate.incomplete.html", "certificate.incomplete.json",
    ]  # fmt: skip
    assert certificate_store.read(path).certificate == EMPTY
    assert "not complete" in path.with_suffix(".html").read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_file_of_this_very_cluster_is_a_copy(tmp_path: Path) -> None:
    proof = ClaimProof(claim=CertificateClaim.OWNED, holds=True)
    one = ObjectProof(
        id=ObjectId("", "ConfigMap", "web", "a"), component="web", manager="m", owner="o", uid="1", proofs=(proof,)
    )
    whole = certificate_seal.seal(dataclasses.replace(EMPTY, objects=(one,)))
    path = tmp_path / certificate_store.FILE

    assert certificate_store.copy_of(tmp_path, uid="u") is None
    path.write_bytes(certificate_store.encoded(whole))
    assert certificate_store.copy_of(tmp_path, uid="u") == certificate_store.made(whole)
    assert certificate_store.copy_of(tmp_path, uid="another") is None
    for bad in (dataclasses.replace(whole, at=2), EMPTY):
        path.write_bytes(certificate_store.encoded(bad))
        assert certificate_store.copy_of(tmp_path, uid="u") is None, "changed, or not complete"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    directory, outside = tmp_path / ".firstlight" / "infra", tmp_path / "outside"
    outside.mkdir()
    directory.parent.mkdir()
    directory.symlink_to(outside)

    with pytest.raises(errors.Refused, match="is a link"):
        certificate_store.keep_incomplete(EMPTY, directory)

    assert not list(outside.iterdir())


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"cluster": 1}', "\x00", '{"cluster": "infra", "objects": 7}'])
def test_what_is_no_certificate_is_said_to_be_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(content)

    with pytest.raises(errors.ConfigError, match="this is no certificate") as caught:
        certificate_store.read(path)

    assert str(path) in str(caught.value)
    assert caught.value.hint


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="cannot be read"):
        certificate_store.read(tmp_path / "none.json")


def test_the_file_is_what_the_cluster_has(tmp_path: Path) -> None:
    directory = tmp_path / ".firstlight" / "infra"

    path = certificate_store.keep_copy(certificate_store.made(EMPTY), directory)
    assert certificate_store.read(path).certificate == EMPTY
    written = path.stat().st_mtime_ns
    assert certificate_store.keep_copy(certificate_store.made(EMPTY), directory) == path
    assert path.stat().st_mtime_ns == written, "the same one is left alone"

    path.write_bytes(path.read_bytes().replace(b'"uid": "u"', b'"uid": "another"'))
    assert certificate_store.keep_copy(certificate_store.made(EMPTY), directory) == path
    assert certificate_store.read(path).certificate == EMPTY
    assert path.with_suffix(".html").exists()


def _written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / certificate_store.FILE
    path.write_bytes(content)
    return path


def test_the_seal_is_of_the_json_as_it_is_written(tmp_path: Path) -> None:
    """One that another version of firstlight made has keys more or less, and is as good as it was."""
    value = json.loads(certificate_store.encoded(EMPTY))
    del value["kept"]
    value["of_a_newer_one"] = {"ä": [1]}
    value["digest"] = hashlib.sha256(certificate_seal.canonical_json(value)).hexdigest()

    found = certificate_store.read(_written(tmp_path, json.dumps(value).encode()))

    assert found.is_sealed
    signed = found.signed("by me")
    assert signed.is_sealed, "a signature is beside it"
    assert signed.certificate.signature == "by me"
    assert json.loads(signed.content)["of_a_newer_one"] == {"ä": [1]}, "nothing of it is lost"
    assert certificate_store.read(certificate_store.keep_copy(signed, tmp_path)).is_sealed


def test_what_is_added_breaks_the_seal(tmp_path: Path) -> None:
    value = {**json.loads(certificate_store.encoded(EMPTY)), "extra": "approved"}

    assert not certificate_store.read(_written(tmp_path, json.dumps(value).encode())).is_sealed
    assert certificate_store.copy_of(tmp_path, uid="u") is None


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (b'"engine": "flux"', b'"engine": "argocd", "engine": "flux"', "the key 'engine' twice"),
        (b'"released": []', b'"released": [], "more": {"a": 1, "a": 2}', "the key 'a' twice"),
        (b'"released": []', b'"released": [], "more": 1.5', "1.5 is no whole number"),
        (b'"released": []', b'"released": [], "more": NaN', "this is no certificate"),
    ],
)  # fmt: skip
def test_what_programs_read_in_different_ways_is_none(tmp_path: Path, before: bytes, after: bytes, said: str) -> None:
    content = certificate_store.encoded(EMPTY)
    assert before in content

    with pytest.raises(errors.ConfigError, match=said):
        certificate_store.read(_written(tmp_path, content.replace(before, after)))


def test_jq_makes_the_same_seal(tmp_path: Path) -> None:
    """As docs/certificate.md says it."""
    if shutil.which("jq") is None:
        pytest.skip("there is no jq")
    text = (Path(__file__).parents[3] / "docs/certificate.md").read_text()
    line = next(each for each in text.splitlines() if each.startswith("jq -cS"))
    odd = certificate_seal.seal(dataclasses.replace(EMPTY, cluster='ä › "b"\\\n', kept=("a/b", "\u00e9")))
    _written(tmp_path, certificate_store.encoded(odd))

    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=True, text=True)

    assert done.stdout.split()[0] == odd.digest

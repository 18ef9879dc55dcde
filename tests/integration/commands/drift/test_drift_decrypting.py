"""Secrets that sops has encrypted are compared as the engine applies them."""

import dataclasses
from pathlib import Path

import pytest
import yaml

from firstlight.commands.drift import expected_state
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.ownership.drift_judgement import WantedObject
from firstlight.secrets import age_keys
from firstlight.tools import install
from tests.integration.secrets.encrypted_repo import MINE, EncryptedRepo

CANARY = "s3cr3t-canary"
MANIFEST = f"apiVersion: v1\nkind: Secret\nmetadata:\n    name: token\nstringData:\n    token: {CANARY}\n"


async def _wanted(root: Path, manifest: str = MANIFEST) -> tuple[WantedObject, Path]:
    """As kustomize renders it: with a namespace that was not there when it was encrypted."""
    program = (await install.ensure(["sops"]))["sops"]
    repo = EncryptedRepo(root, program)
    repo.rule(age_keys.recipient(MINE), more="encrypted_regex: ^(data|stringData)$")
    value = yaml.safe_load(repo.encrypt("token.sops.yaml", manifest).read_text())
    value["metadata"]["namespace"] = "web"
    owner = ObjectOwner(Party.FLUX, "Kustomization flux-system/web")
    return WantedObject(object=Object(value), component="web", manager="kustomize-controller", owner=owner), program


async def test_a_secret_is_decrypted_although_kustomize_has_changed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY", age_keys.identity(MINE).reveal().decode())
    wanted, program = await _wanted(tmp_path)

    (found,), why = await expected_state.decrypted((wanted,), program)

    assert found.object.value["stringData"] == {"token": CANARY}
    assert found.object.value["metadata"] == {"name": "token", "namespace": "web"}
    assert "sops" not in found.object.value
    assert why == ()


async def test_without_the_key_it_stays_encrypted_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, program = await _wanted(tmp_path)
    for name in ("SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE", "SOPS_AGE_KEY_CMD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    (found,), (why,) = await expected_state.decrypted((wanted,), program)

    assert found == wanted
    assert "none of the keys here decrypts it" in why


@pytest.mark.parametrize(
    ("before", "after"), [("kind: Secret", "kind: ConfigMap"), ("apiVersion: v1", "apiVersion: keys.example.org/v1")]
)
async def test_what_is_no_secret_stays_encrypted_since_it_would_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY", age_keys.identity(MINE).reveal().decode())
    wanted, program = await _wanted(tmp_path, MANIFEST.replace(before, after).replace("stringData", "data"))

    assert await expected_state.decrypted((wanted,), program) == ((wanted,), ())


async def test_variables_in_what_is_encrypted_are_not_taken_for_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY", age_keys.identity(MINE).reveal().decode())
    wanted, program = await _wanted(tmp_path, MANIFEST.replace(CANARY, "${TOKEN}"))
    definition = {"kind": "Kustomization", "spec": {"postBuild": {"substitute": {"A": "b"}}}}
    replaced = dataclasses.replace(wanted, definition=definition)

    (found,), (why,) = await expected_state.decrypted((replaced,), program)
    (plain,), _ = await expected_state.decrypted((wanted,), program)

    assert not found.is_known
    assert "has variables in what is encrypted" in why
    assert plain.is_known

"""What is played beside a rehearsal."""

import base64
from pathlib import Path
from typing import Any

from firstlight.commands.rehearse import stand_ins


def external(name: str, *, ready: bool = True, **spec: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {"metadata": {"name": name, "namespace": "web"}, "spec": spec, "status": {"conditions": conditions}}


def test_a_secret_has_the_keys_that_are_asked_for() -> None:
    wanted = external("notes", data=[{"secretKey": "password"}, {"secretKey": "tls.key"}], target={"name": "other"})

    (made,) = stand_ins.secrets([wanted])

    assert made["metadata"] == {"name": "other", "namespace": "web"}
    assert base64.b64decode(made["data"]["tls.key"]).startswith(b"-----BEGIN PRIVATE KEY")
    assert made["data"].keys() == {"password", "tls.key"}


def test_a_template_says_the_keys() -> None:
    wanted = external("notes", data=[{"secretKey": "a"}], target={"template": {"data": {"config.yaml": "{{ .a }}"}}})
    (made,) = stand_ins.secrets([wanted])
    assert (made["metadata"]["name"], list(made["data"])) == ("notes", ["config.yaml"])


def test_without_its_store_there_is_no_secret() -> None:
    assert (
        list(stand_ins.secrets([external("notes", ready=False), {"metadata": {"name": "new", "namespace": "x"}}])) == []
    )


def test_the_kinds_of_the_operator_are_read(tmp_path: Path) -> None:
    (tmp_path / "crds" / "v2").mkdir(parents=True)
    (tmp_path / "crds" / "v2" / "a.yaml").write_text("kind: CustomResourceDefinition\nmetadata: {name: a}\n---\n")
    assert [each["metadata"]["name"] for each in stand_ins.cilium_crds(tmp_path)] == ["a"]

"""The entries of a cluster in the user's own files: nothing else changes, and nothing is written over."""

import base64
import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.execute import access_files
from firstlight.model.secret import Secret
from tests.unit.execute.test_cluster_identity import NOW, certificate

LATER = NOW + datetime.timedelta(days=100)


def encoded(name: str, *, days: int = 3650) -> str:
    return base64.b64encode(certificate(name, days=days)).decode()


AUTHORITY = encoded("ca")


def kubeconfig(name: str = "infra", *, authority: str = AUTHORITY, days: int = 365) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": "https://x:6443", "certificate-authority-data": authority}}],
        "users": [{"name": f"admin@{name}", "user": {"client-certificate-data": encoded("me", days=days)}}],
        "contexts": [{"name": f"admin@{name}", "context": {"cluster": name, "user": f"admin@{name}"}}],
        "current-context": f"admin@{name}",
    }  # fmt: skip


def talosconfig(name: str = "infra", *, authority: str = AUTHORITY, days: int = 365) -> dict[str, Any]:
    context = {"endpoints": ["10.5.0.2"], "ca": authority, "crt": encoded("me", days=days), "key": "x"}
    return {"context": name, "contexts": {name: context}}


def secret(value: dict[str, Any]) -> Secret:
    return Secret(yaml.dump(value))


def test_a_file_that_is_not_there_is_made_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config"

    assert access_files.merge_kubeconfig(path, secret(kubeconfig()), now=NOW)

    assert path.stat().st_mode & 0o777 == 0o600
    assert yaml.safe_load(path.read_text()) == kubeconfig() | {"users": yaml.safe_load(path.read_text())["users"]}
    assert [each.name for each in path.parent.iterdir()] == ["config"]


def test_other_entries_and_the_current_context_stay(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.dump({**kubeconfig("other"), "preferences": {"colors": True}}))

    assert access_files.merge_kubeconfig(path, secret(kubeconfig()), now=NOW)

    merged = yaml.safe_load(path.read_text())
    assert [each["name"] for each in merged["clusters"]] == ["other", "infra"]
    assert merged["current-context"] == "admin@other"
    assert merged["preferences"] == {"colors": True}


def test_a_second_time_nothing_is_written(tmp_path: Path) -> None:
    kube, talos = tmp_path / "kube", tmp_path / "talos"
    access_files.merge_kubeconfig(kube, secret(kubeconfig()), now=NOW)
    access_files.merge_talosconfig(talos, secret(talosconfig()), now=NOW)
    before = kube.stat().st_ino, talos.stat().st_ino

    assert not access_files.merge_kubeconfig(kube, secret(kubeconfig()), now=LATER)
    assert not access_files.merge_talosconfig(talos, secret(talosconfig()), now=LATER)

    assert (kube.stat().st_ino, talos.stat().st_ino) == before


def test_a_certificate_that_ends_soon_is_replaced(tmp_path: Path) -> None:
    kube, talos = tmp_path / "kube", tmp_path / "talos"
    access_files.merge_kubeconfig(kube, secret(kubeconfig(days=110)), now=NOW)
    access_files.merge_talosconfig(talos, secret(talosconfig(days=110)), now=NOW)

    assert access_files.merge_kubeconfig(kube, secret(kubeconfig()), now=LATER)
    assert access_files.merge_talosconfig(talos, secret(talosconfig()), now=LATER)

    assert len(yaml.safe_load(kube.read_text())["users"]) == 1


def test_entries_of_another_cluster_with_the_same_name_are_refused(tmp_path: Path) -> None:
    kube, talos = tmp_path / "kube", tmp_path / "talos"
    kube.write_text(yaml.dump(kubeconfig(authority=encoded("ca"))))
    talos.write_text(yaml.dump(talosconfig(authority=encoded("ca"))))
    before = kube.read_text(), talos.read_text()

    with pytest.raises(errors.Refused, match="has a cluster infra already"):
        access_files.merge_kubeconfig(kube, secret(kubeconfig()), now=NOW)
    with pytest.raises(errors.Refused, match="has a context infra already"):
        access_files.merge_talosconfig(talos, secret(talosconfig()), now=NOW)

    assert (kube.read_text(), talos.read_text()) == before


def test_a_user_of_the_same_name_without_the_cluster_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.dump({"users": kubeconfig()["users"]}))

    with pytest.raises(errors.Refused, match="has a user admin@infra already"):
        access_files.merge_kubeconfig(path, secret(kubeconfig()), now=NOW)


@pytest.mark.parametrize("text", ["{", "- a\n"])
def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)

    with pytest.raises(errors.ConfigError, match="this is no"):
        access_files.merge_talosconfig(path, secret(talosconfig()), now=NOW)

    assert path.read_text() == text


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(yaml.dump(talosconfig("other")))
    link = tmp_path / "link"
    link.symlink_to("real")

    access_files.merge_talosconfig(link, secret(talosconfig()), now=NOW)

    assert link.is_symlink()
    assert [*yaml.safe_load((tmp_path / "real").read_text())["contexts"]] == ["other", "infra"]


@pytest.mark.parametrize("linked", ["infra/kubeconfig", "infra", "."])
def test_a_link_in_the_directory_of_a_repo_is_refused(tmp_path: Path, linked: str) -> None:
    own = tmp_path / "home"
    own.mkdir()
    (own / "kubeconfig").write_text(yaml.dump(kubeconfig("other")))
    path = tmp_path / "repo" / ".firstlight" / "infra" / "kubeconfig"
    link = tmp_path / "repo" / ".firstlight" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(own / "kubeconfig" if linked.endswith("kubeconfig") else own)

    with pytest.raises(errors.Refused, match="is a link"):
        access_files.merge_kubeconfig(path, secret(kubeconfig()), now=NOW)

    assert [each.name for each in own.iterdir()] == ["kubeconfig"]
    assert yaml.safe_load((own / "kubeconfig").read_text())["current-context"] == "admin@other"


def test_nothing_is_read_through_a_link_of_a_repo_either(tmp_path: Path) -> None:
    path = tmp_path / ".firstlight" / "infra" / "kubeconfig"
    path.parent.mkdir(parents=True)
    (tmp_path / "own").write_text(yaml.dump(kubeconfig()))
    path.symlink_to(tmp_path / "own")

    with pytest.raises(errors.Refused, match="is a link"):
        access_files.merge_kubeconfig(path, secret(kubeconfig()), now=NOW)


def test_a_file_in_the_directory_of_a_repo_is_made_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / ".firstlight" / "infra" / "kubeconfig"

    assert access_files.merge_kubeconfig(path, secret(kubeconfig()), now=NOW)

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / ".firstlight" / ".gitignore").read_text() == "*\n"

"""``firstlight decide`` on what is wrong before any rule is asked: broken files, readable secrets, names of nothing."""

import json
from pathlib import Path

from tests.integration.commands.decide.git_repo import PEERS, Decide, git, replace

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: net}\nstringData: {password: correct-horse}\n"


def test_a_broken_file_is_repaired_first(repo: Path, decide: Decide) -> None:
    replace(repo, PEERS, "spec:", "spec: [")

    found = decide()

    (item,) = found["items"]
    assert item["line"] > 0
    assert found["procedure"][0]["text"].startswith(f"repair {PEERS}:{item['line']}:")
    assert f"{PEERS}:{item['line']}" in decide(form="text").splitlines()[2]


def test_a_secret_in_clear_text_fails_the_check_before(repo: Path, decide: Decide) -> None:
    (repo / "kubernetes/bgp/secret.yaml").write_text(SECRET)

    found = decide("--check", "pre")

    assert decide.code == 2
    assert (found["risk"], found["items"][0]["rulings"][0]["rule"]) == ("high", "clear-text-secret")
    (check,) = [each for each in found["checks"] if each["id"] == "no-clear-text"]
    assert check["state"] == "failed"
    assert found["procedure"][0]["text"].startswith("kubernetes/bgp/secret.yaml is encrypted")
    assert "correct-horse" not in json.dumps(found)


def test_a_file_that_its_kustomization_lists_by_another_name(repo: Path, decide: Decide) -> None:
    """The kustomization is no change of its own, and is still part of the commit."""
    (repo / "kubernetes/bgp/kustomization.yaml").write_text("resources: [peers.yaml]\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "-m", "listed")
    (repo / PEERS).rename(repo / "kubernetes/bgp/routers.yaml")
    (repo / "kubernetes/bgp/kustomization.yaml").write_text("resources: [routers.yaml]\n")

    found = decide()

    assert {each["path"] for each in found["items"]} == {"kubernetes/bgp/routers.yaml"}
    assert {each["verb"] for each in found["items"]} == {"moved"}
    (add,) = [each["command"] for each in found["procedure"] if each["command"].startswith("git add")]
    assert "kubernetes/bgp/kustomization.yaml" in add
    assert "kubernetes/bgp/routers.yaml" in add


def test_no_such_cluster_also_where_nothing_differs(repo: Path, decide: Decide) -> None:
    found = decide("--cluster", "infar")

    assert decide.code == 64
    assert found["error"] == {"message": "there is no cluster infar", "hint": "Did you mean infra?"}
    assert decide("--cluster", "infra")["changed"] is False
    assert decide.code == 0

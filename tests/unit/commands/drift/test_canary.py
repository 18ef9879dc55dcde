"""Which object carries the label of a canary: harmless, small, and in Git as it is."""

from pathlib import Path
from typing import Any

import pytest

from firstlight.commands.handover import canary
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object

SETTINGS = """# what people wrote
apiVersion: v1
kind: ConfigMap
metadata:
  name: large   # a comment
  namespace: web
data: {word: "hello, hello, hello"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: small, namespace: web}
"""


def passing(
    kind: str, name: str, *, namespace: str = "web", owner: str = "Kustomization flux/all", **rest: Any
) -> Passing:
    """What an engine owns."""
    value = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, **rest}
    return Passing(
        object=Object(value), component="web", manager="kustomize-controller", owner=ObjectOwner(Party.FLUX, owner)
    )  # fmt: skip


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps/settings.yaml").write_text(SETTINGS)
    (tmp_path / "broken.yaml").write_text("a: [")
    return tmp_path


def test_the_smallest_one(repo: Path) -> None:
    found = canary.choose(
        [passing("ConfigMap", "large", data={"word": "hello, hello, hello"}), passing("ConfigMap", "small")], repo
    )

    assert found is not None
    assert (found.file, found.document) == ("apps/settings.yaml", 1)
    assert str(found) == "ConfigMap web/small (apps/settings.yaml)"


def test_nothing_that_does_harm_or_that_git_only_renders(repo: Path) -> None:
    assert canary.choose([passing("Secret", "small"), passing("Deployment", "small")], repo) is None
    assert canary.choose([passing("ConfigMap", "generated")], repo) is None
    assert canary.choose([passing("ConfigMap", "small", owner="HelmRelease web/web")], repo) is None


def test_what_is_in_the_repo_twice_may_be_another_clusters(repo: Path) -> None:
    (repo / "again.yaml").write_text(SETTINGS)
    assert canary.choose([passing("ConfigMap", "small")], repo) is None


def test_only_the_label_is_added(repo: Path) -> None:
    bird = canary.CanaryObject(passing=passing("ConfigMap", "large"), file="apps/settings.yaml", document=0)

    made = canary._labelled(SETTINGS.encode(), bird, "1794823900").decode()

    assert "# a comment" in made
    assert made.count("\n") - SETTINGS.count("\n") in (1, 2)
    assert canary.LABEL in made
    assert made.partition("---")[2] == SETTINGS.partition("---")[2]

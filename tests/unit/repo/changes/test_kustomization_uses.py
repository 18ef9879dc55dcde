"""Kustomizations that list the same by other names."""

from pathlib import Path

import pytest

from tests.unit.repo.changes.states import changes, shown

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: b}\n"
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n"


def kustomized(root: Path, before: dict[str, str], after: dict[str, str], **rest: str) -> list[str]:
    """What differs of the kustomization itself; the rest is the same in both states."""
    found = changes(root, before, after, rest={path.replace("__", "/"): text for path, text in rest.items()})
    return [line for each in found if each.title == "kustomization" for line in shown((each,))]


def test_a_file_by_another_name(tmp_path: Path) -> None:
    before = {"k/kustomization.yaml": "resources: [x.yaml, a.yaml]\n", "k/a.yaml": CONFIG % "a"}
    after = {"k/kustomization.yaml": "resources: [b.yaml, x.yaml]\n", "k/b.yaml": f"# moved\n{CONFIG % 'a'}"}

    assert kustomized(tmp_path, before, after) == []
    other = {**after, "k/b.yaml": CONFIG % "b"}
    assert kustomized(tmp_path, before, other) == [
        "kustomize changed kustomization",
        "  removed resources[1]: 'a.yaml' -> None",
        "  added resources[0]: None -> 'b.yaml'",
    ]


def test_what_comes_besides_is_told(tmp_path: Path) -> None:
    before = {"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": CONFIG % "a"}
    after = {
        "k/kustomization.yaml": "resources: [b.yaml, c.yaml]\nnamePrefix: x\n",
        "k/b.yaml": CONFIG % "a",
        "k/c.yaml": CONFIG % "c",
    }

    assert kustomized(tmp_path, before, after) == [
        "kustomize changed kustomization",
        "  added resources[1]: None -> 'c.yaml'",
        "  added namePrefix: None -> 'x'",
    ]


def test_a_file_in_parts(tmp_path: Path) -> None:
    both = f"{CONFIG % 'a'}---\n{CONFIG % 'b'}"
    one = {"k/kustomization.yaml": "resources: [all.yaml]\n", "k/all.yaml": both}
    two = {
        "k/kustomization.yaml": "resources: [a.yaml, b.yaml]\n",
        "k/a.yaml": CONFIG % "a",
        "k/b.yaml": CONFIG % "b",
    }

    assert kustomized(tmp_path / "apart", one, two) == []
    assert kustomized(tmp_path / "together", two, one) == []
    lost = {**two, "k/kustomization.yaml": "resources: [a.yaml]\n"}
    assert "  removed resources[0]: 'all.yaml' -> None" in kustomized(tmp_path / "lost", one, lost)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("patches: [{path: a.yaml}, {path: x.yaml}]\n", "patches: [{path: b.yaml}, {path: x.yaml}]\n"),
        (
            "patches: [{path: a.yaml, target: {kind: Deployment}}]\n",
            "patches: [{path: b.yaml, target: {kind: Deployment}}]\n",
        ),
        ("patchesStrategicMerge: [a.yaml]\n", "patchesStrategicMerge: [b.yaml]\n"),
    ],
)
def test_patches(tmp_path: Path, old: str, new: str) -> None:
    before = {"k/kustomization.yaml": old, "k/a.yaml": PATCH}
    after = {"k/kustomization.yaml": new, "k/b.yaml": PATCH}

    assert kustomized(tmp_path, before, after) == []
    assert kustomized(tmp_path, before, {**after, "k/b.yaml": PATCH.replace("web", "shop")}) != []


def test_directories(tmp_path: Path) -> None:
    inner = {"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": CONFIG % "a"}
    old = {"k/kustomization.yaml": "resources: [one]\n", **{f"k/one/{name}": text for name, text in inner.items()}}
    new = {"k/kustomization.yaml": "resources: [two]\n", **{f"k/two/{name}": text for name, text in inner.items()}}

    moved = "kustomize moved kustomization from k/one/kustomization.yaml"
    assert kustomized(tmp_path / "same", old, new) == [moved]
    other = kustomized(tmp_path / "other", old, {**new, "k/two/a.yaml": CONFIG % "b"})
    assert "  removed resources[0]: 'one' -> None" in other
    # From another directory .. leads elsewhere.
    outside = "resources: [../base]\n"
    leading = {**old, "k/one/kustomization.yaml": outside}, {**new, "k/two/kustomization.yaml": outside}
    assert "  removed resources[0]: 'one' -> None" in kustomized(tmp_path / "outside", *leading)


@pytest.mark.parametrize("text", ["a: [\n", None])
def test_what_cannot_be_read_is_not_the_same(tmp_path: Path, text: str | None) -> None:
    before = {"k/kustomization.yaml": "resources: [a.yaml]\n", **({"k/a.yaml": text} if text else {})}
    after = {"k/kustomization.yaml": "resources: [b.yaml]\n", **({"k/b.yaml": text} if text else {})}

    assert len(kustomized(tmp_path, before, after)) == 3


def test_remote_bases(tmp_path: Path) -> None:
    old, new = (f"resources: ['https://example.org/base?ref=v{version}']\n" for version in (1, 2))

    assert len(kustomized(tmp_path, {"k/kustomization.yaml": old}, {"k/kustomization.yaml": new})) == 3

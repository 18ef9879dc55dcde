"""Edits made in memory, shown as a diff, and written."""

import os
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import EditVerb, FileEdit, Finding
from firstlight.model.place import Place
from firstlight.repo import file_patch
from firstlight.repo.work_tree import WorkTree

LIST = "items:\n  - one\n  - two\n  - three  # the last\nother: 1\n"


def finding(*edits: FileEdit, rule: str = "one") -> Finding:
    return Finding(code=rule, severity=Severity.ERROR, message="m", places=(Place(edits[0].path),), edits=edits)


def edit(*steps: str | int, verb: EditVerb = EditVerb.SET, path: str = "a.yaml", value: Any = None) -> FileEdit:
    return FileEdit(path=path, verb=verb, steps=steps, value=value)


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    (tmp_path / "a.yaml").write_text(LIST)
    return WorkTree(tmp_path)


def test_removals_of_several_findings_take_what_was_meant(tree: WorkTree) -> None:
    made = file_patch.patch(
        tree,
        [
            finding(edit("items", 0, verb=EditVerb.REMOVE)),
            finding(edit("items", 1, verb=EditVerb.REMOVE)),
            finding(edit("other", value=2)),
        ],
    )

    assert made.after == {"a.yaml": b"items:\n  - three  # the last\nother: 2\n"}
    assert len(made.fixed) == 3


def test_an_edit_that_cannot_be_made_leaves_out_its_finding_alone(tree: WorkTree) -> None:
    made = file_patch.patch(tree, [finding(edit("other", "deep", "er", value=1)), finding(edit("other", value=2))])

    assert [why for _, why in made.refused] != [""]
    assert (len(made.refused), len(made.fixed)) == (1, 1)
    assert made.after == {"a.yaml": LIST.replace("other: 1", "other: 2").encode()}


def test_two_that_cannot_both_be_made_leave_the_worse_one(tree: WorkTree) -> None:
    made = file_patch.patch(
        tree, [finding(edit("new", value={"a": 1})), finding(edit("new", "b", value=2), edit("other", "x", value=1))]
    )

    assert len(made.fixed) == 1


def test_equal_edits_of_two_findings_are_made_once(tree: WorkTree) -> None:
    one = edit("items", verb=EditVerb.APPEND, value={"name": "four"})

    made = file_patch.patch(tree, [finding(one), finding(one)])

    assert (made.after["a.yaml"] or b"").decode().count("four") == 1


def test_a_file_with_secrets_in_clear_is_not_shown(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: hunter2}\n"
    (tmp_path / "a.yaml").write_text(text)

    made = file_patch.patch(WorkTree(tmp_path), [finding(edit("type", value="Opaque"))])

    assert made.diff == ""
    assert "secrets in clear" in made.refused[0][1]
    assert "hunter2" not in str(made.refused)


@pytest.mark.parametrize("path", ["../outside.yaml", "/etc/outside.yaml", "link/outside.yaml"])
def test_nothing_outside_of_the_repo_is_written(tmp_path: Path, path: str) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)

    made = file_patch.patch(WorkTree(root), [finding(edit(verb=EditVerb.WRITE, path=path, value="a: 1\n"))])

    assert "is outside of the repo" in made.refused[0][1]
    assert made.after == {}


def test_files_are_written_with_their_permissions_and_new_ones_appear(tree: WorkTree) -> None:
    (tree.root / "a.yaml").chmod(0o640)
    made = file_patch.patch(
        tree, [finding(edit("other", value=2)), finding(edit(verb=EditVerb.WRITE, path="new/b.yaml", value="b: 1\n"))]
    )

    file_patch.write(tree, made)

    assert (tree.root / "a.yaml").read_text().endswith("other: 2\n")
    assert (tree.root / "a.yaml").stat().st_mode & 0o777 == 0o640
    assert (tree.root / "new/b.yaml").read_text() == "b: 1\n"
    assert sorted(os.listdir(tree.root)) == ["a.yaml", "new"]


def test_a_file_goes_and_stands_elsewhere(tree: WorkTree) -> None:
    gone, new = edit(verb=EditVerb.DELETE), edit(verb=EditVerb.WRITE, path="b/a.yaml", value=LIST)
    made = file_patch.patch(tree, [finding(gone, new)])

    file_patch.write(tree, made)

    assert made.after == {"a.yaml": None, "b/a.yaml": LIST.encode()}
    assert made.diff.startswith("--- a/a.yaml\n+++ /dev/null\n")
    assert os.listdir(tree.root) == ["b"]
    assert not made.laid_over(tree).is_file("a.yaml")


def test_a_file_that_went_is_put_back_where_another_cannot_be_written(
    tree: WorkTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, new = edit(verb=EditVerb.DELETE), edit(verb=EditVerb.WRITE, path="b.yaml", value=LIST)
    made = file_patch.patch(tree, [finding(gone, new)])
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        if target.name == "b.yaml":
            raise OSError("the disk is full")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="full"):
        file_patch.write(tree, made)

    assert (tree.root / "a.yaml").read_text() == LIST
    assert os.listdir(tree.root) == ["a.yaml"]


def test_a_file_that_goes_is_not_edited(tree: WorkTree) -> None:
    made = file_patch.patch(tree, [finding(edit(verb=EditVerb.DELETE), edit("other", value=2))])

    assert "goes, and is edited as well" in made.refused[0][1]
    assert made.after == {}


def test_a_file_that_somebody_changed_meanwhile_is_refused_and_nothing_is_written(tree: WorkTree) -> None:
    made = file_patch.patch(
        tree, [finding(edit("other", value=2)), finding(edit(verb=EditVerb.WRITE, path="b.yaml", value="b: 1\n"))]
    )
    (tree.root / "a.yaml").write_text("mine: true\n")

    with pytest.raises(errors.Refused, match="has changed since it was read"):
        file_patch.write(tree, made)
    assert (tree.root / "a.yaml").read_text() == "mine: true\n"
    assert os.listdir(tree.root) == ["a.yaml"]


def test_where_one_cannot_be_written_the_others_are_put_back(tree: WorkTree, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree.root / "b.yaml").write_text("other: 1\n")
    tree = WorkTree(tree.root)
    edits = [edit(verb=EditVerb.WRITE, path="c.yaml", value="c: 1\n"), edit("other", value=2, path="b.yaml")]
    made = file_patch.patch(tree, [finding(edit("other", value=2)), *map(finding, edits)])
    assert len(made.after) == 3
    real, done = os.replace, list[Path]()

    def replace(source: Path, target: Path) -> None:
        done.append(target)
        if len(done) == 3:
            raise OSError("the disk is full")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="full"):
        file_patch.write(tree, made)

    assert len(done) > 3
    assert (tree.root / "a.yaml").read_text() == LIST
    assert (tree.root / "b.yaml").read_text() == "other: 1\n"
    assert sorted(os.listdir(tree.root)) == ["a.yaml", "b.yaml"]


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("adminPassword: hunter2", True),
        ("token: 'abcdefgh'", True),
        ("args: [--password=hunter2]", True),
        ("secretKey: abc", True),
        ("password: ${PASSWORD}", False),
        ("password: op://vault/item/password", False),
        ("existingSecret: web", False),
        ("automountServiceAccountToken: false", False),
        ("password: ENC[AES256_GCM,data:x]", False),
        ("tokenRequests: []", False),
    ],
)
def test_a_diff_tells_no_secret_that_stands_beside_the_edit(tmp_path: Path, line: str, is_told: bool) -> None:
    (tmp_path / "a.yaml").write_text(f"values:\n  {line}\nother: 1\n")
    made = file_patch.patch(WorkTree(tmp_path), [finding(edit("other", value=2))])
    assert (len(made.refused), bool(made.after)) == ((1, False) if is_told else (0, True))
    assert "hunter2" not in "".join(why for _, why in made.refused)


def test_a_secret_far_from_the_edit_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("password: hunter2\nb: 1\nc: 1\nd: 1\ne: 1\nother: 1\n")
    made = file_patch.patch(WorkTree(tmp_path), [finding(edit("other", value=2))])
    assert made.after
    assert "hunter2" not in made.diff


EXTERNAL = """\
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: authority}
spec:
  data:
    - secretKey: ca.crt
      remoteRef: {key: authority, property: ca.crt}
other: 1
"""


@pytest.mark.parametrize(
    ("text", "is_made"),
    [
        (EXTERNAL, True),
        (
            EXTERNAL.replace("  data:\n    - ", "  data:\n    - match:\n        ").replace("kind: Ext", "kind: Push"),
            True,
        ),
        (EXTERNAL.replace("external-secrets.io/v1", "example.org/v1"), False),
        (EXTERNAL.replace("other: 1", "password: correct-horse\nother: 1"), False),
    ],
)
def test_the_name_of_a_key_is_not_a_secret(tmp_path: Path, text: str, is_made: bool) -> None:
    (tmp_path / "a.yaml").write_text(text)

    made = file_patch.patch(WorkTree(tmp_path), [finding(edit("other", value=2))])

    assert bool(made.after) is is_made


def test_an_edit_that_writes_the_name_of_a_key_is_made(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("other: 1\n")

    made = file_patch.patch(WorkTree(tmp_path), [finding(edit(verb=EditVerb.WRITE, path="new.yaml", value=EXTERNAL))])

    assert made.refused == ()
    assert set(made.after) == {"new.yaml"}


def test_an_edit_that_moves_a_secret_elsewhere_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("other: 1\n")
    text = "kind: Secret\nstringData:\n  password: correct-horse\n"

    made = file_patch.patch(WorkTree(tmp_path), [finding(edit(verb=EditVerb.WRITE, path="new.yaml", value=text))])

    assert made.after == {}
    assert len(made.refused) == 1


def test_json_stays_json(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"other": 1}\n')
    made = file_patch.patch(
        WorkTree(tmp_path),
        [finding(edit("new", path="a.json", value=1)), finding(edit("other", path="a.json", value=2), rule="two")],
    )
    assert [(each.code, why) for each, why in made.refused] == [("one", "a.json: it is JSON, which the edit is not")]
    assert made.after == {"a.json": b'{"other": 2}\n'}

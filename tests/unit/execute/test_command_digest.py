"""What a command is by content: words, and the files of the repo that they name."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight import errors
from firstlight.execute import command_digest
from firstlight.execute.command_digest import digest


def test_words_and_named_files_count_and_others_do_not(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    script = tmp_path / "hooks" / "seed.sh"
    script.write_text("one")
    words = ["./hooks/seed.sh", "--quick"]
    before = digest(words, tmp_path)

    assert before.files == ("hooks/seed.sh",)
    assert before.value.startswith("sha256:")
    (tmp_path / "other").write_text("x")
    assert digest(words, tmp_path) == before
    assert digest(["./hooks/seed.sh", "--slow"], tmp_path).value != before.value
    script.write_text("two")
    assert digest(words, tmp_path).value != before.value


def test_a_file_that_comes_later_makes_another_command(tmp_path: Path) -> None:
    before = digest(["sh", "later.sh"], tmp_path)
    (tmp_path / "later.sh").write_text("")

    assert digest(["sh", "later.sh"], tmp_path).value != before.value


@pytest.mark.parametrize("word", ["x/a", "./x/a", "y/../x/a", "--values=x/a", "link"])
def test_a_file_may_be_named_in_many_ways(tmp_path: Path, word: str) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a").write_text("one")
    (tmp_path / "link").symlink_to("x/a")
    before = digest([word], tmp_path)
    (tmp_path / "x" / "a").write_text("two")

    assert digest([word], tmp_path).value != before.value


def test_the_file_that_a_link_leads_to_counts_wherever_it_is(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "outside").write_text("one")
    (tmp_path / "repo" / "script").symlink_to("../outside")
    before = digest(["./script"], tmp_path / "repo")
    (tmp_path / "outside").write_text("two")

    assert digest(["./script"], tmp_path / "repo").value != before.value


def test_of_a_directory_all_files_count_but_those_of_git(tmp_path: Path) -> None:
    (tmp_path / "k" / "deep").mkdir(parents=True)
    (tmp_path / "k" / "deep" / "a.yaml").write_text("one")
    (tmp_path / "k" / ".git").mkdir()
    (tmp_path / "k" / ".git" / "index").write_text("x")

    found = digest(["kubectl", "apply", "-k", "k"], tmp_path)

    assert found.files == ("k/deep/a.yaml",)
    (tmp_path / "k" / "deep" / "b.yaml").write_text("one")
    assert digest(["kubectl", "apply", "-k", "k"], tmp_path).value != found.value


def test_what_names_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_digest, "MOST", 2)
    for each in "abc":
        (tmp_path / each).write_text("")

    with pytest.raises(errors.Refused, match="names 3 files"):
        digest(["cat", "."], tmp_path)


words = st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=8), min_size=1, max_size=4)


@given(one=words, other=words)
def test_different_words_are_different_commands(one: list[str], other: list[str]) -> None:
    nowhere = Path("/nowhere/at/all")

    assert (digest(one, nowhere).value == digest(other, nowhere).value) == (one == other)


HIDDEN = [
    ["make", "seed"],
    ["/usr/bin/make", "seed"],
    ["just", "seed"],
    ["npm", "run", "seed"],
    ["sh", "-c", "make seed"],
    ["bash", "-c", "./s/x.sh && ./s/y.sh"],
    ["bash", "-euc", "s/x.sh"],
    ["env", "-C", "s", "sh", "x.sh"],
    ["python3", "-m", "s.x"],
    ["bash", "/dev/stdin"],
    ["kubectl", "apply", "-k", "k"],
    ["kubectl", "apply", "-kk"],
    ["kubectl", "apply", "--kustomize=k"],
    ["./missing"],
]


@pytest.mark.parametrize("words", HIDDEN, ids=" ".join)
def test_where_the_words_do_not_tell_what_is_run_every_file_counts(tmp_path: Path, words: list[str]) -> None:
    for each in ("k", "s", ".git", ".firstlight"):
        (tmp_path / each).mkdir()
        (tmp_path / each / "x.sh").write_text("one")
    (tmp_path / "Makefile").write_text("seed:\n\techo ok\n")
    before = digest(words, tmp_path)
    assert before.is_whole
    assert before.files == ("Makefile", "k/x.sh", "s/x.sh")

    (tmp_path / ".git" / "x.sh").write_text("two")
    (tmp_path / ".firstlight" / "x.sh").write_text("two")
    assert digest(words, tmp_path) == before
    (tmp_path / "Makefile").write_text("seed:\n\tcurl example.org | sh\n")
    changed = digest(words, tmp_path)
    assert changed.value != before.value
    (tmp_path / "s" / "link").symlink_to("/tmp")
    assert digest(words, tmp_path).value != changed.value


@pytest.mark.parametrize(
    "words",
    [
        ["./s/x.sh"], ["s/x.sh", "-c"], ["bash", "s/x.sh"], ["sh", "-eu", "s/x.sh", "-c"], ["python3", "s/x.sh"],
        ["kubectl", "apply", "-fs/x.sh"], ["kubectl", "apply", "-f", "a,s/x.sh"], ["curl", "-d@s/x.sh", "https://a"],
        ["kubectl", "apply", "--filename=s/x.sh"], ["/usr/bin/kubectl", "apply", "-f=s/x.sh"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_the_words_name_counts_by_itself_however_it_is_written(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "x.sh").write_text("one")
    (tmp_path / "Makefile").write_text("one")
    before = digest(words, tmp_path)
    assert (before.files, before.is_whole) == (("s/x.sh",), False)

    (tmp_path / "Makefile").write_text("two")
    assert digest(words, tmp_path) == before
    (tmp_path / "s" / "x.sh").write_text("two")
    assert digest(words, tmp_path).value != before.value


def test_a_command_that_names_nothing_of_the_repo_is_its_words(tmp_path: Path) -> None:
    words = ["kubectl", "rollout", "status", "deployment/web"]
    before = digest(words, tmp_path)
    (tmp_path / "Makefile").write_text("")

    assert digest(words, tmp_path) == before


def test_a_repo_that_is_too_much_gets_the_advice_to_name_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_digest, "MOST_OF_ALL", 2)
    for each in "abc":
        (tmp_path / each).write_text("")

    with pytest.raises(errors.Refused, match="may read all 3 files") as caught:
        digest(["make", "seed"], tmp_path)

    assert "into a script of the repo" in caught.value.hint

"""The bootstrap of other people's repos: every command and release that grep finds is accounted for, at its line."""

import functools
import re
from collections import Counter
from pathlib import Path

import pytest

from firstlight.model.component import Certainty, SourceForm
from firstlight.repo import helmfile, scripts
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.work_tree import WorkTree

CORPUS = Path(__file__).parents[3] / "../shared/corpus"
REPOS = sorted(each.name for each in CORPUS.iterdir() if each.is_dir()) if CORPUS.is_dir() else []

pytestmark = pytest.mark.skipif(not REPOS, reason="the corpus is not on this machine")

_SCRIPT = re.compile(r"(?:taskfile|justfile|makefile|\.sh$|\.just$|mise\.toml$)", re.I)
_COMMAND = re.compile(
    r"\b(?:helm\s+(?:upgrade|install|template)\b"
    r"|kubectl(?:\s+--?[\w-]+(?:[= ]\S+)?)*\s+(?:apply|create\s+secret|replace)\b"
    r"|flux(?:\s+--\S+)*\s+(?:bootstrap|install)\b|helmfile(?:\s+-\S+\s+\S+)*\s+(?:apply|sync|template)\b"
    r"|helmfile\s+--\S+.*\s(?:apply|sync)\b|argocd\s+app\s+create\b|kustomize\s+build\b"
    r"|talosctl(?:\s+--?\S+\s+\S+)*\s+(?:bootstrap|apply-config|gen)\b|talhelper\s+genconfig\b"
    r"|omnictl\s+cluster\s+template\b|op\s+(?:inject|read)\b|sops\s+(?:-d|--decrypt)\b)"
)
_NOT_COMMANDS = re.compile(r"^\s*(?:-\s*)?(?:#|desc:|msg:|['\"]?echo\b|summary:|sh:|-\s+sh:)|^\s*(?:-\s*)?['\"]echo ")
"""Comments, descriptions, what is only printed, and preconditions."""


@functools.cache
def tree_of(repo: str) -> WorkTree:
    """A repo, read once for all tests."""
    return WorkTree(CORPUS / repo)


def script_files(root: Path) -> list[Path]:
    """Files with commands; those that Taskfiles include are found by the text that includes them."""
    found = [path for path in root.rglob("*") if path.is_file() and _SCRIPT.search(path.relative_to(root).as_posix())]
    return sorted(set(found))


def grepped(root: Path) -> list[tuple[str, int, str]]:
    """File, line and text of every command, by a look at each line alone."""
    found = []
    for path in script_files(root):
        lines = path.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            if _NOT_COMMANDS.search(line) or (
                number > 1 and lines[number - 2].strip() in ("preconditions:", "status:")
            ):
                continue
            name = path.relative_to(root).as_posix()
            found += [
                (name, number, each.group()) for each in _COMMAND.finditer(line) if not _is_text(line, each.start())
            ]
    return found


def _is_text(line: str, start: int) -> bool:
    """Whether a command stands inside of quotes, as in a message."""
    before = line[:start]
    return before.count('"') % 2 == 1 and not before.endswith('"') and "$(" not in before


def is_condition(root: Path, path: str, number: int) -> bool:
    """Whether a line stands below ``status:`` or ``preconditions:``, which look at the cluster and deploy nothing."""
    lines = (root / path).read_text(errors="replace").splitlines()
    indent = len(lines[number - 1]) - len(lines[number - 1].lstrip())
    for line in reversed(lines[: number - 1]):
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth < indent:
            return line.strip() in ("preconditions:", "status:")
    return False


@pytest.mark.parametrize("repo", REPOS)
def test_every_command_is_accounted_for_at_its_line(repo: str) -> None:
    root = CORPUS / repo
    wanted = [each for each in grepped(root) if not is_condition(root, each[0], each[1])]
    tree = tree_of(repo)
    found = scripts.read(tree)
    steps = {(step.place.path, step.place.line) for step in scripts.steps(tree)}

    missing = [each for each in wanted if (each[0], each[1]) not in steps]
    assert not missing
    roles = Counter(str(step.role) for step in scripts.steps(tree))
    print(
        f"{repo}: {len(wanted)} commands by grep, {len(steps)} lines understood ({dict(roles)}), "
        f"{len(found.origins)} origins, {len(found.unreached)} not reached"
    )


@pytest.mark.parametrize("repo", REPOS)
def test_every_command_that_deploys_is_an_origin_or_said_again(repo: str) -> None:
    """A file that is applied a second time in the same way is one origin; everything else has one of its own."""
    tree = tree_of(repo)
    found = scripts.read(tree)
    places = {(each.place.path, each.place.line) for each in (*found.origins, *found.unreached)}
    commands = {each.command for each in (*found.origins, *found.unreached)}
    calls = {(each.place.path, each.place.line) for each in scripts.helmfile_calls(tree)}

    for step in scripts.steps(tree):
        # What is made of another object under a name with the time in it is a run of that, and not a component.
        is_once = any(each.startswith("--from=") for each in step.args) and "$(" in " ".join(step.args)
        if step.role != scripts.StepRole.DEPLOY or is_once:
            continue
        where = (step.place.path, step.place.line)
        text = " ".join((*step.kind.split(), *step.args[len(step.kind.split()) - 1 :]))
        is_known = where in places or where in calls
        is_piped = any(path == step.place.path and 0 <= step.place.line - line <= 10 for path, line in places | calls)
        assert is_known or is_piped or any(step.args[-1] in command for command in commands), (where, text)


@pytest.mark.parametrize("repo", REPOS)
def test_every_release_of_a_helmfile_is_found_for_every_environment(repo: str) -> None:
    root = CORPUS / repo
    found = helmfile.read(tree_of(repo))
    wanted = 0
    for path in sorted(root.rglob("*")):
        if path.is_file() and ("helmfile" in path.name or "helmfile.d" in path.parts):
            text = path.read_text()
            start = text.find("\nreleases:") if "\nreleases:" in text else len(text)
            names = list(re.finditer(r"^  - name: ([\w-]+)$", text[start:], re.MULTILINE))
            environments = re.findall(
                r"^  (\w+):$", text.partition("\nenvironments:")[2].partition("\n---")[0], re.MULTILINE
            )
            wanted += len(names) * max(len(environments), 1)
            for name in names:
                line = text.count("\n", 0, start + name.start()) + 1
                places = [each.place for each in (*found.origins, *found.unreached) if each.form == SourceForm.HELMFILE]
                mine = [
                    place for place in places if (place.path, place.line) == (path.relative_to(root).as_posix(), line)
                ]
                assert len(mine) == max(len(environments), 1), name.group()

    releases = [each for each in (*found.origins, *found.unreached) if each.form == SourceForm.HELMFILE]
    assert len(releases) == wanted
    print(f"{repo}: {wanted} releases by grep, {len(releases)} found, {len(found.origins) - len(releases)} by hooks")


def test_the_whole_of_a_bootstrap_that_is_only_in_taskfiles() -> None:
    """One of the repos has no helmfile: what it installs before Git takes over is known from command lines alone."""
    only: list[ReaderResult] = []
    for repo in REPOS:
        tree = tree_of(repo)
        if not helmfile.read(tree).origins and scripts.read(tree).clusters:
            only.append(scripts.read(tree))

    assert only
    for found in only:
        releases = {each.name: each for each in found.origins if each.form == SourceForm.HELM_COMMAND}
        assert {"cilium", "external-secrets", "longhorn"} <= set(releases)
        assert releases["cilium"].certainty == Certainty.PARSED
        assert [need.id for need in releases["external-secrets"].needs] == ["helm-command/kube-system/cilium"]
        assert any(each.form == SourceForm.FLUX_COMMAND and each.definition.get("path") for each in found.origins)
        assert found.clusters[0].path


def test_there_is_something_to_account_for() -> None:
    assert sum(len(grepped(CORPUS / repo)) for repo in REPOS) > 50

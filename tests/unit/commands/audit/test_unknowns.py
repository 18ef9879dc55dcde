"""No rule takes what was not read for a fact: making something unknown never makes an error.

In the repos of the scenarios, values of machine configs and of bootstrap's charts become variables that only a run
fills in. What was found before may go, or be found at another place; a new error or critical is a rule that guesses.
"""

import copy
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.commands.audit import rulebook
from firstlight.model.diagnostic import Severity
from tests.unit.commands.audit import test_rules

VARIABLE = "${FILLED_IN_LATER}"
NAMES = frozenset({
    "apiVersion", "kind", "name", "namespace", "hostname", "type", "chart", "releases", "repositories", "helmfiles",
    "bases", "cmds", "deps", "includes", "tasks",
})  # fmt: skip
"""Keys that say what a thing is, and that nobody fills in later."""
Steps = tuple[str | int, ...]
Errors = set[tuple[str, str, str]]


def _leaves(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in NAMES:
                yield from _leaves(each, (*steps, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _leaves(each, (*steps, number))
    elif steps:
        yield steps


def _with_variables(text: str, chosen: int | None) -> str:
    """A file with a variable in the place of every value, or of one."""
    documents = [copy.deepcopy(each) for each in yaml.safe_load_all(text)]
    leaves = [(number, steps) for number, each in enumerate(documents) for steps in _leaves(each)]
    if chosen is not None:
        leaves = [leaves[chosen % len(leaves)]] if leaves else []
    for number, (*way, last) in leaves:
        here = documents[number]
        for step in way:
            here = here[step]
        here[last] = VARIABLE
    return yaml.safe_dump_all(documents, width=10_000)


def _is_filled_in(path: str) -> bool:
    return path.startswith(("bootstrap/", "talos/")) and path.endswith((".yaml", ".yml")) and "helmfile" not in path


def _cases() -> list[Any]:
    """Each repo of the scenarios once, with each file that a run may fill in, for the rules that look at such files."""
    found, seen = [], set()
    for case in (*test_rules._cases("quiet"), *test_rules._cases("fires")):
        rule, repo = case.values
        files = test_rules._files(repo)
        for path, text in files.items():
            key = rule, text, files.get("bootstrap/helmfile.yaml"), path
            if _is_filled_in(path) and key not in seen and (path not in _common() or rule in _NEAR):
                seen.add(key)
                found.append(pytest.param(repo, path, id=f"{case.id}-{path}"))
    return found


_NEAR = (
    "cni-missing",
    "cni-twice",
    "dns-missing",
    "dns-twice",
    "engine-unschedulable",
    "proxy-missing",
    "ranges-overlap",
)
"""Rules whose scenarios change nothing but what stands beside the files that are filled in."""


def _common() -> Mapping[str, str]:
    return test_rules._files({"like": "light"}) | test_rules._files({"like": "mesh"})


def _errors(repo: Mapping[str, Any], root: Path) -> Errors:
    root.mkdir()
    found = rulebook.findings(test_rules._scene(repo, root), rulebook.read_rulebook())
    return {
        (each.code, each.subject, ",".join(each.clusters))
        for each in found
        if each.severity.rank >= Severity.ERROR.rank
    }


@pytest.mark.parametrize(("repo", "path"), _cases())
def test_what_is_not_known_is_not_wrong(repo: Mapping[str, Any], path: str, tmp_path: Path) -> None:
    files = test_rules._files(repo)
    before = _errors(repo, tmp_path / "before")

    # Which of the values alone: another for each repo, and always the same.
    one = random.Random(f"{sorted(files.items())}{path}").randrange(1000)
    for number, chosen in enumerate((None, one)):
        unknown = {**repo, "like": None, "files": {**files, path: _with_variables(files[path], chosen)}}
        unknown.pop("like")
        after = _errors(unknown, tmp_path / f"after-{number}")
        assert after - before == set(), unknown["files"][path]

"""How a change stands in Git and in the repo, so that procedures name only what is still to be done."""

import contextlib
import dataclasses
import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from firstlight.clients.git import Git, git_errors
from firstlight.commands.decide.change_source import ChangeSource, DecisionFacts, options
from firstlight.commands.decide.repo_states import RepoStates
from firstlight.model.change import Change, Matter
from firstlight.repo.work_tree import YAML, WorkTree


async def known_facts(
    facts: DecisionFacts,
    asked: ChangeSource,
    found: RepoStates,
    *,
    changes: Sequence[Change],
    git: Path | None,
    rules: Sequence[Path],
) -> DecisionFacts:
    """The facts with all that Git and the repo tell.

    Args:
        facts: What is known of the cluster.
        asked: What was asked about.
        found: Both states.
        changes: What differs.
        git: The program.
        rules: Files with rules that were named.
    """
    named = branches = holding = gone = frozenset[str]()
    if git is not None and found.base:
        try:
            branches = frozenset(await Git(git).branches(found.root))
            holding = frozenset(await Git(git).branches(found.root, holding=found.head)) if found.head else named
            gone = await _unaddable(found, Git(git)) if not found.head and not found.is_staged else named
        except git_errors.GitError:
            pass  # the steps are then those of somebody who starts from nothing
    return dataclasses.replace(
        facts,
        asked=options(asked),
        rules=tuple(word for each in rules for word in ("--rules", str(each))),
        is_committed=found.is_committed,
        topic=found.topic,
        revert=found.revert,
        since=found.since,
        is_staged=found.is_staged,
        unaddable=gone,
        branches=branches,
        holding=holding,
        mentions=range_mentions(changes, found.after),
    )


async def _unaddable(found: RepoStates, git: Git) -> frozenset[str]:
    """Files of the change that are neither on the disk nor in the index, and that ``git add`` fails for."""
    gone = [each for each in found.paths if not found.after.is_file(each)]
    if not gone:
        return frozenset()
    head = await git.head(found.root)
    top = head.work_tree.resolve() if head.work_tree is not None else found.root
    prefix = found.root.relative_to(top).as_posix() if found.root.is_relative_to(top) else "."
    whole = {each: each if prefix == "." else f"{prefix}/{each}" for each in gone}
    in_index = await git.staged_contents(found.root, whole.values())
    return frozenset(each for each, path in whole.items() if path not in in_index)


# Where a repo still speaks of an address range that a change takes away: nobody sees that in the change.


_RANGES = frozenset({"podSubnets", "serviceSubnets", "clusterPodNets", "clusterSvcNets", "pods", "services"})
_MATTERS = (Matter.MACHINE, Matter.PLATFORM)
_OF_CILIUM = re.compile(
    r"\b(ipv[46]NativeRoutingCIDR|ipv[46]-native-routing-cidr|clusterPoolIPv[46]PodCIDRList|cluster-pool-ipv[46]-cidr)\b"
)
_MOST = 12


def range_mentions(changes: Iterable[Change], tree: WorkTree) -> tuple[str, ...]:
    """Each line that has a range which goes, or that Cilium is told its own by, as ``values.yaml:12``."""
    old = {each for change in changes if change.matter in _MATTERS for each in _gone(change)}
    if not old:
        return ()
    found = [place for path in tree.files if path.endswith(YAML) for place in _places(tree, path, old)]
    more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return (*found[:_MOST], *more)


def _gone(change: Change) -> Iterator[str]:
    """The ranges that were there, and are not any more."""
    fields = [each for each in change.fields if _RANGES & set(each.steps)]
    kept = {text for each in fields for text in _networks(each.after)}
    yield from (text for each in fields for text in _networks(each.before) if text not in kept)


def _networks(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list | tuple) else [value]:
        if isinstance(each, str) and "/" in each:
            with contextlib.suppress(ValueError):
                yield str(ipaddress.ip_network(each))


def _places(tree: WorkTree, path: str, old: set[str]) -> Iterator[str]:
    text = tree.text(path) or ""
    for number, line in enumerate(text.splitlines(), start=1):
        said = line.partition(" #")[0]
        key = _OF_CILIUM.search(said)
        if key is not None:
            yield f"{path}:{number} ({key[1]})"
        elif not said.lstrip().startswith("#") and any(_has(said, each) for each in old):
            yield f"{path}:{number}"


def _has(line: str, network: str) -> bool:
    return re.search(rf"(?<![\d.:]){re.escape(network)}(?!\d)", line) is not None

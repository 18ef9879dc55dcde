"""``omnictl cluster template``: whether a template is right, what it would change, and what came of it.

Files that a template names are looked up where omnictl runs, so that every method says where that is. What a diff
shows may be a secret, since people put passwords of registries into patches: of patches only the names are kept.
"""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from firstlight.clients.omnictl import errors as omni_errors
from firstlight.clients.omnictl import status_tree
from firstlight.clients.omnictl.program import OFFLINE, READ, WRITE, Program
from firstlight.model.omni import ClusterStatus, ResourceChange, Turn, Verb

STATUS = 20.0
"""Seconds: omnictl waits for ever for a cluster that Omni has no status of."""

_WORDS = ("cluster", "template")
_NOWHERE = "/dev/null"
_RESOURCE = re.compile(r"(?P<kind>\w+)\.omni\.sidero\.dev\((?P<namespace>[^/()]*)/(?P<id>.*)\)")
_TOLD = re.compile(
    r"^(?P<sign>[-+])\s+(?P<field>kubernetesversion|talosversion|machinecount|allocationtype): (?P<value>.+)$"
)
"""Fields whose values are nobody's secret, and matter."""
_TELLING = frozenset({"Clusters", "MachineSets"})
_UNHEALTHY = "cluster is not healthy"


class Templates(Program):
    """Cluster templates."""

    async def validate(self, template: Path, *, directory: Path, timeout: float = OFFLINE) -> None:
        """Whether a template is right; nobody is asked.

        Args:
            template: The file.
            directory: Where the files are that it names.
            timeout: Seconds.

        Raises:
            omni_errors.Rejected: It is not.
        """
        await self._ask((*_WORDS, "validate"), [_file(template)], cwd=directory, timeout=timeout)

    async def diff(self, template: Path, *, directory: Path, timeout: float = READ) -> tuple[ResourceChange, ...]:
        """What a sync would change in Omni; nothing if it is as the template says.

        Raises:
            omni_errors.OmniError: It cannot be told.
        """
        done = await self._ask((*_WORDS, "diff"), [_file(template)], cwd=directory, timeout=timeout)
        found = tuple(_changes(done.text))
        if done.text.strip() and not found:
            raise omni_errors.Unreadable("cluster template diff", detail="the answer cannot be read")
        return found

    async def sync(self, template: Path, *, directory: Path, dry_run: bool = False, timeout: float = WRITE) -> None:
        """Make Omni have what the template says; Omni then configures machines by itself.

        Raises:
            omni_errors.OmniError: It did not do it, or only a part of it; another sync goes on.
        """
        options = [_file(template), *(["--dry-run"] if dry_run else [])]
        await self._ask((*_WORDS, "sync"), options, cwd=directory, timeout=timeout)

    async def status(self, template: Path, *, directory: Path, timeout: float = STATUS) -> ClusterStatus | None:
        """How far the cluster of a template is, now; None while Omni has no status of it.

        Raises:
            omni_errors.OmniError: It cannot be told.
        """
        words = (*_WORDS, "status")
        try:
            done = await self._run(words, [_file(template), "--wait=0s"], cwd=directory, timeout=timeout)
        except omni_errors.TimedOut:
            return None
        if done.code != 0 and _UNHEALTHY not in done.stderr:
            raise omni_errors.from_output(" ".join(words), done.stderr)
        found = status_tree.parse(done.text, is_ready=done.code == 0)
        if found is None:
            raise omni_errors.Unreadable(" ".join(words), detail="the answer cannot be read")
        return found


def _file(template: Path) -> str:
    return f"--file={template.absolute()}"


def _changes(diff: str) -> Iterator[ResourceChange]:
    """The resources of a diff: ``--- OLD``, ``+++ NEW``, and lines."""
    lines = diff.splitlines()
    heads = [index for index in range(len(lines) - 1) if _is_head(lines[index], lines[index + 1])]
    for index, end in itertools.pairwise([*heads, len(lines)]):
        old, new = lines[index][4:], lines[index + 1][4:]
        verb = Verb.CREATE if old == _NOWHERE else Verb.REMOVE if new == _NOWHERE else Verb.UPDATE
        match = _RESOURCE.fullmatch(old if new == _NOWHERE else new)
        assert match is not None
        turns = _turns(lines[index + 2 : end]) if match["kind"] in _TELLING else ()
        yield ResourceChange(verb=verb, kind=match["kind"], id=match["id"], turns=turns)


def _is_head(first: str, second: str) -> bool:
    # A line of a patch can begin with three signs as well.
    pair = (first[4:], second[4:])
    return (
        first.startswith("--- ")
        and second.startswith("+++ ")
        and all(each == _NOWHERE or _RESOURCE.fullmatch(each) for each in pair)
        and pair != (_NOWHERE, _NOWHERE)
    )


def _turns(lines: list[str]) -> tuple[Turn, ...]:
    was: dict[str, str] = {}
    becomes: dict[str, str] = {}
    for line in lines:
        if (match := _TOLD.match(line)) is not None:
            (was if match["sign"] == "-" else becomes)[match["field"]] = match["value"].strip()
    return tuple(
        Turn(field=field, was=was.get(field, ""), becomes=becomes.get(field, ""))
        for field in dict.fromkeys([*was, *becomes])
    )

"""``firstlight override align``: what was changed past Git, made a change of the repo."""

import asyncio
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from firstlight import errors
from firstlight.cli import output, renderers
from firstlight.clients import program_path
from firstlight.clients.git.user_git import UserGit
from firstlight.commands.override import repo_alignment, session
from firstlight.commands.override.apply import read_manifests
from firstlight.commands.override.repo_alignment import Alignment, AlignmentChoice, Choose
from firstlight.drawing import safe
from firstlight.errors import ExitCode
from firstlight.execute.overrides import owned_fields, restore
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, Override
from firstlight.render.rendered_diff import Opener
from firstlight.repo import file_patch
from firstlight.repo.field_edits.edit_candidates import WantedField
from firstlight.repo.work_tree import WorkTree

OPEN = 3


def align(
    cluster: str, *, write: bool, commit: bool, branch: str, chosen: tuple[str, ...], files: tuple[str, ...], offline:
    bool, id: str, kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Turn what an override has changed into a change of the repo: the right line, value, patch or post-renderer."""
    place = session.OverrideTarget(cluster, root=root, kubeconfig=kubeconfig, context=context)
    wanted = _wanted(chosen)
    is_committed = commit or bool(branch)

    async def run() -> int:
        override, applied = await _applied(place, id, files)
        tree = WorkTree(place.platform.root)
        made = await repo_alignment.align_repo(
            tree, applied, cluster=place.cluster.name, open_renderer=_opener(offline),
            component=component_of_scope(override) if override else "",
            made=created_objects(override) if override else (), choose=_asking(wanted, form), say=_say,
        )  # fmt: skip
        done = ""
        if made.after and (write or is_committed):
            done = await _written(tree, made, override, branch=branch, is_committed=is_committed)
        is_written = bool(made.after) and (write or is_committed)
        _print(made, override, form, is_written=is_written, commit=done)
        return OPEN if made.open else ExitCode.FINDINGS if made.after and not is_written else 0

    return asyncio.run(run())


async def _applied(
    place: session.OverrideTarget, id: str, files: tuple[str, ...]
) -> tuple[Override | None, Mapping[ObjectId, Mapping[str, Any] | None]]:
    """The override, and what it has changed."""
    if files:
        values = [each for file in files for each in read_manifests(file)]
        found = [each for each in session.local_overrides(place.state, place.cluster.name) if each.id == id or not id]
        known = next((each for each in reversed(found) if id or not each.is_over), None)
        return known, {ObjectId.of(each): each for each in values}
    async with place.opened() as ground:
        override = await session.chosen_override(ground, id)
        return override, await applied_objects(override, ground)


def _opener(offline: bool) -> Opener:
    async def open_renderer(platform: Any, known_as: str) -> Any:
        return await renderers.open_renderer(platform, offline=offline, quiet=True, known_as=known_as)

    return open_renderer


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"  {safe.name(text)}", file=sys.stderr, flush=True)


def _wanted(chosen: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in chosen:
        field, sign, place = each.rpartition("=")
        if not sign or not field or not place:
            raise errors.UsageError(f"--choose {each} names no place", hint="--choose spec.replicas=apps/web.yaml:12")
        found[field] = place
    return found


def _asking(wanted: Mapping[str, str], form: str) -> Choose:
    """What was typed, and else a question where somebody is there to answer it."""

    def choose(wish: WantedField, choices: Sequence[AlignmentChoice]) -> str | None:
        typed = wanted.get(wish.path or str(wish.object)) or wanted.get(str(wish))
        if typed:
            return next((each.key for each in choices if typed in (each.key, each.means)), None)
        if form == "json" or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None

        print(f"{safe.name(str(wish))} can be written in:", file=sys.stderr)
        for number, each in enumerate(choices, 1):
            print(f"  {number}  {safe.name(each.key)}   {safe.name(each.says)}", file=sys.stderr)
        answer = click.prompt(
            "Which one (0 for none)", type=click.IntRange(0, len(choices)), default=0, err=True
        )  # fmt: skip
        return choices[answer - 1].key if answer else None

    return choose


async def _written(
    tree: WorkTree, made: Alignment, override: Override | None, *, branch: str, is_committed: bool
) -> str:
    """Put the edits into the work tree, and commit them if that is wanted; the commit, if there is one."""
    git = program_path.find("git")
    if is_committed:
        if git is None:
            raise errors.ToolError("to commit needs git", hint="install git")
        await check_commit(tree, made, git=Path(git))
    write_alignment(tree, made)
    if not is_committed or git is None:
        return ""
    name = override.id if override else "emergency change"
    wanted = AlignmentCommit(
        git=Path(git), subject=f"Git has what override {name} changed" if override else "Git has an emergency change",
        reason=override.reason if override else "", branch=branch,
    )  # fmt: skip
    return await commit_alignment(tree, made, wanted)


def _print(made: Alignment, override: Override | None, form: str, *, is_written: bool, commit: str) -> None:
    data = {
        "override": override.id if override else None,
        "aligned": [
            {"object": str(each.wish.object), "field": each.wish.path, "file": each.place.path,
             "line": each.place.line, "says": each.says}
            for each in made.aligned
        ],
        "open": [
            {"object": str(each.wish.object), "field": each.wish.path, "why": each.why,
             "choices": [{"choose": one.key, "says": one.says} for one in each.choices],
             "obstacles": list(each.obstacles)}
            for each in made.open
        ],
        "patch": made.shown, "written": is_written, "commit": commit or None,
    }  # fmt: skip
    output.answer(form, "\n".join(_lines(made, is_written=is_written, commit=commit)), data)


def _lines(made: Alignment, *, is_written: bool, commit: str) -> list[str]:
    if not made.aligned and not made.open:
        return ["Git has all of it: firstlight override end closes the override"]
    lines = [f"✔ {each.wish}   {each.place}   {each.says}" for each in made.aligned]
    for one in made.open:
        lines.append(f"? {one.wish}   {one.why}")
        lines += [f"    {each.key}   {each.says}" for each in one.choices]
        lines += [f"    {each}" for each in one.obstacles]
    shown = [safe.name(each) for each in lines]
    if made.diff and not is_written:
        shown += ["", output.printable_diff(made.shown).rstrip("\n"), ""]
    return [*shown, *_next(made, is_written=is_written, commit=commit)]


def _next(made: Alignment, *, is_written: bool, commit: str) -> list[str]:
    said = []
    if any(each.choices for each in made.open):
        first = next(each for each in made.open if each.choices)
        field = first.wish.path or str(first.wish.object)
        said.append(f"choose: --choose '{safe.name(field)}={safe.name(first.choices[0].key)}'")
    if commit:
        said.append(f"commit {commit[:12]}: push it, and once it is merged: firstlight override end")
    elif is_written:
        said.append("written: commit and push it, and once it is merged: firstlight override end")
    elif made.after:
        said.append("--write edits the work tree, --branch NAME commits it on a branch of its own")
    return said


# What an override has changed, taken from the cluster: its objects with the fields of its manager and no others.


_COMPONENT = "component "


async def applied_objects(override: Override, ground: OverrideContext) -> dict[ObjectId, Mapping[str, Any] | None]:
    """The objects that were changed; None for one that was deleted and is not there.

    Raises:
        errors.ClientError: The API does not answer.
    """
    before = await session.objects_before(override, ground)
    known = await restore.version_of(override.changed, ground.client, before=before)
    found: dict[ObjectId, Mapping[str, Any] | None] = {}
    for id in override.changed:
        live = await restore.look(id, known[id], ground)
        if live is None:
            # One that was made and is gone again is as Git has it.
            if id in before:
                found[id] = None
        elif owned := owned_fields.of(live, MANAGER):
            found[id] = owned_fields.taken(live, owned)
    return found


def component_of_scope(override: Override) -> str:
    """Where new objects of an override belong; empty where its scope does not tell."""
    named = [each.removeprefix(_COMPONENT) for each in override.scope if each.startswith(_COMPONENT)]
    return named[0] if len(named) == 1 else ""


def created_objects(override: Override) -> frozenset[ObjectId]:
    """The objects that were not there before it."""
    first = {each.object: each for each in reversed(override.changes)}
    return frozenset(id for id, each in first.items() if each.is_new)


# The work tree with an alignment in it, and the commit that has it.


@dataclasses.dataclass(frozen=True, kw_only=True)
class AlignmentCommit:
    """What is committed, and how it is called."""

    git: Path
    subject: str
    reason: str
    branch: str = ""
    """A new branch for it; the one that is checked out if it is empty."""


def write_alignment(tree: WorkTree, alignment: Alignment) -> None:
    """Put all files in their places, or none of them.

    Raises:
        errors.Refused: A file is not any more what it was when it was read.
        OSError: One cannot be written; the others are as they were.
    """
    gone = [path for path, content in alignment.after.items() if content is None]
    for path in gone:
        if (tree.root / tree.real(path)).read_bytes() != alignment.before[path]:
            raise errors.Refused(f"{path} has changed since it was read", hint="Nothing was written: run it again.")
    after = {path: content for path, content in alignment.after.items() if content is not None}
    file_patch.write(tree, file_patch.FilePatch(before=alignment.before, after=after, fixed=()))
    for path in gone:
        (tree.root / tree.real(path)).unlink()


async def check_commit(tree: WorkTree, alignment: Alignment, *, git: Path) -> None:
    """See that a commit of the files would have nothing in it but the alignment.

    Raises:
        errors.Refused: Somebody has changed one of them, and not committed it.
    """
    known = [path for path, content in alignment.before.items() if content is not None]
    dirty = await file_patch.uncommitted(tree.root, known, git=git)
    if dirty:
        raise errors.Refused(
            f"{', '.join(dirty)} has changes that are not committed, which would be committed along",
            hint="Commit or stash them first; --write alone edits the files.",
        )


async def commit_alignment(tree: WorkTree, alignment: Alignment, wanted: AlignmentCommit) -> str:
    """Commit what was written and nothing else, and give the commit.

    Raises:
        errors.ClientError: Git does not take it, or a hook says no.
    """
    program = UserGit(wanted.git)
    if wanted.branch:
        await program.switch(tree.root, wanted.branch)
    return await program.commit(tree.root, commit_message(alignment, wanted), files=sorted(alignment.after))


def commit_message(alignment: Alignment, wanted: AlignmentCommit) -> str:
    """The message of the commit: what was changed past Git, where it stands now, and why."""
    lines = [wanted.subject, ""]
    if wanted.reason:
        lines += [f"Why: {wanted.reason}", ""]
    lines += [f"- {each.wish} ({each.place.path})" for each in alignment.aligned]
    return "\n".join(lines) + "\n"

"""``firstlight override align``: what was changed past Git, made a change of the repo."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firstlight import errors
from firstlight.cli import output, override_reaching
from firstlight.clients import program_path

if TYPE_CHECKING:
    from firstlight.model.component import ObjectId
    from firstlight.model.override import Override
    from firstlight.operate.deciding.renditions import Opener
    from firstlight.operate.override.aligning import Alignment, Choice, Choose
    from firstlight.repo.aligning.wish import Wish
    from firstlight.repo.work_tree import WorkTree

DIFFERENT = 2
OPEN = 3


@click.command()
@click.argument("cluster", default="")
@click.option("--write", is_flag=True, help="Edit the work tree; without it the change is only shown.")
@click.option("--commit", is_flag=True, help="Edit the work tree, and commit these edits and nothing else.")
@click.option("--branch", default="", metavar="NAME", help="Make this branch first, and commit there.")
@click.option(
    "--choose", "chosen", multiple=True, metavar="FIELD=FILE:LINE", help="Where a field goes that has several places."
)
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE",
    help="What was applied, where the cluster cannot be asked; - reads stdin.",
)  # fmt: skip
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@override_reaching.which
@override_reaching.options
@output.option
def align(
    cluster: str, write: bool, commit: bool, branch: str, chosen: tuple[str, ...], files: tuple[str, ...],
    offline: bool, id: str, kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Turn what an override has changed into a change of the repo: the right line, value, patch or post-renderer.

    Every edit is proven: the repo is rendered with it, the object must be as it is live, and nothing else may differ in
    any cluster. Where several places would do, or none, it asks. Secrets are never written. Exit code 2 means that
    there is something to write, 3 that a person has to decide.
    """
    place = override_reaching.Place(cluster, root=root, kubeconfig=kubeconfig, context=context)
    wanted = _wanted(chosen)
    is_committed = commit or bool(branch)

    async def run() -> int:
        from firstlight.operate.override import aligning, aligning_live
        from firstlight.repo.work_tree import WorkTree

        override, applied = await _applied(place, id, files)
        tree = WorkTree(place.platform.root)
        made = await aligning.align(
            tree, applied, cluster=place.cluster.name, open_renderer=_opener(offline),
            component=aligning_live.component(override) if override else "",
            made=aligning_live.made(override) if override else (), choose=_asking(wanted, form), say=_say,
        )  # fmt: skip
        done = ""
        if made.after and (write or is_committed):
            done = await _written(tree, made, override, branch=branch, is_committed=is_committed)
        is_written = bool(made.after) and (write or is_committed)
        _print(made, override, form, is_written=is_written, commit=done)
        return OPEN if made.open else DIFFERENT if made.after and not is_written else 0

    return asyncio.run(run())


async def _applied(
    place: override_reaching.Place, id: str, files: tuple[str, ...]
) -> "tuple[Override | None, Mapping[ObjectId, Mapping[str, Any] | None]]":
    """The override, and what it has changed."""
    from firstlight.model.component import ObjectId
    from firstlight.operate.override import aligning_live, records

    if files:
        from firstlight.cli.override_apply import read

        values = [each for file in files for each in read(file)]
        found = [each for each in records.local(place.state, place.cluster.name) if each.id == id or not id]
        known = next((each for each in reversed(found) if id or not each.is_over), None)
        return known, {ObjectId.of(each): each for each in values}
    async with place.opened() as ground:
        override = await override_reaching.chosen(ground, id)
        return override, await aligning_live.applied(override, ground)


def _opener(offline: bool) -> "Opener":
    async def open_renderer(platform: Any, known_as: str) -> Any:
        from firstlight.cli import renderers

        return await renderers.open_renderer(platform, offline=offline, quiet=True, known_as=known_as)

    return open_renderer


def _say(text: str) -> None:
    from firstlight.report import safe

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


def _asking(wanted: Mapping[str, str], form: str) -> "Choose":
    """What was typed, and else a question where somebody is there to answer it."""

    def choose(wish: "Wish", choices: "Sequence[Choice]") -> str | None:
        typed = wanted.get(wish.path or str(wish.object)) or wanted.get(str(wish))
        if typed:
            return next((each.key for each in choices if typed in (each.key, each.means)), None)
        if form == "json" or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        from firstlight.report import safe

        print(f"{safe.name(str(wish))} can be written in:", file=sys.stderr)
        for number, each in enumerate(choices, 1):
            print(f"  {number}  {safe.name(each.key)}   {safe.name(each.says)}", file=sys.stderr)
        answer = click.prompt(
            "Which one (0 for none)", type=click.IntRange(0, len(choices)), default=0, err=True
        )  # fmt: skip
        return choices[answer - 1].key if answer else None

    return choose


async def _written(
    tree: "WorkTree", made: "Alignment", override: "Override | None", *, branch: str, is_committed: bool
) -> str:
    """Put the edits into the work tree, and commit them if that is wanted; the commit, if there is one."""
    from firstlight.operate.override import aligning_files

    git = program_path.find("git")
    if is_committed:
        if git is None:
            raise errors.ToolError("to commit needs git", hint="install git")
        await aligning_files.check(tree, made, git=Path(git))
    aligning_files.write(tree, made)
    if not is_committed or git is None:
        return ""
    name = override.id if override else "emergency change"
    wanted = aligning_files.Commit(
        git=Path(git), subject=f"Git has what override {name} changed" if override else "Git has an emergency change",
        reason=override.reason if override else "", branch=branch,
    )  # fmt: skip
    return await aligning_files.commit(tree, made, wanted)


def _print(made: "Alignment", override: "Override | None", form: str, *, is_written: bool, commit: str) -> None:
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


def _lines(made: "Alignment", *, is_written: bool, commit: str) -> list[str]:
    from firstlight.cli import audit_printing
    from firstlight.report import safe

    if not made.aligned and not made.open:
        return ["Git has all of it: firstlight override end closes the override"]
    lines = [f"✔ {each.wish}   {each.place}   {each.says}" for each in made.aligned]
    for one in made.open:
        lines.append(f"? {one.wish}   {one.why}")
        lines += [f"    {each.key}   {each.says}" for each in one.choices]
        lines += [f"    {each}" for each in one.obstacles]
    shown = [safe.name(each) for each in lines]
    if made.diff and not is_written:
        shown += ["", audit_printing.diff(made.shown).rstrip("\n"), ""]
    return [*shown, *_next(made, is_written=is_written, commit=commit)]


def _next(made: "Alignment", *, is_written: bool, commit: str) -> list[str]:
    from firstlight.report import safe

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

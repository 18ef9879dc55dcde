"""The work tree with an alignment in it, and the commit that has it."""

import dataclasses
from pathlib import Path

from firstlight import errors
from firstlight.clients.git.own import OwnGit
from firstlight.operate.auditing import fixing
from firstlight.operate.override.aligning import Alignment
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class Commit:
    """What is committed, and how it is called."""

    git: Path
    subject: str
    reason: str
    branch: str = ""
    """A new branch for it; the one that is checked out if it is empty."""


def write(tree: WorkTree, alignment: Alignment) -> None:
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
    fixing.write(tree, fixing.Patch(before=alignment.before, after=after, fixed=()))
    for path in gone:
        (tree.root / tree.real(path)).unlink()


async def check(tree: WorkTree, alignment: Alignment, *, git: Path) -> None:
    """See that a commit of the files would have nothing in it but the alignment.

    Raises:
        errors.Refused: Somebody has changed one of them, and not committed it.
    """
    known = [path for path, content in alignment.before.items() if content is not None]
    dirty = await fixing.uncommitted(tree.root, known, git=git)
    if dirty:
        raise errors.Refused(
            f"{', '.join(dirty)} has changes that are not committed, which would be committed along",
            hint="Commit or stash them first; --write alone edits the files.",
        )


async def commit(tree: WorkTree, alignment: Alignment, wanted: Commit) -> str:
    """Commit what was written and nothing else, and give the commit.

    Raises:
        errors.ClientError: Git does not take it, or a hook says no.
    """
    program = OwnGit(wanted.git)
    if wanted.branch:
        await program.switch(tree.root, wanted.branch)
    return await program.commit(tree.root, message(alignment, wanted), files=sorted(alignment.after))


def message(alignment: Alignment, wanted: Commit) -> str:
    """The message of the commit: what was changed past Git, where it stands now, and why."""
    lines = [wanted.subject, ""]
    if wanted.reason:
        lines += [f"Why: {wanted.reason}", ""]
    lines += [f"- {each.wish} ({each.place.path})" for each in alignment.aligned]
    return "\n".join(lines) + "\n"

"""What a push brought, read from the repository: the commits that webhooks tell of."""

import dataclasses
import re

from firstlight.lab.sources.git import program
from firstlight.lab.sources.git.pkt_line import Update
from firstlight.lab.sources.git.repositories import NOBODY, Repositories

MOST = 20
"""Commits that are told of one by one, as the large hosts do it."""
_FORMAT = "%x01%H%x02%an%x02%ae%x02%cI%x02%B%x03"
_RECORD = re.compile(rb"\x01(?=[0-9a-f]{40,64}\x02)")


@dataclasses.dataclass(frozen=True)
class Commit:
    """One commit, with the files that it touched."""

    id: str
    author: str
    email: str
    time: str
    message: str
    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


async def commits(repositories: Repositories, name: str, update: Update) -> tuple[Commit, ...]:
    """Those that an update brought, the oldest first; of a new ref only its last."""
    if NOBODY.fullmatch(update.after):
        return ()
    is_new = bool(NOBODY.fullmatch(update.before))
    span = ["--max-count=1", update.after] if is_new else [f"--max-count={MOST}", f"{update.before}..{update.after}"]
    logged = await program.run(
        "log", "-z", "--first-parent", "-m", "--no-renames", "--root", "--name-status", f"--format={_FORMAT}", *span,
        "--", env=repositories.environment(name), check=False,
    )  # fmt: skip
    return tuple(reversed(parse(logged.stdout))) if logged.code == 0 else ()


async def is_forced(repositories: Repositories, name: str, update: Update) -> bool:
    """Whether what was there before is no longer part of the history."""
    if NOBODY.fullmatch(update.before) or NOBODY.fullmatch(update.after):
        return False
    env = repositories.environment(name)
    return (
        await program.run("merge-base", "--is-ancestor", update.before, update.after, env=env, check=False)
    ).code != 0


def parse(output: bytes) -> list[Commit]:
    """The commits of a log in our format."""
    found = []
    for record in _RECORD.split(output)[1:]:
        head, _, names = record.partition(b"\x03")
        texts = head.decode(errors="replace").split("\x02", 4)
        fields = [part for part in names.decode(errors="replace").strip("\n").split("\0") if part.strip("\n")]
        pairs = list(zip(fields[0::2], fields[1::2], strict=False))

        def touched(letters: str, pairs: list[tuple[str, str]] = pairs) -> tuple[str, ...]:
            return tuple(path for status, path in pairs if status.strip("\n")[:1] in letters)

        found.append(
            Commit(
                texts[0], texts[1], texts[2], texts[3], texts[4].strip("\n"), touched("A"), touched("MT"), touched("D")
            )
        )  # fmt: skip
    return found

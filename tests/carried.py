"""Changes carried through on whole platforms: a clone of a stage's repo, and a command that answers yes."""

import dataclasses
import subprocess
from collections.abc import Mapping
from pathlib import Path

from firstlight.commands.change import change, change_revert, prepare, record_store
from firstlight.commands.change.change import ChangeOutcome
from firstlight.commands.change.change_record import ChangeRecord
from firstlight.commands.change.ongoing_change import ChangeHost, ChangeRequest
from firstlight.commands.decide.change_source import RevisionRange
from firstlight.execute import walk as execute_walk
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means
from firstlight.execute.walk import Walk
from firstlight.execute.world import World
from firstlight.model.event import Event, Writing
from firstlight.secrets import age_keys
from tests import runs

KEY = b"\x07" * 32
OWNERS = """\
people:
  - {name: Ada, email: ada@example.org, roles: [lead]}
  - {name: Grace, email: grace@example.org}
team: {approvals: 2}
"""
APPROVED = "\n\nApproved-by: Ada <ada@example.org>\nApproved-by: Grace <grace@example.org>"


@dataclasses.dataclass
class Clone:
    """A clone of what the engine of a stage follows."""

    stage: runs.Stage
    root: Path
    means: Means
    events: list[Event] = dataclasses.field(default_factory=list)
    asked: list[str] = dataclasses.field(default_factory=list)
    said: list[str] = dataclasses.field(default_factory=list)

    def git(self, *arguments: str) -> str:
        """Git in it, as somebody who approves nothing."""
        who = ["-c", "user.name=Edsger", "-c", "user.email=edsger@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *arguments], cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def branch(self, name: str, edits: Mapping[str, tuple[str, str]], *, trailers: str = APPROVED) -> None:
        """A commit on a branch of its own, with one text for another in each file; the empty one stands for no file."""
        self.git("fetch", "-q", "origin", "main")
        self.git("switch", "-q", "-c", name, "origin/main")
        for path, (old, new) in edits.items():
            file = self.root / path
            text = file.read_text() if old else ""
            assert old in text, path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace(old, new) if old else new)
            self.git("add", "--", path)
        self.git("commit", "-q", "-m", f"{name}{trailers}")

    async def carry(self, name: str, **wishes: object) -> tuple[ChangeOutcome, ChangeRecord]:
        """Carry a branch through, merged here; what came of it, and its record."""
        found = await prepare.decide_change(self.root, RevisionRange(base="origin/main", head=name), self.means)
        wanted = ChangeRequest(why="a test", is_merging=True, patience=60.0, **wishes)  # type: ignore[arg-type]
        carrying = await prepare.begin_change(found, wanted, self.means)
        outcome = await change.carry_out(carrying, wanted, self.host())
        return outcome, carrying.record

    async def revert(self, id: str, **wishes: object) -> tuple[ChangeOutcome, ChangeRecord]:
        """Take a change back, as in an emergency: at once."""
        record = record_store.read_record(self.means.state, id)
        wanted = ChangeRequest(why="a test", is_merging=True, emergency="a test", patience=60.0, **wishes)  # type: ignore[arg-type]
        carrying = await prepare.reopen_change(self.root, record, self.means, patience=60.0)
        outcome = await change_revert.revert(carrying, wanted, self.host())
        return outcome, carrying.record

    def host(self) -> ChangeHost:
        """A command that answers yes to everything, and remembers what it was asked."""

        def confirm(danger: str) -> bool:
            self.asked.append(danger)
            return True

        async def walk(one: Walk, world: World) -> RunResult:
            begun = execute_walk.started(one, self.means)
            return await execute_walk.run(one, world, self.means, begun=begun, tell=self.events.append, confirm=confirm)

        return ChangeHost(say=self.said.append, walk=walk)

    def writes(self) -> dict[str, list[str]]:
        """What every stage has written, in the order in which they began, since this was last asked."""
        found: dict[str, list[str]] = {}
        for each in self.events:
            if isinstance(each, Writing):
                found.setdefault(each.step, []).extend(each.writes)
        self.events.clear()
        return found


def clone(stage: runs.Stage, root: Path, *, sops: Path | None = None) -> Clone:
    """A clone of a stage's repo; for changes that are merged, with people who approve and who can read backups.

    Args:
        stage: The platform, brought up.
        root: A directory that is not there yet.
        sops: The program. Without it nothing is pushed: a stage before its handover waits for its own commit.
    """
    means = runs.means(stage.place)
    programs = dataclasses.replace(means.programs, sops=sops)
    root.mkdir(parents=True)
    found = Clone(stage, root, dataclasses.replace(means, programs=programs))
    found.git("clone", "-q", stage.platform.clusters[0].url, ".")
    if sops is None:
        return found
    (root / "firstlight-rules").mkdir(exist_ok=True)
    (root / "firstlight-rules" / "owners.yaml").write_text(OWNERS)
    (root / ".sops.yaml").write_text(f"creation_rules:\n  - age: {age_keys.recipient(KEY)}\n")
    found.git("add", "-A")
    if found.git("status", "--porcelain"):
        found.git("commit", "-q", "-m", "people, keys")
        found.git("push", "-q", "origin", "HEAD:main")
    return found

"""The edits of a move, spliced into files."""

from firstlight import errors
from firstlight.model.finding import Finding, Severity
from firstlight.model.move import Proposal
from firstlight.model.place import Place
from firstlight.operate.auditing import fixing
from firstlight.operate.auditing.fixing import Patch
from firstlight.repo.work_tree import WorkTree


def patched(tree: WorkTree, proposal: Proposal, *, what: str) -> Patch:
    """What the edits make of files; all of them or none.

    Args:
        tree: The repo.
        proposal: The edits.
        what: What moves.

    Raises:
        errors.Refused: One cannot be made without touching more.
    """
    if not proposal.edits:
        return Patch(before={}, after={}, fixed=())
    finding = Finding(
        rule="move", severity=Severity.NOTE, message=f"{what} moves", place=Place(proposal.edits[0].path),
        edits=proposal.edits,
    )  # fmt: skip
    made = fixing.patch(tree, [finding])
    if made.refused:
        lines = "\n".join(f"  {each.path}: {each.verb} {'.'.join(map(str, each.steps))}" for each in proposal.edits)
        raise errors.Refused(
            f"the repo cannot be edited without touching more than is meant: {made.refused[0][1]}\n{lines}",
            hint="Write it by hand, and run it again.",
        )
    return made

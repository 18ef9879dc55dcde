"""Whether a secret would get into Git as anybody can read it; what it is, is never said."""

from firstlight.model.decision import Decision
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note

_TODO = "do not push; encrypt it (sops) or make it an ExternalSecret; what was pushed is rotated"
_MOST = 5


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """Each object with a secret in clear text."""
    notes = []
    for change in (item.change for item in decision.items):
        clear = [each for each in change.fields if each.is_clear]
        if clear:
            more = f" and {len(clear) - _MOST} more" if len(clear) > _MOST else ""
            names = ", ".join(each.path for each in clear[:_MOST]) + more
            says = f"{change.title} is unencrypted in Git: {names}"
            notes.append(note.failed(says, todo=_TODO, place=clear[0].place))
    return notes or [note.passed("no secret in clear text comes with it")]

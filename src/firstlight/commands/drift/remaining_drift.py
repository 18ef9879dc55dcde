"""What to do about drift that a correction has left: never what has just been tried."""

import enum
from collections.abc import Mapping

from firstlight.commands.drift import text
from firstlight.engines import adapters
from firstlight.model.component import ObjectId
from firstlight.model.drift import Drift, Drifted, DriftKind
from firstlight.model.owner import ObjectOwner
from firstlight.ownership.drift_judgement import WantedObject

_MANY = 3
_SCALED = "spec.replicas"


class CorrectionAnswer(enum.Enum):
    """What an owner made of the request to put Git's form back."""

    DONE = enum.auto()
    """It has handled it."""
    NONE = enum.auto()
    SUSPENDED = enum.auto()
    """It was not asked."""
    GONE = enum.auto()
    """There is no such owner."""


def advice(
    drift: Drift,
    wanted: Mapping[ObjectId, WantedObject],
    answers: Mapping[ObjectOwner, CorrectionAnswer],
    *,
    as_owner: bool,
) -> tuple[str, ...]:
    """What to do next, for each owner of something that is still not as Git has it.

    Args:
        drift: How it is after the correction.
        wanted: What Git has.
        answers: What came of asking owners.
        as_owner: Whether it was tried in their place, too.
    """
    found: dict[str, None] = {}
    edits: list[str] = []
    for each in drift.drifted:
        mine = wanted.get(each.id)
        if mine is None or not (each.is_held or each.difference in (DriftKind.CHANGED, DriftKind.MISSING)):
            continue
        match answers.get(mine.owner):
            case CorrectionAnswer.DONE if each.is_paused:
                found[f"take away what keeps the engine from {each.id}, as is said above, then again"] = None
            case CorrectionAnswer.DONE if [one.path for one in each.fields if not one.manager and not one.wanted] == [
                _SCALED
            ]:
                found[
                    f"write replicas into Git, or declare /spec/replicas as ignored: nobody owns what {each.id} was "
                    "scaled to, so that nobody puts it back"
                ] = None
            case CorrectionAnswer.DONE if each.is_held and as_owner:
                found[
                    f"firstlight owners {drift.cluster} tells who holds {each.id}: it was not applied in the place of "
                    f"{mine.owner.name}, as is said above"
                ] = None
            case CorrectionAnswer.DONE if each.is_held:
                found[text.taking_back(drift.cluster)] = None
            case CorrectionAnswer.DONE if each.is_beside and as_owner:
                edits.append(_by_hand(each, mine.owner))
            case CorrectionAnswer.DONE if each.is_beside:
                found[
                    f"firstlight drift {drift.cluster} --correct --as-owner removes, after it has asked, "
                    f"what {mine.owner.name} leaves since it never applied it"
                ] = None
            case CorrectionAnswer() as answer:
                found[_way(answer, mine.owner, drift.cluster, as_owner=as_owner)] = None
            case None if mine.owner.name.partition(" ")[0] in adapters.KINDS:
                # It came while another one was corrected.
                found[text.correction(drift.cluster)] = None
    more = [f"and {len(edits) - _MANY} more objects in the same way"] if len(edits) > _MANY else []
    return (*found, *edits[:_MANY], *more)


def _way(answer: CorrectionAnswer, owner: ObjectOwner, cluster: str, *, as_owner: bool) -> str:
    kind, _, place = owner.name.partition(" ")
    namespace, _, name = place.rpartition("/")
    space = f" -n {namespace}" if namespace else ""
    match answer:
        case CorrectionAnswer.GONE:
            return f"firstlight owners {cluster} tells who owns what: {owner.name} is not there to put anything back"
        case CorrectionAnswer.SUSPENDED:
            return f"resume {owner.name}, then again: while it is suspended nobody puts back what is its"
        case CorrectionAnswer.NONE if as_owner:
            controller = adapters.KINDS[kind].controller
            return f"see why {controller} does not answer, then again: {owner.name} was asked, and did not"
        case CorrectionAnswer.NONE:
            return (
                f"firstlight drift {cluster} --correct --as-owner applies Git's form in the place of {owner.name}, "
                "which did not answer"
            )
        case CorrectionAnswer.DONE if kind in adapters.KINDS and (again := adapters.KINDS[kind].sync_command):
            return f"{again.format(name=name)}: {owner.name} has looked, and has not put it back"
        case CorrectionAnswer.DONE:
            return (
                f"kubectl describe {kind.lower()} {name}{space} may tell why: {owner.name} answered, and has not put "
                "it back"
            )


def _by_hand(drifted: Drifted, owner: ObjectOwner) -> str:
    """The command for what could not be removed here."""
    command = text.kubectl("edit", drifted.id)
    paths = ", ".join(each.path for each in drifted.fields[:_MANY])
    more = f" and {len(drifted.fields) - _MANY} more" if len(drifted.fields) > _MANY else ""
    how = command or f"edit {drifted.id}"
    return f"{how}, and take {paths}{more} away: {owner.name} leaves what it never applied"

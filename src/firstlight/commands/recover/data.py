"""An assessment as data, for JSON: keys are added, never renamed or removed."""

from firstlight.commands.recover.assessment import Assessment, RecoveryOption, Trouble
from firstlight.commands.recover.output_form import AssessmentData, OptionData, TroubleData
from firstlight.drawing import clock


def data(found: Assessment) -> AssessmentData:
    """Everything that was found."""
    return {
        "cluster": found.cluster,
        "fine": not found.troubles and not found.is_blind,
        "blind": found.is_blind,
        "parts": [{"name": each.name, "condition": each.condition.value, "says": each.says} for each in found.parts],
        "broken": [_trouble(each) for each in found.troubles],
        "options": [_option(each) for each in found.options],
        "looked": list(found.looked),
        "unseen": list(found.unseen),
        "seconds": round(found.seconds, 3),
    }


def _trouble(found: Trouble) -> TroubleData:
    return {
        "key": found.key,
        "part": found.part,
        "says": found.says,
        "since": clock.moment(found.since) if found.since else "",
        "follows": list(found.follows),
        "commands": list(found.commands),
    }


def _option(found: RecoveryOption) -> OptionData:
    return {
        "name": found.name,
        "on": found.on,
        "does": found.does,
        "risk": found.risk,
        "needs": [{"says": each.says, "met": each.is_met} for each in found.needs],
        "possible": found.is_possible,
        "byHand": found.is_by_hand,
        "answers": list(found.answers),
        "commands": list(found.commands),
    }

"""An assessment as data, for JSON."""

from firstlight.commands.doctor import data as doctor_data
from firstlight.commands.recover import options
from firstlight.commands.recover.assessment import Assessment, RecoveryOption
from firstlight.commands.recover.output_form import AssessmentData, OptionData


def data(found: Assessment) -> AssessmentData:
    """Everything that was found."""
    return {
        "cluster": found.cluster,
        "fine": not found.causes and not found.is_blind,
        "blind": found.is_blind,
        "parts": [{"name": each.name, "condition": each.condition.value, "says": each.says} for each in found.parts],
        "broken": [{**doctor_data.cause_data(each), "part": options.part_of(each.symptom)} for each in found.causes],
        "options": [_option(each) for each in found.options],
        "looked": list(found.looked),
        "unseen": list(found.unseen),
        "seconds": round(found.seconds, 3),
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

"""A diagnosis as data, for JSON."""

from firstlight.cli import diagnostic_data
from firstlight.commands.doctor.output_form import CauseData, DiagnosisData, SymptomData
from firstlight.commands.doctor.symptoms import Diagnosis, RootCause, Symptom
from firstlight.drawing import clock


def data(found: Diagnosis, *, asked: str = "", is_blind: bool = False) -> DiagnosisData:
    """Everything that was found.

    Args:
        found: The diagnosis.
        asked: The component or object that it is of; empty for the whole cluster.
        is_blind: Whether nothing could be looked at.
    """
    return {
        "cluster": found.cluster,
        "asked": asked,
        "fine": not found.causes and not is_blind,
        "blind": is_blind,
        "causes": [cause_data(each) for each in found.causes],
        "looked": list(found.looked),
        "unseen": list(found.unseen),
        "seconds": round(found.seconds, 3),
    }


def cause_data(found: RootCause) -> CauseData:
    """A cause, with what follows from it."""
    return {**symptom_data(found.symptom), "explains": [symptom_data(each) for each in found.effects]}


def symptom_data(found: Symptom) -> SymptomData:
    """A symptom, with what every diagnostic has."""
    return {
        **diagnostic_data.of(found),
        "key": found.key,
        "layer": found.layer.name.lower(),
        "since": clock.moment(found.since) if found.since else "",
        "next": [{"command": each.command, "why": each.why} for each in found.next],
        "because": list(found.because),
    }

"""A diagnosis as data, for JSON: keys are added, never renamed or removed."""

from firstlight.commands.doctor.diagnosis import Diagnosis, Symptom
from firstlight.commands.doctor.output_form import DiagnosisData, SymptomData
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
        "causes": [{**_symptom(each.symptom), "explains": list(map(_symptom, each.effects))} for each in found.causes],
        "looked": list(found.looked),
        "unseen": list(found.unseen),
        "seconds": round(found.seconds, 3),
    }


def _symptom(found: Symptom) -> SymptomData:
    return {
        "rule": found.rule,
        "layer": found.layer.name.lower(),
        "subject": found.subject,
        "says": found.says,
        "title": found.title,
        "remedy": found.remedy,
        "since": clock.moment(found.since) if found.since else "",
        "evidence": [
            {"where": each.where, "text": each.text, "at": clock.moment(each.at) if each.at else ""}
            for each in found.evidence
        ],
        "next": [{"command": each.command, "why": each.why} for each in found.next],
        "because": list(found.because),
    }

"""A diagnosis whose sentences and evidence show no secrets, whatever conditions and events have quoted."""

import dataclasses
from collections.abc import Callable

from firstlight.model.diagnosis import Cause, Diagnosis, Symptom
from firstlight.observe.doctor import masking


def diagnosis(found: Diagnosis, *, hide: Callable[[str], str] = str) -> Diagnosis:
    """The same diagnosis, masked.

    Args:
        found: The diagnosis.
        hide: Takes known values out of a text; first, since one of which a part is masked is no longer found.
    """

    def symptom(each: Symptom) -> Symptom:
        return _symptom(each, lambda said: masking.text(hide(said)))

    causes = tuple(
        Cause(symptom=symptom(each.symptom), effects=tuple(map(symptom, each.effects))) for each in found.causes
    )
    return dataclasses.replace(found, causes=causes, unseen=tuple(map(masking.text, found.unseen)))


def _symptom(found: Symptom, mask: Callable[[str], str]) -> Symptom:
    return dataclasses.replace(
        found,
        says=mask(found.says),
        evidence=tuple(dataclasses.replace(each, text=mask(each.text)) for each in found.evidence),
    )

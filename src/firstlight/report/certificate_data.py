"""A certificate as data, for JSON: what is sealed, as it is sealed; and beside it what follows from it."""

import dataclasses
from typing import Any

from firstlight.model.certificate import Certificate
from firstlight.report import certificate as texts


def data(certificate: Certificate) -> dict[str, Any]:
    """Everything; keys are added, never renamed or removed."""
    return {
        "complete": certificate.is_complete,
        "failures": texts.failures(certificate),
        "agreed": texts.agreed(certificate),
        "notTried": texts.notes(certificate),
        "certificate": dataclasses.asdict(certificate),
    }

"""The JSON of ``firstlight verify``."""

from typing import TypedDict

from firstlight.cli.output_form import OutputForm


class VerifiedData(TypedDict):
    """One thing that must be true of a cluster."""

    name: str
    verdict: str
    reason: str
    detail: list[str]
    seconds: float
    simulated: bool


class VerificationData(TypedDict):
    """Whether a cluster is as it must be."""

    cluster: str
    fine: bool
    checks: list[VerifiedData]
    notes: list[str]


OUTPUTS = {"verify": OutputForm(1, (VerificationData,))}

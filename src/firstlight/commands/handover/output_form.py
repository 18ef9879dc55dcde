"""The JSON of ``firstlight handover``."""

from typing import Literal, TypedDict

from firstlight.cli.output_form import ObjectData, OutputForm
from firstlight.commands.owners.output_form import OwnerData
from firstlight.model.certificate import Certificate
from firstlight.model.handover import Offer


class OutcomeData(TypedDict):
    """What came of a step."""

    id: str
    verdict: str
    reason: str


class HandoverRunData(TypedDict):
    """What came of the steps."""

    cluster: str
    verdict: Literal["refused", "passed", "failed"]
    steps: list[OutcomeData]


class PredictionData(ObjectData):
    """What the server says would become of an object."""

    component: str
    owner: OwnerData
    marks: list[str]
    changed: list[str]
    lost: list[str]
    replacesPods: bool
    refused: str


class TalosLeftData(TypedDict):
    """What Talos would still hold, and what its next upgrade would do."""

    left: tuple[str, ...]
    upgrade: str


class ForeseenData(HandoverRunData):
    """With ``--dry-run``: what would come of it."""

    dryRun: Literal[True]
    predictions: list[PredictionData]
    talos: TalosLeftData
    offers: tuple[Offer, ...]


class ProvenData(TypedDict):
    """The certificate in short; its file has everything."""

    digest: str
    complete: bool
    stage: str
    revision: str
    objects: int
    kept: list[str]
    missing: list[str]
    failures: list[str]
    path: str
    page: str


class HandedOverData(HandoverRunData):
    """What came of a handover."""

    dryRun: Literal[False]
    lost: int
    certificate: ProvenData | None


class GivenCertificateData(TypedDict):
    """The certificate that was given."""

    digest: str
    at: int
    sealed: bool
    signedBy: str
    signerAllowed: bool
    notCovered: list[ObjectData]


class VerifiedCertificateData(TypedDict):
    """With ``--verify``: what a certificate claims, tried again."""

    complete: bool
    failures: list[str]
    agreed: list[str]
    notTried: list[str]
    certificate: Certificate
    verified: GivenCertificateData


OUTPUTS = {"handover": OutputForm(1, (ForeseenData, HandedOverData, VerifiedCertificateData), has_events=True)}

"""The JSON of ``firstlight owners``."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from firstlight.cli.output_form import ObjectData, OutputForm


class OwnerData(TypedDict):
    """Who owns something."""

    party: str
    name: str


class CountedOwnerData(OwnerData):
    """An owner with the number of its objects, and of those that they brought."""

    objects: int
    brought: int


class FlawData(TypedDict):
    """What is wrong with the ownership of an object."""

    flaw: str
    says: str


class OwnedObjectData(ObjectData):
    """An object and its owners; fields are there for one object alone."""

    apiVersion: str
    owner: OwnerData
    coOwners: list[OwnerData]
    flaws: list[FlawData]
    component: str
    broughtBy: ObjectData | None
    fields: NotRequired[Mapping[str, list[str]]]


class OwnersData(TypedDict):
    """Who owns each object of a cluster."""

    cluster: str
    owners: list[CountedOwnerData]
    flaws: Mapping[str, int]
    objects: list[OwnedObjectData]
    unread: list[str]
    notes: list[str]


OUTPUTS = {"owners": OutputForm(1, (OwnersData,))}

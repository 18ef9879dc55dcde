"""A cluster of a scenario: objects with their field managers in short, what owners say, and what the repo declares."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner, OwnedObject, Party
from firstlight.ownership import inventories, owner_map
from firstlight.ownership.owner_map import DeclaredOwnership

SHORT = {
    "ConfigMap": "v1",
    "Secret": "v1",
    "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
    "HelmRelease": "helm.toolkit.fluxcd.io/v2",
    "Application": "argoproj.io/v1alpha1",
}
"""Versions that scenarios need not write."""


def judged(folder: Path) -> str:
    """A line for each object: its owner, other owners, and what is wrong."""
    with (folder / "cluster.yaml").open() as file:
        given = yaml.load(file, Loader=yaml.CSafeLoader)
    objects = [_object(each) for each in given["objects"]]
    whole = [_versioned(each) for each in given.get("owners") or ()]
    talos = [
        {"metadata": {"name": name}, "data": dict.fromkeys(keys, "")}
        for name, keys in (given.get("talos") or {}).items()
    ]
    known = inventories.collect(
        whole,
        known=given.get("known") or (),
        talos=talos,
        releases=objects,
        are_releases_known=given.get("releases", True),
    )
    declared = {_id(each): _declared(each) for each in given.get("declared") or ()}
    found = owner_map.every(objects, known, declared=declared)
    return "".join(_line(each) for each in found)


def _line(each: OwnedObject) -> str:
    parts = [str(each.id), str(each.owner)]
    parts += [f"also {', '.join(map(str, each.co_owners))}"] if each.co_owners else []
    parts += [f"by {each.under}"] if each.under else []
    parts += [f"of {each.component}"] if each.component else []
    parts += [f"{one.flaw}: {one.says}" for one in each.flaws]
    return "\n  ".join(parts) + "\n"


def _object(given: Mapping[str, Any]) -> dict[str, Any]:
    """``managers`` are ``name[/subresource] field …``, fields with dots between them."""
    value = _versioned(given)
    managers = value.pop("managers", ())
    value["metadata"] = {**value["metadata"], "managedFields": [_entry(each) for each in managers]}
    return value


def _entry(written: str) -> dict[str, Any]:
    who, *paths = written.split()
    name, _, subresource = who.partition("/")
    fields: dict[str, Any] = {}
    for path in paths:
        at = fields
        for step in path.split("|"):
            at = at.setdefault(f"f:{step}", {})
    return {"manager": name, "operation": "Apply", "subresource": subresource, "fieldsV1": fields}


def _versioned(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": SHORT.get(given["kind"], "v1"), **given}


def _id(given: Mapping[str, Any]) -> ObjectId:
    return ObjectId(given.get("group", ""), given["kind"], given.get("namespace", ""), given["name"])


def _declared(given: Mapping[str, Any]) -> DeclaredOwnership:
    owner = given.get("owner")
    party = Party.ARGOCD if owner and owner.startswith("Application") else Party.FLUX
    return DeclaredOwnership(given["component"], ObjectOwner(party, owner) if owner else None)

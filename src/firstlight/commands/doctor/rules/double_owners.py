"""Objects with two owners: in two inventories, in two Applications, or changed by two engines in turn."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import engine_state, symptoms
from firstlight.commands.doctor.symptoms import Symptom
from firstlight.document import conditions
from firstlight.document.within import sequence, text
from firstlight.model import argocd_names, flux_names
from firstlight.observe.cluster.observation import ClusterObservation, age, name_of
from firstlight.ownership import managers

_FIGHT = 600.0
"""Seconds in which two engines that fight have both written; what was handed over was written long before by one."""
_GROWN = 1800.0
"""Seconds after which an object is no longer new: while something is brought up, two writers are usual."""
_SHARED = re.compile(r"^(\S+?)/(\S+) is part of applications (\S+) and (\S+?)\.?$")
_DELETED = re.compile(r"^([A-Z]\w+)/(\S+?)(?:/(\S+))? deleted$", re.MULTILINE)


def in_two_inventories(scene: ClusterObservation) -> Iterator[Symptom]:
    """Objects that two Kustomizations apply: what one removes, the other one brings back."""
    owners: dict[str, list[Mapping[str, Any]]] = {}
    for each in scene.of(flux_names.KUSTOMIZATION_GROUP_KIND):
        for name in set(engine_state.inventory(each)):
            owners.setdefault(name, []).append(each)
    for name, all_of_it in sorted(owners.items()):
        if len(all_of_it) < 2:
            continue
        both = sorted(name_of(each) for each in all_of_it)
        is_space = name.startswith("Namespace ")
        yield symptoms.symptom(
            code="namespace-conflict" if is_space else "two-owners",
            subject=name,
            message=f"{name} is applied by {' and by '.join(both)}: "
            + (
                "deleting one of them deletes the namespace with all that is in it"
                if is_space
                else "they undo each other"
            ),
            evidence=tuple(symptoms.of_field(each, "status.inventory", name) for each in all_of_it[:3]),
            next=(symptoms.command("firstlight owners --flaws", "all objects with two owners"),),
        )


def in_two_applications(scene: ClusterObservation) -> Iterator[Symptom]:
    """What Argo CD warns of."""
    told: set[str] = set()
    for value in scene.of(argocd_names.APPLICATION_GROUP_KIND):
        for each in sequence(value, "status", "conditions"):
            match = _SHARED.match(text(each, "message").strip())
            if text(each, "type") != "SharedResourceWarning" or match is None:
                continue
            kind, name, one, two = match.groups()
            if f"{kind} {name}" in told:
                continue
            told.add(f"{kind} {name}")
            yield symptoms.symptom(
                code="two-owners",
                subject=f"{kind} {name}",
                message=f"{kind} {name} is part of the Applications {one} and {two}: "
                "each syncs it back to its own form",
                evidence=(symptoms.evidence(f"{name_of(value)}, status.conditions", text(each, "message")),),
                next=(symptoms.command("firstlight owners --flaws", "all objects with two owners"),),
                since=conditions.moment(text(each, "lastTransitionTime")),
            )


def fights(scene: ClusterObservation) -> Iterator[Symptom]:
    """Objects that two engines have both changed a moment ago, and long after they were made."""
    for value in scene.objects:
        writers = {
            text(each, "manager"): when
            for each in sequence(value, "metadata", "managedFields")
            if text(each, "manager") in managers.ENGINES
            and not text(each, "subresource")
            and (when := conditions.moment(text(each, "time"))) is not None
            and scene.now - when < _FIGHT
        }
        if len(writers) < 2 or age(value, scene.now) < _GROWN:
            continue
        both = " and ".join(sorted(writers))
        yield symptoms.symptom(
            code="two-owners",
            subject=name_of(value),
            message=f"{name_of(value)} is changed by {both} in turn",
            evidence=tuple(
                symptoms.evidence(f"{name_of(value)}, metadata.managedFields", f"{name} wrote it", when)
                for name, when in sorted(writers.items())
            ),
            next=(symptoms.command("firstlight owners --flaws --fields", "which fields they both want"),),
            since=min(writers.values()),
        )


def pruned_by_another(scene: ClusterObservation) -> Iterator[Symptom]:
    """Objects that one Kustomization has removed and another one has in its inventory."""
    owners: dict[str, Mapping[str, Any]] = {
        name: each for each in scene.of(flux_names.KUSTOMIZATION_GROUP_KIND) for name in engine_state.inventory(each)
    }
    told: set[str] = set()
    for event in scene.events_with("ReconciliationSucceeded", "Progressing", "info"):
        about = event.get("involvedObject") or {}
        if text(about, "kind") != flux_names.KUSTOMIZATION:
            continue
        pruner = f"Kustomization {text(about, 'namespace')}/{text(about, 'name')}"
        for kind, one, two in _DELETED.findall(text(event, "message")):
            name = f"{kind} {one}/{two}" if two else f"{kind} {one}"
            if name in owners and name_of(owners[name]) != pruner and name not in told:
                told.add(name)
                yield symptoms.symptom(
                    code="pruned-by-another",
                    subject=name,
                    message=f"{name} was removed by {pruner}, though {name_of(owners[name])} brings it",
                    evidence=(symptoms.of_event(event),),
                    next=(symptoms.command("firstlight drift", "what is missing of what Git has"),),
                    since=symptoms.of_event(event).at,
                )

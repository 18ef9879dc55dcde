"""What Git alone does not tell of objects: what engines take from Secrets is not here to compare with.

What is live then has the secret where Git has a variable or nothing. So it is neither compared, nor shown, nor applied.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping

from firstlight.document.within import at, sequence, text
from firstlight.engines import engine_directives
from firstlight.model.component import Component, ObjectId, Origin, Side, SourceForm
from firstlight.model.diagnostic import Severity
from firstlight.model.rendition import Object
from firstlight.plan import cluster_facts, final_owners
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.render import flux_kustomization

_GROUPS = {form: each.group for form, each in engine_directives.RESTS.items()}
_HOLDERS = ("Secret", "ExternalSecret", "SealedSecret")

Part = tuple[str, Side]
"""A component and one of its sides."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnknownValues:
    """Of what not everything is known."""

    parts: Mapping[Part, str]
    """All of whose objects may have other values than what was rendered, with the reason."""
    objects: Mapping[ObjectId, str]
    """Those that still have a variable in their text, with the reason."""
    masked: frozenset[str]
    """Components that would take something from a Secret if it were there, and Git does not have it."""

    def why(self, component: str, side: Side, obj: Object) -> str:
        """Why an object cannot be compared; empty where it can be."""
        return self.parts.get((component, side)) or self.objects.get(obj.id, "")


def unknown_values_of(known: ClusterFacts) -> UnknownValues:
    """What is in doubt of what was rendered."""
    variables: dict[str, str] = {}
    parts: dict[Part, str] = {}
    for part, rendition in known.renditions.items():
        for diagnostic in rendition.diagnostics:
            if diagnostic.severity != Severity.UNKNOWN or diagnostic.code == "helm-apis-unknown":
                continue
            if name := flux_kustomization.left_as_text(diagnostic):
                variables.setdefault(name, diagnostic.message)
            else:
                parts.setdefault(part, diagnostic.message)
    for component in known.components:
        origin = final_owners.passing_owner(component)
        if origin is not None and (secret := _values_from(origin)):
            parts.setdefault((component.name, Side.GITOPS), f"values of it are in the Secret {secret}")
    objects = _with_variables(known, variables)
    _spread(known, parts, objects)
    masked = {(name, Side.GITOPS): "" for name in _optional(known)}
    _spread(known, masked, {})
    return UnknownValues(parts=parts, objects=objects, masked=frozenset(name for name, _ in masked))


def _values_from(origin: Origin) -> str:
    """The Secret that a HelmRelease has values in; one that may be missing is not told of when it is rendered."""
    if origin.form != SourceForm.HELM_RELEASE:
        return ""
    listed = sequence(origin.definition, "spec", "valuesFrom")
    return next((text(each, "name") for each in listed if text(each, "kind") == "Secret"), "")


def _with_variables(known: ClusterFacts, variables: Mapping[str, str]) -> dict[ObjectId, str]:
    """Objects in which a variable is left; also those of charts, whose values may have had it."""
    if not variables:
        return {}
    pattern = re.compile(r"\$\{[^}]*?\b(" + "|".join(map(re.escape, variables)) + r")\b")
    found: dict[ObjectId, str] = {}
    for rendition in known.renditions.values():
        for each in rendition.objects:
            if match := pattern.search(json.dumps(each.value, default=str)):
                found[each.id] = variables[match[1]]
    return found


def _spread(known: ClusterFacts, parts: dict[Part, str], objects: Mapping[ObjectId, str]) -> None:
    """What an owner in doubt makes is in doubt: a chart that got a variable as a value may do anything with it."""
    is_more = True
    while is_more:
        is_more = False
        doubtful = {**objects}
        for part, why in parts.items():
            rendition = known.renditions.get(part)
            doubtful |= {each.id: why for each in rendition.objects} if rendition is not None else {}
        for component in known.components:
            part = (component.name, Side.GITOPS)
            reason = next((doubtful[each] for each in _declared(component) if each in doubtful), None)
            if part not in parts and reason is not None:
                parts[part] = reason
                is_more = True


def _declared(component: Component) -> Iterable[ObjectId]:
    """The objects that declare a component."""
    for origin in cluster_facts.origins(component, Side.GITOPS):
        if origin.form in _GROUPS:
            yield ObjectId(_GROUPS[origin.form], origin.form.value, origin.namespace, origin.name)


def _optional(known: ClusterFacts) -> Iterable[str]:
    """Kustomizations with variables in a Secret that need not be there and that Git does not have.

    They are rendered as if it were not there. If it is, what differs is a secret.
    """
    there = {
        (each.id.namespace, each.id.name)
        for rendition in known.renditions.values()
        for each in rendition.objects
        if each.id.kind in _HOLDERS
    }
    for component in known.components:
        origin = final_owners.passing_owner(component)
        if origin is None:
            continue
        for each in sequence(origin.definition, "spec", "postBuild", "substituteFrom"):
            is_secret = text(each, "kind") == "Secret" and at(each, "optional") is True
            if is_secret and (origin.namespace, text(each, "name")) not in there:
                yield component.name

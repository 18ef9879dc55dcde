"""Names that objects have of each other, put right after those objects were renamed or moved."""

from collections.abc import Callable, Sequence
from typing import Any

from firstlight.repo.kustomize import field_specs, fields
from firstlight.repo.kustomize.field_specs import FieldSpecs
from firstlight.repo.kustomize.fields import FieldSpec
from firstlight.repo.kustomize.problem import Problem
from firstlight.repo.kustomize.resource import Gvk, Resource

_WITH_NAMESPACES = {
    "RoleBinding",
    "ClusterRoleBinding",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
}
"""Kinds that name others together with their namespaces, so that they change when those only move."""


class References:
    """Which objects had which names."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._by_name: dict[str, list[Resource]] = {}
        self._has_renamed = any(each.name != name for each in resources for _, _, name in each.previous)
        for resource in resources:
            for name in dict.fromkeys(name for _, _, name in resource.previous):
                self._by_name.setdefault(name, []).append(resource)

    def fixed(self, resource: Resource, specs: FieldSpecs) -> Resource:
        """An object with the names of others as they are now.

        Raises:
            Problem: A name could mean several objects.
        """
        if not self._has_renamed and specs is field_specs.DEFAULT and resource.gvk.kind not in _WITH_NAMESPACES:
            return resource
        value: Any = resource.value
        for target, each in field_specs.references_of(resource.original_id.gvk, specs):
            value = fields.change(value, each.path, self._edit(resource, target, each), create=None)
        return resource.changed(value)

    def _edit(self, referrer: Resource, target: Gvk, spec: FieldSpec) -> Callable[[Any], Any]:
        def edit(value: Any) -> Any:
            if isinstance(value, list):
                items = [edit(each) for each in value]
                return value if all(new is old for new, old in zip(items, value, strict=True)) else items
            if isinstance(value, dict):
                return self._mapping(value, referrer, target, spec)
            if not isinstance(value, str) or value not in self._by_name:
                return value
            found = self._select(value, self._by_name[value], referrer, target, spec, by=lambda each: each.name)
            return value if found is None or found.name == value else found.name

        return edit

    def _mapping(self, value: dict[str, Any], referrer: Resource, target: Gvk, spec: FieldSpec) -> dict[str, Any]:
        """A reference with a name and perhaps a namespace, such as a subject of a binding."""
        name = value.get("name")
        if not isinstance(name, str) or name not in self._by_name:
            return value
        candidates = self._by_name[name]
        if "namespace" in value:
            first = [each for each in candidates if each.original_id.namespace == value["namespace"]]
            candidates = first or [each for each in candidates if each.id.namespace == value["namespace"]]
        found = self._select(name, candidates, referrer, target, spec, by=lambda each: f"{each.namespace}/{each.name}")
        if found is None or (found.name == name and not found.namespace):
            return value
        return {**value, "name": found.name} | ({"namespace": found.namespace} if found.namespace else {})

    def _select(
        self,
        name: str,
        candidates: Sequence[Resource],
        referrer: Resource,
        target: Gvk,
        spec: FieldSpec,
        *,
        by: Callable[[Resource], str],
    ) -> Resource | None:
        wanted = _role(referrer) if spec.path[-2:] == ("roleRef", "name") else None
        found = [
            each
            for each in candidates
            if any(i.name == name for i in each.previous_ids)
            and any(i.gvk.is_selected(target) for i in each.previous_ids)
            and (wanted is None or any(i.gvk.is_selected(wanted) for i in each.previous_ids))
            and _can_name(referrer, each)
        ]
        if len(found) > 1:
            found = [each for each in found if _is_beside(each, referrer, empty=True)]
        if len(found) > 1:
            found = [each for each in found if _is_beside(each, referrer, empty=False)]
        if len({by(each) for each in found}) > 1:
            raise Problem(f"{referrer.gvk.kind} {referrer.name} names {target.kind} {name}, of which there are several")
        return found[0] if found else None


def _role(referrer: Resource) -> Gvk | None:
    role = referrer.value.get("roleRef")
    if not isinstance(role, dict) or "apiGroup" not in role or "kind" not in role:
        return None
    return Gvk(str(role["apiGroup"]), "", str(role["kind"]))


def _can_name(referrer: Resource, other: Resource) -> bool:
    """Whether an object may name another at all: one of its namespace, or one that is in none."""
    if referrer.gvk.is_cluster_scoped or other.gvk.is_cluster_scoped:
        return True
    if referrer.id.namespace == other.id.namespace:
        return True
    subjects = referrer.value.get("subjects")
    return (
        referrer.gvk.kind == "RoleBinding"
        and other.gvk.kind == "ServiceAccount"
        and isinstance(subjects, list)
        and any(
            isinstance(each, dict) and each.get("kind") == "ServiceAccount" and each.get("namespace") == other.namespace
            for each in subjects
        )
    )


def _is_beside(one: Resource, other: Resource, *, empty: bool) -> bool:
    """Whether two objects went through the same renaming; with ``empty``, none at all is the same as any."""
    return all(
        (empty and (not a or not b)) or _same_ending(a, b)
        for a, b in ((one.prefixes, other.prefixes), (one.suffixes, other.suffixes))
    )


def _same_ending(one: Sequence[str], other: Sequence[str]) -> bool:
    shorter = min(len(one), len(other))
    return list(one)[len(one) - shorter :] == list(other)[len(other) - shorter :]

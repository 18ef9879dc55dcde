"""Namespaces, prefixes, suffixes, labels and annotations, put on all objects of a kustomization."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.repo.kustomize import fields
from firstlight.repo.kustomize.fields import FieldSpec
from firstlight.repo.kustomize.problem import Problem
from firstlight.repo.kustomize.resource import Gvk, Resource, repeated

_KEEPS_NAME = (
    Gvk(kind="CustomResourceDefinition"),
    Gvk("apiregistration.k8s.io", "", "APIService"),
    Gvk(kind="Namespace"),
)
_BINDINGS = {"RoleBinding", "ClusterRoleBinding"}


def in_namespace(resources: Sequence[Resource], namespace: str, specs: Sequence[FieldSpec]) -> list[Resource]:
    """Objects moved to a namespace, except those that are in none.

    Raises:
        Problem: Two of them would have one name there.
    """
    moved = [_in_namespace(each, namespace, specs) for each in resources]
    if clash := repeated(moved):
        raise Problem(f"two objects would be called {clash.gvk.kind} {clash.name} in namespace {namespace}")
    return moved


def _in_namespace(resource: Resource, namespace: str, specs: Sequence[FieldSpec]) -> Resource:
    resource = resource.remembering()
    value: Any = resource.value
    if not resource.gvk.is_cluster_scoped:
        value = fields.change(value, ("metadata", "namespace"), lambda _: namespace, create=str)
    if resource.gvk.kind in _BINDINGS:
        value = fields.change(value, ("subjects",), lambda subjects: _subjects(subjects, namespace), create=None)
    wanted = [
        each
        for each in specs
        if resource.gvk.is_selected(each.gvk)
        and each.path != ("metadata", "namespace")
        and (each.path != ("metadata", "name") or resource.value.get("apiVersion") == "v1")
        and not (resource.gvk.kind in _BINDINGS and each.path == ("subjects", "namespace"))
    ]
    return resource.changed(fields.applied(value, wanted, lambda _: namespace, str))


def _subjects(subjects: Any, namespace: str) -> Any:
    """Of the subjects of a binding only those that are called ``default`` are moved."""
    if not isinstance(subjects, list):
        return subjects
    return [
        {**each, "namespace": namespace} if isinstance(each, dict) and each.get("name") == "default" else each
        for each in subjects
    ]


def renamed(
    resources: Sequence[Resource], *, prefix: str = "", suffix: str = "", specs: Sequence[FieldSpec]
) -> list[Resource]:
    """Objects with something before or after their names, except kinds whose names mean something."""

    def edit(value: Any) -> Any:
        return f"{prefix}{'' if value is None else value}{suffix}"

    found = []
    for resource in resources:
        original = resource.original_id.gvk
        if any(original.is_selected(each) for each in _KEEPS_NAME):
            found.append(resource)
            continue
        wanted = [each for each in specs if original.is_selected(each.gvk)]
        if any(each.path == ("metadata", "name") for each in wanted):
            resource = resource.remembering(prefix=prefix, suffix=suffix)
        found.append(resource.changed(fields.applied(resource.value, wanted, edit, None)))
    return found


def labelled(resources: Sequence[Resource], pairs: Mapping[str, Any], specs: Sequence[FieldSpec]) -> list[Resource]:
    """Objects with labels, or annotations, put into fields."""
    texts = {str(name): _text(value) for name, value in pairs.items()}
    found = []
    for resource in resources:
        wanted = [each for each in specs if resource.gvk.is_selected(each.gvk)]
        value = resource.value
        for name in sorted(texts):
            value = fields.applied(value, wanted, fields.with_entry(name, texts[name]), dict)
        found.append(resource.changed(value))
    return found


def _text(value: Any) -> str:
    """A label as it would be written in a file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)

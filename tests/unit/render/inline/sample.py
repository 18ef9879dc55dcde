"""Objects for tests, in few words."""

from typing import Any

from firstlight.model.place import Place
from firstlight.model.rendition import Object

PLACE = Place("apps/thing.yaml", 1)


def an_object(kind: str, name: str, *, namespace: str = "", api: str = "v1", **fields: Any) -> Object:
    """An object; annotations and labels go to its metadata."""
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    for field in ("annotations", "labels"):
        if field in fields:
            metadata[field] = fields.pop(field)
    return Object({"apiVersion": api, "kind": kind, "metadata": metadata, **fields})


def a_crd(kind: str, plural: str, group: str, *, scope: str = "Namespaced") -> Object:
    """A definition of a kind."""
    return an_object(
        "CustomResourceDefinition",
        f"{plural}.{group}",
        api="apiextensions.k8s.io/v1",
        spec={
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": scope,
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
    )


def a_secret(name: str, *, namespace: str = "kube-system", **data: str) -> Object:
    """A Secret with data as it stands in a manifest."""
    return an_object("Secret", name, namespace=namespace, data=data)

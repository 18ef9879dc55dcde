"""What an engine really applied, read from the cluster: live values, and the fields that it owns."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.clients import kube as clients_kube
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object

Path = tuple[str, ...]
NORMALISED = {"f:protocol", "f:resources", "f:strategy", "f:creationTimestamp"}
"""Flux reads objects into Go's types before it applies them, which fills these in: TCP, and what is empty."""


async def differences(kube: clients_kube.Client, objects: Sequence[Object], *, manager: str) -> list[str]:
    """Where a rendition differs from what a manager applied, both ways; an empty list means that it does not.

    Every value that is rendered must be there, and every field that the manager owns must be rendered.
    """
    found: list[str] = []
    for obj in objects:
        name, id = f"{obj.id.kind} {obj.id.namespace}/{obj.id.name}", obj.id
        try:
            live = await kube.get(str(obj.value["apiVersion"]), id.kind, id.name, namespace=id.namespace)
        except clients_kube.NotFound:
            found.append(f"{name} was not applied")
            continue
        wanted = _normal(obj.value)
        found += [f"{name}: {each}" for each in _missing(wanted, live, ())]
        entries = [each for each in live["metadata"]["managedFields"] if each["manager"] == manager]
        if not entries:
            owners = [each["manager"] for each in live["metadata"]["managedFields"]]
            found.append(f"{name} is not owned by {manager}, but by {owners}")
        for entry in entries:
            if not entry.get("subresource"):
                found += [f"{name}: {manager} owns {each}" for each in _unrendered(entry["fieldsV1"], wanted, "")]
    return found


def ids(objects: Sequence[Object]) -> set[ObjectId]:
    return {each.id for each in objects}


def inventory(kustomization: Mapping[str, Any]) -> set[ObjectId]:
    """What Flux says that a Kustomization applied."""
    made = set()
    for each in kustomization["status"]["inventory"]["entries"]:
        namespace, name, group, kind = each["id"].split("_")
        made.add(ObjectId(group, kind, namespace, name.replace("__", ":")))
    return made


def _normal(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object as the API server keeps it: what is null is nothing, and texts of a Secret are data."""
    made: dict[str, Any] = json.loads(json.dumps(dict(value)))
    if made.get("kind") == "Secret" and made.get("stringData"):
        encoded = {key: base64.b64encode(str(text).encode()).decode() for key, text in made.pop("stringData").items()}
        made["data"] = {**(made.get("data") or {}), **encoded}
    return made


def _missing(wanted: Any, live: Any, path: Path) -> Iterator[str]:
    """Values that are rendered and not live."""
    where = ".".join(path)
    if isinstance(wanted, dict):
        if not isinstance(live, dict):
            if wanted:
                yield f"{where} is not there"
            return
        for key, value in wanted.items():
            yield from _missing(value, live.get(key), (*path, key))
    elif isinstance(wanted, list):
        if not isinstance(live, list) or len(live) < len(wanted):
            if wanted:
                yield f"{where} has {live}, not {wanted}"
            return
        keys = [_key(each) for each in wanted]
        by_name = None not in keys and len(set(keys)) == len(keys)
        for number, value in enumerate(wanted):
            same = [each for each in live if _key(each) == _key(value)] if by_name else [live[number]]
            yield from _missing(value, same[0] if same else None, (*path, str(number)))
    elif wanted is not None and (wanted or live) and str(wanted) != str(live):
        yield f"{where} is {live!r}, and {wanted!r} is rendered"


def _unrendered(fields: Mapping[str, Any], rendered: Any, path: str) -> Iterator[str]:
    """Fields that are owned and not rendered."""
    for name, below in fields.items():
        if name == "." or (name in NORMALISED and not below and name[2:] not in (rendered or {})):
            continue
        kind, _, key = name.partition(":")
        inner: Any = None
        if kind == "f":
            inner = rendered.get(key) if isinstance(rendered, dict) else None
        elif kind == "k":
            wanted = json.loads(key)
            items = rendered if isinstance(rendered, list) else []
            inner = next((each for each in items if _fits(each, wanted)), None)
        elif kind == "v":
            items = rendered if isinstance(rendered, list) else []
            inner = next((each for each in items if each == json.loads(key)), None)
        if inner is None and not (isinstance(rendered, dict) and key in rendered):
            yield f"{path}/{name}"
        elif below:
            yield from _unrendered(below, inner, f"{path}/{name}")


def _fits(item: Any, keys: Mapping[str, Any]) -> bool:
    # Ports without a protocol are TCP: the server fills that in before it compares.
    return isinstance(item, dict) and all(
        item.get(key, "TCP" if key == "protocol" else None) == value for key, value in keys.items()
    )


def _key(item: Any) -> Any:
    return item.get("name") if isinstance(item, dict) else None

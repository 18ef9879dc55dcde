"""Secrets that still have to be put in: what is applied is the placeholder."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from firstlight.document.reading import Document
from firstlight.document.within import at
from firstlight.model.component import Component, Side
from firstlight.model.place import Place
from firstlight.model.source import Directory
from firstlight.plan import facts
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene
from firstlight.policy.auditing.secret_words import is_placeholder, is_secret

_EXAMPLE = re.compile(r"example|sample|template|docs?/|README|\.tmpl|\.dist", re.I)
_VAULT_PLUGIN = "avp.kubernetes.io/path"
"""Argo CD's Vault plugin fills in what stands between angle brackets."""
_DEEPEST = 30


def secrets(scene: Scene) -> Iterator[Hit]:
    """Placeholders in Secrets, in values of charts and in machine configs."""
    for item in scene.of_kind("/Secret"):
        yield from _of_secret(item.value, item.object.at, item.cluster, item.component.name)
    for component, document in _applied(scene):
        yield from _of_secret(document.value, document.place, component.cluster, component.name)
    for component in scene.platform.components:
        for layer in scene.values(component):
            yield from _of_values(layer.value, layer.at, component.cluster, component.name)
    for cluster in scene.clusters:
        for part in cluster.parts:
            yield from _of_values(part.config.value, part.config.place, cluster.name, "")


def _applied(scene: Scene) -> Iterator[tuple[Component, Document]]:
    """The documents of files that commands of bootstrap apply."""
    for component in scene.platform.components:
        for origin in facts.origins(component, Side.BOOTSTRAP):
            for source in facts.sources(origin) if not origin.stated else ():
                path = source.path if isinstance(source, Directory) else ""
                if path and scene.files.is_file(path):
                    yield from ((component, each) for each in scene.files.documents(path))


def _of_secret(value: Any, place: Callable[..., Place], cluster: str, component: str) -> Iterator[Hit]:
    if at(value, "kind") != "Secret" or at(value, "apiVersion") != "v1":
        return
    if at(value, "metadata", "annotations", _VAULT_PLUGIN):
        return
    for field in ("stringData", "data"):
        inner = at(value, field)
        for key, each in inner.items() if isinstance(inner, Mapping) else ():
            if is_placeholder(each) or (field == "data" and is_placeholder(_decoded(each))):
                name = at(value, "metadata", "name")
                yield from _hit(f"{key} of Secret {name}", place(field, key), cluster, component)


def _of_values(
    value: Any, place: Callable[..., Place], cluster: str, component: str, path: tuple[str, ...] = ()
) -> Iterator[Hit]:
    for key, each in value.items() if isinstance(value, Mapping) and len(path) < _DEEPEST else ():
        below = (*path, str(key))
        if isinstance(each, Mapping):
            yield from _of_values(each, place, cluster, component, below)
        elif is_secret(str(key)) and is_placeholder(each):
            yield from _hit(".".join(below), place(*below), cluster, component)


def _decoded(value: Any) -> str:
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""


def _hit(what: str, place: Place, cluster: str, component: str) -> Iterator[Hit]:
    if not _EXAMPLE.search(place.path):
        yield Hit(
            message=f"{what} is a placeholder",
            place=place,
            clusters=(cluster,) if cluster else (),
            component=component,
        )

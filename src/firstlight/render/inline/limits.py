"""How much fits: into an object, into a machine config, and into a message to a machine that has none yet."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.rendition import Object
from firstlight.render.inline.contents import plain

MESSAGE = 32 << 20
"""Bytes of a message that Talos and Omni take (``constants.GRPCMaxMessageSize``)."""
CONFIG = MESSAGE // 3
"""Bytes of a machine config: a message about it holds it twice, and Talos tests no more than a third."""
MAINTENANCE = 4 << 20
"""Bytes that a machine in maintenance mode takes before Talos 1.13, which is gRPC's default (omni#2744)."""
OBJECT = 3 << 19
"""Bytes of an object: etcd's default for a request. Kubernetes packs its own kinds, but no custom ones."""
DATA = 1 << 20
"""Bytes in a ConfigMap or Secret (``MaxSecretSize``)."""
_REST = 64 << 10
"""Bytes of a machine config besides its manifests, generously."""
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})")


def check(objects: Sequence[Object], *, size: int, others: int, talos: str, place: Place) -> list[Remark]:
    """What is too large.

    Args:
        objects: What is to be embedded.
        size: Bytes of the contents.
        others: Bytes of the cluster's other inline manifests.
        talos: The version of Talos; may be empty.
        place: What remarks are about.
    """
    return [*_objects(objects, place), *_config(size, others, talos, place)]


def _objects(objects: Sequence[Object], place: Place) -> Iterator[Remark]:
    for each in objects:
        encoded = len(msgspec.json.encode(plain(each.value)))
        if encoded > OBJECT:
            message = f"{each.id} has {shown(encoded)}: etcd takes {shown(OBJECT)}"
            yield Remark(place, Grade.ERROR, message, "Make it smaller, or split it.")
        elif each.id.kind in ("ConfigMap", "Secret") and (data := _data(each)) > DATA:
            message = f"{each.id} has {shown(data)} of data: Kubernetes takes {shown(DATA)}"
            yield Remark(place, Grade.ERROR, message, "Make it smaller, or split it.")


def _data(each: Object) -> int:
    """Bytes of data, as Kubernetes counts them."""
    size = 0
    for field in ("data", "stringData", "binaryData"):
        values = each.value.get(field)
        for value in values.values() if isinstance(values, Mapping) else ():
            length = len(value.encode(errors="replace")) if isinstance(value, str) else 0
            is_encoded = field == "binaryData" or (field == "data" and each.id.kind == "Secret")
            size += length * 3 // 4 if is_encoded else length
    return size


def _config(size: int, others: int, talos: str, place: Place) -> Iterator[Remark]:
    total = size + others + _REST
    beside = f", with {shown(others)} of other inline manifests" if others else ""
    if total > CONFIG:
        message = f"{shown(size)} of contents{beside}: Talos is not safe with more than {shown(CONFIG)} of config"
        hint = "Leave CRDs and whatever can wait to the engine, or to extraManifests, which machines fetch themselves."
        yield Remark(place, Grade.ERROR, message, hint)
    elif total > MAINTENANCE and _is_before_1_13(talos):
        version = f"Talos {talos}" if talos else "Talos before 1.13"
        message = f"{shown(size)} of contents{beside}: in maintenance mode {version} takes {shown(MAINTENANCE)}"
        hint = "New and reset machines would not join, and Omni does not say why. Upgrade Talos, or embed less."
        yield Remark(place, Grade.WARNING, message, hint)


def _is_before_1_13(version: str) -> bool:
    """Whether a version is older; of one that is not known nobody can say that it is not."""
    match = _VERSION.match(version)
    return match is None or (int(match[1]), int(match[2])) < (1, 13)


def shown(size: int) -> str:
    """A size for people."""
    if size < 1 << 10:
        return f"{size} bytes"
    return f"{size / (1 << 10):.0f} KiB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MiB"

"""Objects that hold what must not be seen: Secrets with data, and private keys wherever they stand."""

import base64
import binascii
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import MASK

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KEY = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----\s{1,10}[A-Za-z0-9+/=]{16}")
_ENCODED = "LS0tLS1CRUdJTi"
"""``-----BEGIN`` as base64."""
_HEAD = 120
"""Characters of base64 that hold the header of a key and something of the key."""


@dataclasses.dataclass(frozen=True, slots=True)
class Confidential:
    """An object with something to hide."""

    id: ObjectId
    where: tuple[str, ...]
    """The keys, or the paths of private keys; never a value."""


def of(objects: Iterable[Object]) -> list[Confidential]:
    """The objects that hold secrets."""
    found = [Confidential(each.id, tuple(_where(each))) for each in objects]
    return [each for each in found if each.where]


def is_secret(id: ObjectId) -> bool:
    """Whether an object is a Secret."""
    return id.kind == "Secret" and id.group == ""


def refused(objects: Iterable[Object], allowed: Iterable[str], *, place: Place) -> list[Diagnostic]:
    """An error for each object with secrets that nobody allowed, and for each name that allows nothing.

    Args:
        objects: What is to be embedded.
        allowed: Names that somebody gave on purpose: ``name`` or ``namespace/name``.
        place: What diagnostics are about.
    """
    names = list(dict.fromkeys(allowed))
    used: set[str] = set()
    diagnostics = []
    for each in of(objects):
        fits = {each.id.name, f"{each.id.namespace}/{each.id.name}"} & set(names)
        used |= fits
        if not fits:
            listed = ", ".join(each.where[:5]) + (" …" if len(each.where) > 5 else "")
            what = "has real data" if is_secret(each.id) else "holds a private key"
            message = f"{each.id} {what} ({listed}): everybody who reads the file or the machine config sees it"
            hint = (
                "Let the component make it in the cluster, or declare it as a foundation secret;"
                f" --allow-secret {each.id.name} embeds it all the same."
            )
            diagnostics.append(Diagnostic.error("inline-secret-in-clear", message, at=place, fix=hint))
    for name in names:
        if name not in used:
            message = f"--allow-secret {name}: there is no such Secret with data"
            diagnostics.append(Diagnostic.warning("allow-secret-unused", message, at=place, fix="Leave it out."))
    return diagnostics


def masked(each: Object, *, other: Object | None = None) -> Object:
    """An object that can be shown; a value that differs from the other's says so."""
    if is_secret(each.id):
        value = dict(each.value)
        theirs = other.value if other is not None else {}
        for field in ("data", "stringData"):
            if isinstance(value.get(field), Mapping):
                value[field] = _masked_values(value[field], theirs.get(field), is_new=other is not None)
        return Object(_masked_last_applied(value))
    paths = {path for path, _ in _keys(each.value)}
    return Object(_masked_paths(each.value, paths)) if paths else each


def _masked_values(values: Mapping[str, Any], theirs: Any, *, is_new: bool) -> dict[str, str]:
    theirs = theirs if isinstance(theirs, Mapping) else {}
    return {
        key: f"{MASK} (another value)" if is_new and key in theirs and theirs[key] != value else MASK
        for key, value in values.items()
    }


def _masked_last_applied(value: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = value.get("metadata")
    notes = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(metadata, Mapping) or not isinstance(notes, Mapping) or LAST_APPLIED not in notes:
        return value
    return {**value, "metadata": {**metadata, "annotations": {**notes, LAST_APPLIED: MASK}}}


def _masked_paths(value: Any, paths: set[tuple[str | int, ...]], steps: tuple[str | int, ...] = ()) -> Any:
    if steps in paths:
        return MASK
    if isinstance(value, Mapping):
        return {key: _masked_paths(each, paths, (*steps, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [_masked_paths(each, paths, (*steps, n)) for n, each in enumerate(value)]
    return value


def _where(each: Object) -> Iterator[str]:
    if is_secret(each.id):
        for field in ("data", "stringData"):
            values = each.value.get(field)
            for key, value in values.items() if isinstance(values, Mapping) else ():
                if value not in (None, ""):
                    yield str(key)
        metadata = each.value.get("metadata")
        notes = metadata.get("annotations") if isinstance(metadata, Mapping) else None
        if isinstance(notes, Mapping) and LAST_APPLIED in notes:
            yield LAST_APPLIED
    elif not each.is_crd:
        for path, _ in _keys(each.value):
            yield ".".join(str(step) for step in path)


def _keys(value: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Texts that hold a private key, with the way to them."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        steps, each = waiting.pop()
        if isinstance(each, Mapping):
            waiting += (((*steps, str(key)), child) for key, child in each.items())
        elif isinstance(each, list):
            waiting += (((*steps, n), child) for n, child in enumerate(each))
        elif isinstance(each, str) and _is_key(each):
            yield steps, each


def _is_key(text: str) -> bool:
    if "PRIVATE KEY-----" in text and _KEY.search(text):
        return True
    start = text.lstrip()[: _HEAD * 2]
    if not start.startswith(_ENCODED):
        return False
    head = "".join(start.split())[:_HEAD]
    try:
        decoded = base64.b64decode(head[: len(head) // 4 * 4], validate=True)
    except (binascii.Error, ValueError):
        return False
    return b"PRIVATE KEY-----" in decoded

"""Secrets that are applied with ``stringData``, as Helm and Argo CD do: the server keeps it as ``data``.

Who applied it owns ``stringData`` then, which no object has, and nobody owns the ``data`` that it became. So a key that
is left out of the next apply stays in the cluster.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping, sequence

_GIVEN, _KEPT = "f:stringData", "f:data"


def is_given(value: Mapping[str, Any]) -> bool:
    """Whether an object is a Secret with ``stringData``."""
    return _is_secret(value) and isinstance(value.get("stringData"), Mapping)


def with_given(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """A live Secret with those of its keys as ``stringData`` that are wanted so; other objects as they are.

    Args:
        live: As it is.
        wanted: As it would be applied.
    """
    if not is_given(wanted):
        return live
    data = mapping(live, "data")
    given = {name: text for name in mapping(wanted, "stringData") if (text := _decoded(data.get(name))) is not None}
    return {**live, "stringData": given}


def owned_as_data(live: Mapping[str, Any]) -> Mapping[str, Any]:
    """A live Secret whose managers own the ``data`` that their ``stringData`` became; other objects as they are."""
    entries = sequence(live, "metadata", "managedFields")
    if not _is_secret(live) or not any(_GIVEN in mapping(each, "fieldsV1") for each in entries):
        return live
    made = [{**each, "fieldsV1": _as_data(mapping(each, "fieldsV1"))} for each in entries]
    return {**live, "metadata": {**mapping(live, "metadata"), "managedFields": made}}


def _as_data(fields: Mapping[str, Any]) -> dict[str, Any]:
    if _GIVEN not in fields:
        return dict(fields)
    left = {name: each for name, each in fields.items() if name != _GIVEN}
    return {**left, _KEPT: {**mapping(fields, _KEPT), **mapping(fields, _GIVEN)}}


def _is_secret(value: Mapping[str, Any]) -> bool:
    return value.get("kind") == "Secret" and value.get("apiVersion") == "v1"


def _decoded(value: Any) -> str | None:
    """The text of a key of ``data``; None if it is none."""
    try:
        return base64.b64decode(str(value), validate=True).decode() if value is not None else None
    except (binascii.Error, UnicodeDecodeError):
        return None

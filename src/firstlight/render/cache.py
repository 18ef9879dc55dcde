"""Renderings that were done before, kept by what went into them.

    <home>/<key>.json    the questions that were asked, the hashes of the answers, and the objects

The key says what was to be rendered; a rendering is good while all of its questions have the same answers. Objects of
kind Secret whose data can be read are never written, and no URL with a password: a rendering that has one is not kept
at all.
"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight.model import remote_url
from firstlight.model.component import ObjectId
from firstlight.model.remark import Remark
from firstlight.model.rendition import Object, Pin
from firstlight.render import kept
from firstlight.render.questions import Answer
from firstlight.render.raw import Raw

_SWEEP = 0.005
"""How often a write takes what is old away: once in two hundred."""


class Entry(msgspec.Struct, frozen=True):
    """A rendering as it is kept."""

    answers: tuple[Answer, ...]
    objects: list[dict[str, Any]]
    remarks: tuple[Remark, ...] = ()
    pins: tuple[Pin, ...] = ()
    namespace: str = ""
    release: str = ""
    unreleased: tuple[ObjectId, ...] = ()

    @property
    def raw(self) -> Raw:
        """What was rendered."""
        return Raw(
            tuple(Object(each) for each in self.objects), self.remarks, self.namespace, self.release, self.unreleased
        )


class Cache:
    """Renderings on the disk of the user."""

    def __init__(self, home: Path | None) -> None:
        """Open it; without a home nothing is kept and nothing is found."""
        self._home = home

    def find(self, key: str) -> Entry | None:
        """A rendering, whose answers are still to be compared."""
        content = kept.read(self._place(key)) if self._home is not None else None
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=Entry)
        except msgspec.DecodeError:
            return None

    def keep(self, key: str, raw: Raw, answers: tuple[Answer, ...], pins: tuple[Pin, ...]) -> bool:
        """Keep a rendering; whether it may be kept, that is whether it is whole and has no secrets in it."""
        if self._home is None or not raw.is_whole or any(has_secrets(each) for each in raw.objects):
            if self._home is not None:
                kept.remove(self._place(key))
            return False
        entry = Entry(
            answers=answers,
            objects=[dict(each.value) for each in raw.objects],
            remarks=raw.remarks,
            pins=pins,
            namespace=raw.namespace,
            release=raw.release,
            unreleased=raw.unreleased,
        )
        content = msgspec.json.encode(entry)
        if remote_url.has_credentials(content):
            kept.remove(self._place(key))
            return False
        kept.write(self._place(key), content)
        if random.random() < _SWEEP:  # noqa: S311 - no secret depends on it
            kept.forget_unused(self._home)
        return True

    def _place(self, key: str) -> Path:
        assert self._home is not None
        return self._home / f"{key}.json"


def has_secrets(obj: Object) -> bool:
    """Whether it is a Secret whose data can be read: not an empty one, and not one that sops has encrypted."""
    if obj.id.kind != "Secret" or obj.id.group:
        return False
    is_encrypted = isinstance(obj.value.get("sops"), Mapping)
    for field in ("data", "stringData"):
        data = obj.value.get(field)
        for value in data.values() if isinstance(data, Mapping) else ():
            if value and not (is_encrypted and str(value).startswith("ENC[")):
                return True
    metadata = obj.value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return isinstance(annotations, Mapping) and "kubectl.kubernetes.io/last-applied-configuration" in annotations

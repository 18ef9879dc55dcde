"""Renderings that were done before, kept by what went into them.

    <home>/<key>.json    the questions that were asked, the hashes of the answers, and the objects

The key says what was to be rendered; a rendering is good while all of its questions have the same answers. Objects of
kind Secret whose data can be read are never written, and no URL with a password: a rendering that has one is not kept
at all.
"""

import random
from pathlib import Path
from typing import Any

import msgspec

from firstlight.model import remote_url
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.rendition import Object, VersionPin, has_secrets
from firstlight.render import cache_files
from firstlight.render.render_questions import RecordedAnswer
from firstlight.render.rendered_objects import RawObjects

_SWEEP = 0.005
"""How often a write takes what is old away: once in two hundred."""


class CachedRendering(msgspec.Struct, frozen=True):
    """A rendering as it is kept."""

    answers: tuple[RecordedAnswer, ...]
    objects: list[dict[str, Any]]
    diagnostics: tuple[Diagnostic, ...] = ()
    pins: tuple[VersionPin, ...] = ()
    namespace: str = ""
    release: str = ""
    unreleased: tuple[ObjectId, ...] = ()
    by_default: tuple[ObjectId, ...] = ()

    @property
    def raw(self) -> RawObjects:
        """What was rendered."""
        return RawObjects(
            tuple(Object(each) for each in self.objects),
            self.diagnostics,
            self.namespace,
            self.release,
            self.unreleased,
            self.by_default,
        )


class RenderCache:
    """Renderings on the disk of the user."""

    def __init__(self, home: Path | None) -> None:
        """Open it; without a home nothing is kept and nothing is found."""
        self._home = home

    def find(self, key: str) -> CachedRendering | None:
        """A rendering, whose answers are still to be compared."""
        content = cache_files.read_kept(self._place(key)) if self._home is not None else None
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=CachedRendering)
        except msgspec.DecodeError:
            return None

    def keep(
        self, key: str, raw: RawObjects, answers: tuple[RecordedAnswer, ...], pins: tuple[VersionPin, ...]
    ) -> bool:
        """Keep a rendering; whether it may be kept, that is whether it is whole and has no secrets in it."""
        if self._home is None or not raw.is_whole or any(has_secrets(each) for each in raw.objects):
            if self._home is not None:
                cache_files.remove_kept(self._place(key))
            return False
        entry = CachedRendering(
            answers=answers,
            objects=[dict(each.value) for each in raw.objects],
            diagnostics=raw.diagnostics,
            pins=pins,
            namespace=raw.namespace,
            release=raw.release,
            unreleased=raw.unreleased,
            by_default=raw.by_default,
        )
        content = msgspec.json.encode(entry)
        if remote_url.has_credentials(content):
            cache_files.remove_kept(self._place(key))
            return False
        cache_files.write_kept(self._place(key), content)
        if random.random() < _SWEEP:  # noqa: S311 - no secret depends on it
            cache_files.forget_unused(self._home)
        return True

    def _place(self, key: str) -> Path:
        assert self._home is not None
        return self._home / f"{key}.json"

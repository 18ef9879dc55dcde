"""Values that every rendering makes anew: certificates, keys, passwords, and checksums of those.

Two renderings of the same sources tell for certain. Where there is only one, a certificate that begins to be valid at
this very hour was made by it.
"""

import base64
import binascii
import dataclasses
import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.render.inline import known_charts
from firstlight.render.inline.manifest_contents import fingerprint, plain_value

Steps = tuple[str | int, ...]
_RECENT = datetime.timedelta(hours=1)
"""How young a certificate is that a rendering of some minutes made; charts let them begin now or a minute ago."""
_CHECKSUM = re.compile(r"checksum|hash|digest", re.IGNORECASE)
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.{1,20000}?-----END CERTIFICATE-----", re.DOTALL)
_UNKNOWN = (
    "Give the chart a fixed value or a Secret that exists, or let cert-manager or a Job make it in the cluster:"
    " else each rendering makes it anew."
)


@dataclasses.dataclass(frozen=True, slots=True)
class UnstableValue:
    """A value that changes."""

    id: ObjectId
    steps: Steps
    """The way to it; empty if the object itself comes and goes, since its name changes."""

    @property
    def is_checksum(self) -> bool:
        """Whether it is only derived from others: an annotation of pods, so that they restart."""
        return len(self.steps) > 1 and self.steps[-2] == "annotations" and bool(_CHECKSUM.search(str(self.steps[-1])))

    def __str__(self) -> str:
        path = ".".join(str(step) for step in self.steps)
        return f"{self.id} {path}".rstrip()


def between(one: Sequence[Object], other: Sequence[Object]) -> tuple[UnstableValue, ...]:
    """What differs between two renderings of the same sources."""
    first, second = ({each.id: plain_value(each.value) for each in objects} for objects in (one, other))
    found = [UnstableValue(id, ()) for id in sorted(first.keys() ^ second.keys())]
    for id in sorted(first.keys() & second.keys()):
        found += [UnstableValue(id, steps) for steps in _differences(first[id], second[id])]
    return tuple(found)


def suspects(objects: Sequence[Object], *, now: datetime.datetime) -> tuple[UnstableValue, ...]:
    """Certificates that were made at this rendering, with the keys that stand beside them."""
    found: list[UnstableValue] = []
    for each in objects:
        fresh = [steps for steps, text in _texts(plain_value(each.value)) if _is_fresh(text, now)]
        for steps in fresh:
            found += _beside(each, steps)
    return tuple(dict.fromkeys(found))


def diagnostics(found: Sequence[UnstableValue], objects: Sequence[Object], *, place: Place) -> list[Diagnostic]:
    """A warning for each object with such values, and how to make them stay."""
    by_id = {each.id: each for each in objects}
    said: dict[ObjectId, list[UnstableValue]] = {}
    for each in found:
        said.setdefault(each.id, []).append(each)
    made = []
    for id, values in said.items():
        names = ", ".join(".".join(str(step) for step in each.steps[-2:]) for each in values[:4])
        more = " …" if len(values) > 4 else ""
        what = f"{names}{more} of {id}" if values[0].steps else f"the name of {id}"
        annotation = next((str(each.steps[-1]) for each in values if each.is_checksum), "")
        hint = (known_charts.remedy(by_id[id], annotation) if id in by_id else "") or _UNKNOWN
        made.append(
            Diagnostic.warning("inline-value-unstable", f"{what}: every rendering makes it anew", at=place, fix=hint)
        )
    return made


def keep(
    new: Sequence[Object], old: Sequence[Object], found: Sequence[UnstableValue]
) -> tuple[list[Object], list[UnstableValue]]:
    """The new objects with the old values where each rendering has another, and which these are.

    Keys and certificates belong together, so all of them are kept or none. Checksums are kept only if nothing else
    changed, since they are to tell that.
    """
    values = [each for each in found if each.steps]
    before = {each.id: each.value for each in old}
    is_whole = all(each.id in before and _has(before[each.id], each.steps) for each in values)
    if not values or not is_whole or len(values) < len(found):
        return list(new), []
    kept = _with(new, before, values)
    changed = any(each.id not in before or fingerprint(each) != fingerprint(Object(before[each.id])) for each in kept)
    if not changed and {each.id for each in kept} == before.keys():
        return kept, values
    values = [each for each in values if not each.is_checksum]
    return _with(new, before, values), values


def _with(
    new: Sequence[Object], before: Mapping[ObjectId, Mapping[str, Any]], values: Sequence[UnstableValue]
) -> list[Object]:  # fmt: skip
    made = []
    for each in new:
        value: Any = each.value
        for one in values:
            if one.id == each.id:
                value = _set(value, one.steps, _get(before[one.id], one.steps))
        made.append(Object(value) if value is not each.value else each)
    return made


def _differences(one: Any, other: Any, steps: Steps = ()) -> Iterator[Steps]:
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        for key in one:
            yield from _differences(one[key], other[key], (*steps, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for n, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(*pair, (*steps, n))
    elif type(one) is not type(other) or one != other:
        yield steps


def _beside(each: Object, steps: Steps) -> Iterator[UnstableValue]:
    """A certificate, and in a Secret the other values, which belong to it."""
    if each.id.kind == "Secret" and len(steps) == 2:
        for key, value in each.value[str(steps[0])].items():
            if value:
                yield UnstableValue(each.id, (steps[0], key))
    else:
        yield UnstableValue(each.id, steps)


def _texts(value: Any) -> Iterator[tuple[Steps, str]]:
    waiting: list[tuple[Steps, Any]] = [((), value)]
    while waiting:
        steps, each = waiting.pop()
        if isinstance(each, Mapping):
            waiting += (((*steps, key), child) for key, child in each.items())
        elif isinstance(each, list):
            waiting += (((*steps, n), child) for n, child in enumerate(each))
        elif isinstance(each, str) and len(each) > 300:
            yield steps, each


def _is_fresh(text: str, now: datetime.datetime) -> bool:
    data = text.encode(errors="replace")
    if text.startswith("LS0tLS1CRUdJTi"):
        try:
            data = base64.b64decode(text)
        except (binascii.Error, ValueError):
            return False
    match = _PEM.search(data)
    if match is None:
        return False
    from cryptography import x509

    try:
        begins = x509.load_pem_x509_certificate(match.group()).not_valid_before_utc
    except ValueError:
        return False
    return abs(now - begins) < _RECENT


def _has(value: Any, steps: Steps) -> bool:
    try:
        _get(value, steps)
    except (LookupError, TypeError):
        return False
    return True


def _get(value: Any, steps: Steps) -> Any:
    for step in steps:
        value = value[step]
    return value


def _set(value: Any, steps: Steps, new: Any) -> Any:
    """A copy of a value with something else at the end of a way."""
    if not steps:
        return new
    step, *rest = steps
    if isinstance(value, Mapping):
        return {**value, step: _set(value[str(step)], tuple(rest), new)}
    return [_set(each, tuple(rest), new) if n == step else each for n, each in enumerate(value)]

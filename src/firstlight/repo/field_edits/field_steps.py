"""Ways to values: the same item of a list has another number once patches have put others before it."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.ownership.field_values import ABSENT, is_same
from firstlight.repo.field_edits.edit_candidates import Steps, WantedField
from firstlight.repo.secrecy import secret_fields

_KEYS = ("name", "mountPath", "containerPort", "port", "key", "topologyKey", "ip", "host")
"""What tells items of lists apart, as people write them."""


def value_at(value: Any, steps: Steps) -> Any:
    """The value at the end of a way; ABSENT where there is none."""
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(step, ABSENT)
        else:
            is_item = isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)
            value = value[step] if is_item else ABSENT
    return value


def with_value(value: Any, steps: Steps, new: Any) -> Any:
    """A copy with another value at the end of a way, or without one; what the way lacks is made."""
    if not steps:
        return copy.deepcopy(new)
    step, *rest = steps
    if isinstance(step, int):
        items = list(value) if isinstance(value, list) else []
        if not rest and new is ABSENT:
            return [each for number, each in enumerate(items) if number != step]
        if step >= len(items):
            return [*items, with_value(ABSENT, tuple(rest), new)]
        return [with_value(each, tuple(rest), new) if number == step else each for number, each in enumerate(items)]
    made = dict(value) if isinstance(value, Mapping) else {}
    if not rest and new is ABSENT:
        made.pop(step, None)
    else:
        made[step] = with_value(made.get(step, ABSENT), tuple(rest), new)
    return made


def found_in(written: Any, steps: Steps, *, of: Any) -> tuple[Steps, Steps]:
    """The way to the same field in another form of an object: what of it is there, and what is lacking.

    Args:
        written: The form that is written: a manifest, or a patch.
        steps: The way in the object as it is rendered.
        of: The object as it is rendered.
    """
    done: list[str | int] = []
    for number, step in enumerate(steps):
        inner = of[step] if isinstance(of, list) and isinstance(step, int) and step < len(of) else value_at(of, (step,))
        if isinstance(step, int):
            place = _index(written, inner, step, is_whole=isinstance(of, list) and len(of) == _length(written))
            if place is None:
                # A new item goes behind those that are written, however many there are.
                rest = (_length(written), *steps[number + 1 :]) if isinstance(written, list) else steps[number:]
                return tuple(done), rest
            step = place
        elif not isinstance(written, Mapping) or step not in written:
            return tuple(done), steps[number:]
        written, of = written[step], inner
        done.append(step)
    return tuple(done), ()


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


def _index(items: Any, wanted: Any, number: int, *, is_whole: bool) -> int | None:
    if not isinstance(items, list):
        return None
    if isinstance(wanted, Mapping):
        for key in _KEYS:
            if key in wanted:
                same = [
                    at for at, each in enumerate(items) if isinstance(each, Mapping) and each.get(key) == wanted[key]
                ]
                if len(same) == 1:
                    return same[0]
    elif wanted is not ABSENT:
        same = [at for at, each in enumerate(items) if is_same(each, wanted)]
        if len(same) == 1:
            return same[0]
    return number if is_whole and number < len(items) else None


def key_of(item: Any) -> tuple[str, Any] | None:
    """What tells an item from others of its list."""
    if isinstance(item, Mapping):
        return next(((key, item[key]) for key in _KEYS if key in item), None)
    return None


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Every value that holds no others, and every collection that is empty."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*steps, name))
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from leaves(inner, (*steps, number))
    else:
        yield steps, value


def differing(before: Any, after: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any, Any]]:
    """Where two values differ: each value, or whole that only one has; lists of other lengths as wholes."""
    if is_same(before, after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            yield from differing(before.get(name, ABSENT), after.get(name, ABSENT), (*steps, name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differing(one, other, (*steps, number))
    else:
        yield steps, before, after


def steps_text(steps: Steps, of: Any) -> str:
    """A way for people: ``spec.template.spec.containers[name=web].image``."""
    made = ""
    for step in steps:
        inner = value_at(of, (step,))
        if isinstance(step, int):
            key = key_of(inner)
            made += f"[{key[0]}={key[1]}]" if key else f"[{step}]"
        elif "." in step or "/" in step:
            made += f"[{step}]"
        else:
            made += f".{step}" if made else step
        of = inner
    return made


# Whether a live value is a secret, which does not get into Git however it is written there.


def is_secret_field(wish: WantedField, value: Any = None) -> bool:
    """Whether a wish has a secret in it, by the names that it stands below or by itself.

    Args:
        wish: The field.
        value: The object as it is rendered.
    """
    if wish.after is ABSENT:
        return False
    whole = with_value(value or {}, wish.steps, wish.after)
    return any(secret_fields.by_name(_named((*wish.steps, *steps), whole), leaf) for steps, leaf in leaves(wish.after))


def _named(steps: Steps, of: Any) -> tuple[str, ...]:
    """A way with items of lists by their keys: ``env``, ``[name=PASSWORD]``, ``value``."""
    made: list[str] = []
    for step in steps:
        of = value_at(of, (step,))
        key = key_of(of) if isinstance(step, int) else None
        made.append(f"[{key[0]}={key[1]}]" if key else f"[{step}]" if isinstance(step, int) else step)
    return tuple(made)

"""Whether a live value is a secret, which does not get into Git however it is written there."""

from typing import Any

from firstlight.ownership.field_values import ABSENT
from firstlight.repo.aligning import ways
from firstlight.repo.aligning.wish import Steps, Wish
from firstlight.repo.changing import secrecy


def is_secret(wish: Wish, value: Any = None) -> bool:
    """Whether a wish has a secret in it, by the names that it stands below or by itself.

    Args:
        wish: The field.
        value: The object as it is rendered.
    """
    if wish.after is ABSENT:
        return False
    whole = ways.put(value or {}, wish.steps, wish.after)
    return any(secrecy.by_name(_named((*wish.steps, *steps), whole), leaf) for steps, leaf in ways.leaves(wish.after))


def _named(steps: Steps, of: Any) -> tuple[str, ...]:
    """A way with items of lists by their keys: ``env``, ``[name=PASSWORD]``, ``value``."""
    made: list[str] = []
    for step in steps:
        of = ways.at(of, (step,))
        key = ways.key_of(of) if isinstance(step, int) else None
        made.append(f"[{key[0]}={key[1]}]" if key else f"[{step}]" if isinstance(step, int) else step)
    return tuple(made)

"""From one version of the network plugin to another: at once, in several changes, or not at all."""

import dataclasses
import enum

from firstlight.plan.versions import Minor, minor
from firstlight.policy.cni.products import Product
from firstlight.policy.deciding import versions


class Stride(enum.StrEnum):
    """How far it goes."""

    NONE = "none"
    PATCH = "patch"
    MINOR = "minor"
    SKIP = "skip"
    """A minor version is left out, or the major one changes."""
    BACK = "back"
    """To a patch version before, or to the minor version before."""
    FAR_BACK = "far back"
    UNKNOWN = "unknown"
    """One of both is no version that can be told, such as a range."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What becomes of the version."""

    stride: Stride
    says: str
    minors: tuple[str, ...] = ()
    """The minor versions on the way, the last one included: each is a change of its own."""
    is_refused: bool = False


def between(before: str, after: str, product: Product) -> Steps:
    """Judge a step.

    Args:
        before: The version that runs.
        after: The version that is wanted.
        product: Whose.
    """
    old, new = versions.number(before), versions.number(after)
    first, last = minor(old), minor(new)
    if first is None or last is None:
        what = f"{before or 'what runs'} and {after or 'what is wanted'}"
        return Steps(
            stride=Stride.UNKNOWN,
            says=f"{what} cannot be compared: whether a minor version is left out is for a person to see",
        )
    if old == new:
        return Steps(stride=Stride.NONE, says=f"{product.title} {new} runs already")
    if first == last:
        is_back = versions.bump(old, new) == "down"
        word = "back to a patch version before" if is_back else "a patch version"
        return Steps(stride=Stride.BACK if is_back else Stride.PATCH, says=f"{product.title} {old} › {new}: {word}")
    return _apart(old, new, first, last, product)


def _apart(old: str, new: str, first: Minor, last: Minor, product: Product) -> Steps:
    """Two minor versions."""
    way = f"{product.title} {old} › {new}"
    if first[0] != last[0]:
        return Steps(
            stride=Stride.SKIP,
            says=f"{way}: another major version; read its upgrade notes",
            is_refused=product.consecutive,
        )
    numbers = range(first[1] + 1, last[1] + 1) if last > first else range(first[1] - 1, last[1] - 1, -1)
    minors = tuple(f"{first[0]}.{each}" for each in numbers)
    if len(minors) == 1:
        stride, word = (
            (Stride.MINOR, "the next minor version")
            if last > first
            else (Stride.BACK, "the minor version before, which is the way back")
        )
        return Steps(stride=stride, says=f"{way}: {word}", minors=minors)
    stride = Stride.SKIP if last > first else Stride.FAR_BACK
    each = " › ".join(minors)
    if product.consecutive:
        return Steps(
            stride=stride,
            says=f"{way} leaves minor versions out: {each}, each a change of its own, and well before the next",
            minors=minors,
            is_refused=True,
        )
    return Steps(
        stride=stride, says=f"{way} passes over minor versions ({each}): read the notes of each", minors=minors
    )

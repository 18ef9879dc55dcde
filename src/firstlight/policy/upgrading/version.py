"""Whole versions, and how far one is from another."""

import re
from typing import NamedTuple

_WHOLE = re.compile(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:-([0-9A-Za-z.-]+))?")


class Version(NamedTuple):
    """A version that can be compared; one before a release is less than the release."""

    major: int
    minor: int
    patch: int
    is_release: bool
    before: tuple[tuple[bool, int, str], ...] = ()

    @property
    def line(self) -> tuple[int, int]:
        """Major and minor."""
        return self.major, self.minor


def parse(text: str) -> Version | None:
    """A version such as ``v1.13.1`` or ``1.14.0-beta.1``; None for anything else."""
    match = _WHOLE.fullmatch(text.strip())
    if match is None:
        return None
    pieces = match[4].split(".") if match[4] else []
    rest = tuple((not each.isdecimal(), int(each) if each.isdecimal() else 0, each) for each in pieces)
    return Version(int(match[1]), int(match[2]), int(match[3]), not rest, rest)


def written(text: str) -> str:
    """A version as Talos writes its own: with a ``v``."""
    return f"v{text.strip().removeprefix('v')}"

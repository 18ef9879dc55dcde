"""Versions as programs print them, and what is asked of them.

Only as much of semantic versioning as programs need: three numbers and a pre-release, no build metadata.
"""

import dataclasses
import functools
import re

from firstlight.model import versions

_CLAUSE = re.compile(r"\s*(==|>=|<)\s*(\S+)\s*")


@functools.total_ordering
@dataclasses.dataclass(frozen=True)
class ToolVersion:
    """Three numbers, and the name of a pre-release or nothing."""

    numbers: tuple[int, int, int]
    pre: str = ""

    def __lt__(self, other: "ToolVersion") -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[tuple[int, int, int], bool, list[tuple[bool, int, str]]]:
        # A pre-release comes before its release; among themselves, numbers before words.
        parts = [(not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in self.pre.split(".")]
        return self.numbers, not self.pre, parts

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers)) + (f"-{self.pre}" if self.pre else "")


def parse(text: str) -> ToolVersion:
    """Read ``v1.36.3``, ``1.13``, ``2.0.0-rc.1`` or ``2.39.5.windows.1``.

    Raises:
        ValueError: It is not a version.
    """
    found = versions.program_version(text)
    if found is None:
        raise ValueError(f"{text!r} is not a version")
    return ToolVersion(*found)


@dataclasses.dataclass(frozen=True)
class VersionRequirement:
    """What a version must be: every clause holds."""

    text: str
    clauses: tuple[tuple[str, ToolVersion], ...]

    def accepts(self, version: ToolVersion) -> bool:
        """Whether the version will do."""
        return all(_holds(operator, bound, version) for operator, bound in self.clauses)


def parse_requirement(text: str) -> VersionRequirement:
    """Read ``==1.36.3`` or ``>=1.12,<1.14``.

    Raises:
        ValueError: It is not a requirement.
    """
    clauses = []
    for part in text.split(","):
        match = _CLAUSE.fullmatch(part)
        if match is None:
            raise ValueError(f"{text!r} is not a requirement such as '>=1.12,<1.14' or '==1.36.3'")
        clauses.append((match[1], parse(match[2])))
    return VersionRequirement(text, tuple(clauses))


def _holds(operator: str, bound: ToolVersion, version: ToolVersion) -> bool:
    if operator == "==":
        return version == bound
    if operator == ">=":
        return version >= bound
    # 1.14.0-rc.1 is before 1.14.0, but it is not what somebody means who asks for less than 1.14.
    return version.numbers < bound.numbers

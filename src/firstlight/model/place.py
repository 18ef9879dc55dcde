"""A place in a file of a repo."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a file; lines and columns count from 1, and 0 means the whole file."""

    path: str
    """Relative to the repo, with forward slashes."""
    line: int = 0
    column: int = 0

    def describe_missing(self, *paths: str, verb: str = "names") -> str:
        """Say that the file names paths that do not exist."""
        *most, last = paths
        listed = f"{', '.join(most)} and {last}" if most else last
        return f"{self.path.rpartition('/')[2]} {verb} {listed}, which {'do' if most else 'does'} not exist"

    def __str__(self) -> str:
        return ":".join([self.path, *(str(number) for number in (self.line, self.column) if number)])

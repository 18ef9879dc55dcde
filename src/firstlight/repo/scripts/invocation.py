"""One program as a script runs it: its words with everything known put in."""

import dataclasses
import posixpath
from collections.abc import Mapping

from firstlight.model.place import Place
from firstlight.repo.scripts.shell.expansion import Text


@dataclasses.dataclass(frozen=True, slots=True)
class Feed:
    """What a program reads from its standard input, if the script itself says it."""

    text: Text
    line: int
    """Of its first line, in the file; 0 for a file that is read."""
    is_file: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One program with its arguments."""

    words: tuple[Text, ...]
    """The program first; what only runs others (sudo, mise exec …) is taken off."""
    written: tuple[Text, ...]
    """All words, as they stand there."""
    place: Place
    directory: str | None
    """Where it runs, from the repo's root; None if that is not known."""
    feed: Feed | None = None
    output: Text | None = None
    """The file that its output goes to."""
    inner: Mapping[str, tuple["Invocation", ...]] = dataclasses.field(default_factory=dict)
    """The commands of ``<(…)``, by the word as it is written."""

    @property
    def program(self) -> str:
        """Its name, without a path."""
        return posixpath.basename(self.words[0].text) if self.words else ""

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Variables that only a run would tell."""
        return tuple(dict.fromkeys(name for word in self.words for name in word.unknowns))

"""One program as a script runs it: its words with everything known put in."""

import dataclasses
import posixpath
from collections.abc import Collection, Mapping, Sequence

from firstlight.model.place import Place
from firstlight.repo.scripts.shell.shell_expansion import ExpandedText


@dataclasses.dataclass(frozen=True, slots=True)
class Feed:
    """What a program reads from its standard input, if the script itself says it."""

    text: ExpandedText
    line: int
    """Of its first line, in the file; 0 for a file that is read."""
    is_file: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One program with its arguments."""

    words: tuple[ExpandedText, ...]
    """The program first; what only runs others (sudo, mise exec …) is taken off."""
    written: tuple[ExpandedText, ...]
    """All words, as they stand there."""
    place: Place
    directory: str | None
    """Where it runs, from the repo's root; None if that is not known."""
    feed: Feed | None = None
    output: ExpandedText | None = None
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


# Command lines of Go programs: flags with and without values, and what is neither.


@dataclasses.dataclass(frozen=True, slots=True)
class Flags:
    """A command line in its parts."""

    positional: tuple[ExpandedText, ...]
    values: Mapping[str, tuple[ExpandedText, ...]]
    """By the long name, without dashes; a flag without a value has an empty one."""

    def has(self, name: str) -> bool:
        """Whether a switch is on."""
        return name in self.values and self.values[name][-1].text != "false"

    def one(self, name: str) -> ExpandedText:
        """The last value of a flag; an empty one if it is not given."""
        return self.values[name][-1] if name in self.values else ExpandedText("")

    def all(self, *names: str) -> tuple[ExpandedText, ...]:
        """All values of flags."""
        return tuple(each for name in names for each in self.values.get(name, ()))


def flag_names(text: str) -> frozenset[str]:
    """Names of flags, separated by space."""
    return frozenset(text.split())


def parse_flags(words: Sequence[ExpandedText], *, valued: Collection[str], short: Mapping[str, str]) -> Flags:
    """Take a command line apart.

    Args:
        words: Without the program and its subcommands.
        valued: Long names of flags that take a value.
        short: Short names with their long ones.
    """
    positional: list[ExpandedText] = []
    values: dict[str, list[ExpandedText]] = {}
    left = list(words)
    at = 0
    while at < len(left):
        word = left[at]
        at += 1
        text = word.text
        if text == "--":
            positional += left[at:]
            break
        if not text.startswith("-") or text == "-":
            positional.append(word)
            continue
        name, equals, attached = text.lstrip("-").partition("=")
        value: ExpandedText | None = ExpandedText(attached, word.unknowns) if equals else None
        if not text.startswith("--"):
            letters = text[1:]
            while len(letters) > 1 and letters[1] != "=" and short.get(letters[0], letters[0]) not in valued:
                # Several switches in one word, such as -it; the last one may take a value.
                values.setdefault(short.get(letters[0], letters[0]), []).append(ExpandedText(""))
                letters = letters[1:]
            name = short.get(letters[0], letters[0])
            if len(letters) > 1 and not equals:
                value = ExpandedText(letters[1:], word.unknowns)
        if value is None and name in valued and at < len(left):
            value = left[at]
            at += 1
        values.setdefault(name, []).append(value if value is not None else ExpandedText(""))
    return Flags(tuple(positional), {name: tuple(each) for name, each in values.items()})

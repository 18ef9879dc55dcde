"""Command lines of Go programs: flags with and without values, and what is neither."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from firstlight.repo.scripts.shell.expansion import Text


@dataclasses.dataclass(frozen=True, slots=True)
class Flags:
    """A command line in its parts."""

    positional: tuple[Text, ...]
    values: Mapping[str, tuple[Text, ...]]
    """By the long name, without dashes; a flag without a value has an empty one."""

    def has(self, name: str) -> bool:
        """Whether a switch is on."""
        return name in self.values and self.values[name][-1].text != "false"

    def one(self, name: str) -> Text:
        """The last value of a flag; an empty one if it is not given."""
        return self.values[name][-1] if name in self.values else Text("")

    def all(self, *names: str) -> tuple[Text, ...]:
        """All values of flags."""
        return tuple(each for name in names for each in self.values.get(name, ()))


def names(text: str) -> frozenset[str]:
    """Names of flags, separated by space."""
    return frozenset(text.split())


def parse(words: Sequence[Text], *, valued: Collection[str], short: Mapping[str, str]) -> Flags:
    """Take a command line apart.

    Args:
        words: Without the program and its subcommands.
        valued: Long names of flags that take a value.
        short: Short names with their long ones.
    """
    positional: list[Text] = []
    values: dict[str, list[Text]] = {}
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
        value: Text | None = Text(attached, word.unknowns) if equals else None
        if not text.startswith("--"):
            letters = text[1:]
            while len(letters) > 1 and letters[1] != "=" and short.get(letters[0], letters[0]) not in valued:
                # Several switches in one word, such as -it; the last one may take a value.
                values.setdefault(short.get(letters[0], letters[0]), []).append(Text(""))
                letters = letters[1:]
            name = short.get(letters[0], letters[0])
            if len(letters) > 1 and not equals:
                value = Text(letters[1:], word.unknowns)
        if value is None and name in valued and at < len(left):
            value = left[at]
            at += 1
        values.setdefault(name, []).append(value if value is not None else Text(""))
    return Flags(tuple(positional), {name: tuple(each) for name, each in values.items()})

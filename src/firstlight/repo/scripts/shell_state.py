"""One shell while it is followed: its variables and directory, and its commands with those put in."""

import dataclasses
import posixpath
from collections.abc import Mapping

from firstlight.model.place import Place
from firstlight.repo import go_template
from firstlight.repo.scripts import prefix
from firstlight.repo.scripts.invocation import Feed, Invocation
from firstlight.repo.scripts.shell import expansion, tree
from firstlight.repo.scripts.shell.expansion import REPO, Scope, Text, Value
from firstlight.repo.scripts.task import Shell, Task


@dataclasses.dataclass(slots=True)
class State:
    """What a shell knows at one moment."""

    task: Task
    shell: Shell
    variables: dict[str, Value]
    directory: str | None
    rendered: go_template.Rendered
    script: str
    """The file, if it is one by itself."""
    functions: dict[str, tree.Function] = dataclasses.field(default_factory=dict)
    offset: int = 0
    """Lines before a substitution that is followed by itself."""

    def scope(self) -> Scope:
        """What words may use."""
        return Scope(self.variables, self.directory, self.script, self.rendered.unknowns)

    def line(self, number: int) -> int:
        """The line of the file for a line of what was rendered."""
        number += self.offset
        return self.shell.line(self.rendered.line(number) if self.rendered.lines else number)


def invocation(command: tree.Simple, state: State, inner: Mapping[str, tuple[Invocation, ...]]) -> Invocation:
    """A command with everything known put in."""
    scope = state.scope()
    words = tuple(each for word in command.words for each in expansion.words(word, scope))
    feed = _feed(command, state, scope)
    given = [Text(f"{name}=…") for name, _ in command.assignments]
    return Invocation(
        words=prefix.strip(words),
        written=(*given, *words, *_redirected(command, feed)),
        place=Place(state.script or state.task.place.path, state.line(command.line)),
        directory=state.directory,
        feed=feed,
        output=expansion.text(command.stdout, scope) if command.stdout is not None else None,
        inner=inner,
    )


def _feed(command: tree.Simple, state: State, scope: Scope) -> Feed | None:
    if isinstance(command.stdin, tree.Heredoc):
        text = command.stdin.text
        body = expansion.unmarked(Text(text), scope) if command.stdin.is_literal else expansion.inner(text, scope)
        return Feed(body, state.line(command.stdin.line))
    if command.here_string is not None:
        return Feed(expansion.text(command.here_string, scope), state.line(command.line))
    if command.stdin is not None:
        return Feed(expansion.text(command.stdin, scope), 0, is_file=True)
    return None


def _redirected(command: tree.Simple, feed: Feed | None) -> tuple[Text, ...]:
    """For people: where the input comes from."""
    if isinstance(command.stdin, tree.Heredoc):
        return (Text("<<EOF"),)
    return (Text("<"), feed.text) if feed is not None and feed.is_file else ()


def assign(command: tree.Simple, state: State) -> None:
    """Remember what a command sets."""
    for name, word in command.assignments:
        found = expansion.text(word, state.scope())
        if name.endswith("+"):
            name = name[:-1]
            old = state.variables.get(name, Text(""))
            found = expansion.joined([old if isinstance(old, Text) else expansion.joined(old, " "), found])
        if not found.is_known:
            # Later commands are easier to read with the variable than with what it is made of.
            is_whole = found.text.startswith(("$(", "`")) and len(word.pieces) == 1
            found = Text(f"${name}" if is_whole else found.text, (name,))
        state.variables[name] = found
    for name, words in command.arrays:
        listed = tuple(each for word in words for each in expansion.words(word, state.scope()))
        if name.endswith("+"):
            name = name[:-1]
            before = state.variables.get(name, ())
            listed = (*(before if isinstance(before, tuple) else (before,)), *listed)
        state.variables[name] = listed[: expansion.MAX_WORDS]


def relative(directory: Text) -> str | None:
    """A directory from the repo's root; None if it is not known, or not in the repo."""
    if not directory.is_known:
        return None
    if directory.text.startswith(REPO):
        return posixpath.normpath(directory.text[len(REPO) :].strip("/") or ".")
    return None if directory.text.startswith(("/", "~")) else posixpath.normpath(directory.text)


def entered(directory: str | None, target: Text) -> str | None:
    """Where a shell is after ``cd target``."""
    if not target.is_known or not target.text:
        return None
    if target.text.startswith((REPO, "/", "~")):
        return relative(target)
    if directory is None:
        return None
    joined = posixpath.normpath(posixpath.join(directory, target.text))
    return None if joined.startswith("..") else joined

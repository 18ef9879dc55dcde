"""Programs that only run others: what stands behind them is what counts."""

import dataclasses
import posixpath
import re
from collections.abc import Mapping, Sequence

from firstlight.model.place import Place
from firstlight.repo import go_template
from firstlight.repo.scripts.command_context import Feed, Invocation
from firstlight.repo.scripts.script_tasks import Shell, Task
from firstlight.repo.scripts.shell import shell_expansion, shell_tree
from firstlight.repo.scripts.shell.shell_expansion import REPO, ExpandedText, ShellScope, Value

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PLAIN = {"exec", "command", "nohup", "time", "builtin", "eval", "retry", "then", "do"}
_WITH_FLAGS = {
    # The programs, and which of their flags take a value.
    "sudo": {"-u", "-g", "-h", "-p", "-C", "-U", "--user", "--group"},
    "env": {"-u", "--unset", "-C", "--chdir", "-S"},
    "nice": {"-n"},
    "timeout": {"-s", "-k", "--signal", "--kill-after"},
    "xargs": {"-I", "-n", "-P", "-L", "-d", "-a", "--max-args", "--max-procs"},
    "watch": {"-n", "--interval"},
    "flock": {"-w", "--timeout"},
    "doppler": set[str](),
}
_DASHES = {
    # Subcommands that take a command after ``--``; some also take it without.
    "mise": ("exec", "x"),
    "rtx": ("exec", "x"),
    "op": ("run",),
    "asdf": ("exec",),
    "direnv": ("exec",),
    "sops": ("exec-env",),
    "nix": ("develop", "shell", "run"),
    "teller": ("run",),
    "infisical": ("run",),
    "docker": (),
}
_MAX = 10
"""Of these in front of each other."""


def without_prefix_programs(words: Sequence[ExpandedText]) -> tuple[ExpandedText, ...]:
    """A command without what only runs it."""
    left = list(words)
    for _ in range(_MAX):
        before = len(left)
        while left and (_ASSIGNMENT.match(left[0].text) or left[0].text in ("!", "{", "(")):
            left.pop(0)
        if not left:
            break
        name = posixpath.basename(left[0].text)
        if name in _PLAIN:
            left = left[1:]
        elif name in _WITH_FLAGS:
            left = _after_flags(name, left[1:])
        elif name in _DASHES and len(left) > 1 and left[1].text in _DASHES[name]:
            rest = left[2:]
            dashes = next((n for n, word in enumerate(rest) if word.text == "--"), -1)
            left = rest[dashes + 1 :] if dashes >= 0 else left if name != "asdf" else rest
        if len(left) == before:
            break
    return tuple(left)


def _after_flags(name: str, words: list[ExpandedText]) -> list[ExpandedText]:
    takes_value = _WITH_FLAGS[name]
    while words and (words[0].text.startswith("-") or _ASSIGNMENT.match(words[0].text)):
        flag = words.pop(0).text
        if flag == "--":
            break
        if flag in takes_value and words:
            words.pop(0)
    if name == "timeout" and words:
        words.pop(0)
    if name == "flock" and words:
        words.pop(0)
    return words


# One shell while it is followed: its variables and directory, and its commands with those put in.


@dataclasses.dataclass(slots=True)
class ShellState:
    """What a shell knows at one moment."""

    task: Task
    shell: Shell
    variables: dict[str, Value]
    directory: str | None
    rendered: go_template.RenderedTemplate
    script: str
    """The file, if it is one by itself."""
    functions: dict[str, shell_tree.ShellFunction] = dataclasses.field(default_factory=dict)
    offset: int = 0
    """Lines before a substitution that is followed by itself."""

    def scope(self) -> ShellScope:
        """What words may use."""
        return ShellScope(self.variables, self.directory, self.script, self.rendered.unknowns)

    def line(self, number: int) -> int:
        """The line of the file for a line of what was rendered."""
        number += self.offset
        return self.shell.line(self.rendered.line(number) if self.rendered.lines else number)


def invocation_of(
    command: shell_tree.Simple, state: ShellState, inner: Mapping[str, tuple[Invocation, ...]]
) -> Invocation:
    """A command with everything known put in."""
    scope = state.scope()
    words = tuple(each for word in command.words for each in shell_expansion.words(word, scope))
    feed = _feed(command, state, scope)
    given = [ExpandedText(f"{name}=…") for name, _ in command.assignments]
    return Invocation(
        words=without_prefix_programs(words),
        written=(*given, *words, *_redirected(command, feed)),
        place=Place(state.script or state.task.place.path, state.line(command.line)),
        directory=state.directory,
        feed=feed,
        output=shell_expansion.text(command.stdout, scope) if command.stdout is not None else None,
        inner=inner,
    )


def _feed(command: shell_tree.Simple, state: ShellState, scope: ShellScope) -> Feed | None:
    if isinstance(command.stdin, shell_tree.Heredoc):
        text = command.stdin.text
        body = (
            shell_expansion.unmarked(ExpandedText(text), scope)
            if command.stdin.is_literal
            else shell_expansion.inner(text, scope)
        )
        return Feed(body, state.line(command.stdin.line))
    if command.here_string is not None:
        return Feed(shell_expansion.text(command.here_string, scope), state.line(command.line))
    if command.stdin is not None:
        return Feed(shell_expansion.text(command.stdin, scope), 0, is_file=True)
    return None


def _redirected(command: shell_tree.Simple, feed: Feed | None) -> tuple[ExpandedText, ...]:
    """For people: where the input comes from."""
    if isinstance(command.stdin, shell_tree.Heredoc):
        return (ExpandedText("<<EOF"),)
    return (ExpandedText("<"), feed.text) if feed is not None and feed.is_file else ()


def assign(command: shell_tree.Simple, state: ShellState) -> None:
    """Remember what a command sets."""
    for name, word in command.assignments:
        found = shell_expansion.text(word, state.scope())
        if name.endswith("+"):
            name = name[:-1]
            old = state.variables.get(name, ExpandedText(""))
            found = shell_expansion.joined(
                [old if isinstance(old, ExpandedText) else shell_expansion.joined(old, " "), found]
            )
        if not found.is_known:
            # Later commands are easier to read with the variable than with what it is made of.
            is_whole = found.text.startswith(("$(", "`")) and len(word.pieces) == 1
            found = ExpandedText(f"${name}" if is_whole else found.text, (name,))
        state.variables[name] = found
    for name, words in command.arrays:
        listed = tuple(each for word in words for each in shell_expansion.words(word, state.scope()))
        if name.endswith("+"):
            name = name[:-1]
            before = state.variables.get(name, ())
            listed = (*(before if isinstance(before, tuple) else (before,)), *listed)
        state.variables[name] = listed[: shell_expansion.MAX_WORDS]


def relative(directory: ExpandedText) -> str | None:
    """A directory from the repo's root; None if it is not known, or not in the repo."""
    if not directory.is_known:
        return None
    if directory.text.startswith(REPO):
        return posixpath.normpath(directory.text[len(REPO) :].strip("/") or ".")
    return None if directory.text.startswith(("/", "~")) else posixpath.normpath(directory.text)


def entered(directory: str | None, target: ExpandedText) -> str | None:
    """Where a shell is after ``cd target``."""
    if not target.is_known or not target.text:
        return None
    if target.text.startswith((REPO, "/", "~")):
        return relative(target)
    if directory is None:
        return None
    joined = posixpath.normpath(posixpath.join(directory, target.text))
    return None if joined.startswith("..") else joined

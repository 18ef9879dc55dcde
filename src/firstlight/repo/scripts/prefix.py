"""Programs that only run others: what stands behind them is what counts."""

import posixpath
import re
from collections.abc import Sequence

from firstlight.repo.scripts.shell.expansion import Text

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


def strip(words: Sequence[Text]) -> tuple[Text, ...]:
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


def _after_flags(name: str, words: list[Text]) -> list[Text]:
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

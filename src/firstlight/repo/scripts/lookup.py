"""Paths of commands, looked up in the repo."""

import dataclasses
import posixpath
import re
from functools import cached_property

from firstlight.repo import work_tree
from firstlight.repo.scripts.shell.expansion import REPO, Text
from firstlight.repo.work_tree import WorkTree

_UNKNOWN_HEAD = re.compile(r"(?:\$\{?\w+\}?|\$\([^()]*\)|\{\{[^{}]*\}\})/")
_UNKNOWN_PART = re.compile(r"\$\{?\w+\}?|\{\{[^{}]*\}\}")
_MAX_ALIKE = 1_000
"""Files of one name that are compared; there may be many a kustomization.yaml."""


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A path of the repo, or why there is none."""

    path: str = ""
    """From the root; empty if it is not in the repo."""
    doubt: str = ""
    """Why that may be wrong, or why there is none."""


class Lookup:
    """Finds what commands call by a path."""

    def __init__(self, tree: WorkTree) -> None:
        self.tree = tree

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """Files and directories by the last part of their path."""
        found: dict[str, list[str]] = {}
        directories: set[str] = set()
        for path in self.tree.files:
            found.setdefault(posixpath.basename(path), []).append(path)
            parent = posixpath.dirname(path)
            while parent and parent not in directories:
                directories.add(parent)
                found.setdefault(posixpath.basename(parent), []).append(parent)
                parent = posixpath.dirname(parent)
        return found

    def find(self, directory: str | None, path: Text) -> Found:
        """Find a path as it is written in a script that runs in a directory.

        One that begins with a variable, such as ``$ROOT/apps/x.yaml``, is taken for the only one that ends like it.
        """
        written = path.text.strip()
        if not path.is_known:
            return self._with_variable(written, path.unknowns)
        if written.startswith(REPO):
            joined: str | None = posixpath.normpath(written[len(REPO) :].strip("/") or ".")
        elif written.startswith(("/", "~")):
            return Found(doubt=f"{written} is outside of the repo")
        elif directory is None:
            return self._by_ending(written.removeprefix("./"), "the directory that it runs in is not known")
        else:
            joined = work_tree.join(directory, written)
        if joined is None or joined.startswith(".."):
            return Found(doubt=f"{written} is outside of the repo")
        if self.tree.is_file(joined) or self.tree.is_dir(joined):
            return Found(joined)
        return Found(doubt=f"{joined} is not in the repo")

    def _with_variable(self, written: str, unknowns: tuple[str, ...]) -> Found:
        doubt = f"{', '.join(unknowns)} is only known when it runs"
        head = _UNKNOWN_HEAD.match(written)
        rest = written[head.end() :] if head else written
        if "$" in rest or "{{" in rest or "`" in rest:
            return self._alike(rest.replace(f"{REPO}/", ""), doubt)
        return self._by_ending(rest, doubt)

    def _alike(self, written: str, doubt: str) -> Found:
        """What has anything in the place of variables that stand between slashes."""
        parts = [_UNKNOWN_PART.sub("*", part) for part in posixpath.normpath(written).split("/")]
        if "*" in parts[-1] or any("*" in part and part != "*" for part in parts) or any("$" in part for part in parts):
            return Found(doubt=doubt)
        alike = self._by_name.get(parts[-1], [])[:_MAX_ALIKE]
        matches = [each for each in alike if _fits(each.split("/"), parts)]
        if len(matches) == 1:
            return Found(matches[0], f"{doubt}; {matches[0]} is the only one that fits")
        return Found(doubt=f"{doubt}: it may be {' or '.join(matches[:3])}" if matches else doubt)

    def _by_ending(self, ending: str, doubt: str) -> Found:
        ending = posixpath.normpath(ending)
        if ending.startswith("..") or "/" not in ending:
            return Found(doubt=doubt)
        alike = self._by_name.get(posixpath.basename(ending), [])[:_MAX_ALIKE]
        matches = [each for each in alike if f"/{each}".endswith(f"/{ending}")]
        if len(matches) == 1:
            return Found(matches[0], f"{doubt}; {matches[0]} is the only one that ends like it")
        return Found(doubt=doubt)


def _fits(path: list[str], pattern: list[str]) -> bool:
    """Whether a path ends like a pattern, in which ``*`` stands for any part."""
    tail = path[-len(pattern) :]
    return len(tail) == len(pattern) and all(one in ("*", other) for one, other in zip(pattern, tail, strict=True))

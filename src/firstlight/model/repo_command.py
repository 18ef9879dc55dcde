"""The commands that a repo wants to run: those of hooks, and of gates that are commands."""

import collections
import dataclasses
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from firstlight.model.component import Component
from firstlight.model.own_gates import CommandGate
from firstlight.model.place import Place

_SHOWN = 160
"""Characters of a command line that are shown in a message."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RepoCommand:
    """One command, and what for."""

    words: tuple[str, ...]
    component: str
    what: str
    """``hook``, ``unless of a hook``, ``gate 2``."""
    place: Place


def commands_of(component: Component) -> Iterator[RepoCommand]:
    """The commands that come with a component, in the order in which they would run."""
    for number, gate in enumerate(component.gates, 1):
        if isinstance(gate, CommandGate):
            yield RepoCommand(words=gate.run, component=component.name, what=f"gate {number}", place=gate.place)
    for hook in component.hooks:
        yield RepoCommand(words=hook.unless, component=component.name, what="unless of a hook", place=hook.place)
        yield RepoCommand(words=hook.run, component=component.name, what="hook", place=hook.place)


def wanted(components: Iterable[Component]) -> tuple[RepoCommand, ...]:
    """The commands of components, each once however many want it."""
    found: dict[tuple[str, ...], RepoCommand] = {}
    for component in components:
        for each in commands_of(component):
            found.setdefault(each.words, each)
    return tuple(found.values())


def shown(words: tuple[str, ...]) -> str:
    """A command as a person would type it, and not too long."""
    line = shlex.join(words)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


# Which files of a repo a declared command runs or reads, as far as its words and its scripts name them. Pure.
#
# A change to one of these files is a change to the command. What is named is followed: from the words to scripts and
# directories, and from a script to the files that its text names. This is for telling people what a change touches.
# What a command may read is more than anybody can name, so an allowance covers the whole repo
# (``execute.command_digest``).


MOST = 500
"""Files of one command; more is a directory of everything, of which the first ones tell enough."""
LARGEST = 256 * 1024
"""Characters of a script that are searched for names; hooks of teams have hundreds of lines, not thousands."""

_TASKFILES = tuple(
    f"{name}{end}" for name in ("Taskfile", "taskfile") for end in (".yml", ".yaml", ".dist.yml", ".dist.yaml")
)
_FOUND_BY_ITSELF: Mapping[str, tuple[str, ...]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": _TASKFILES,
    "go-task": _TASKFILES,
    "mise": ("mise.toml", ".mise.toml", ".config/mise.toml"),
    "npm": ("package.json",),
    "pnpm": ("package.json",),
    "yarn": ("package.json",),
    "helmfile": ("helmfile.yaml", "helmfile.yaml.gotmpl"),
}  # fmt: skip
"""Files that a program looks for in the directory where it runs, without being told their names."""
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_IMPORT = re.compile(r"\s*(?:from|import)\s+([A-Za-z_][\w.]*)")
_NAMES = re.compile(r"[^\s'\"`|&;<>(){}=,@\[\]$\\:!#]+")
"""What may be a path in a word or in a line of a script; the quotes and operators around it are not part of it."""
_HERE = re.compile(r"\$(\{)?[A-Za-z_]\w*(?(1)[^}]*\})/|\$\([^()]*\)/|`[^`]*`/")
"""``$DIR/``, ``${DIR:-x}/``, ``$(dirname "$0")/``: a directory that only the shell knows."""
_GLOB = re.compile(r"[*?]")
_GLOBS = 50
"""Globs of one script that are expanded: each is compared with every file of the repo."""
_WILDCARDS = 6
"""In one glob; with more it stands for everything in the directory before the first of them."""
_LINKS = 40
"""Links on the way to one file, as in the kernel."""


def command_files(
    words: Sequence[str],
    paths: Iterable[str],
    *,
    text: Callable[[str], str | None] = lambda _: None,
    links: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """The files of the repo that a command runs or reads, sorted.

    Args:
        words: The program and its arguments; it runs at the top of the repo.
        paths: Every file of the repo, from its top. For a change, those before and after it.
        text: The content of a file, to follow what a script names; None where there is none.
        links: Symbolic links of the repo, each with where it leads; the link counts as well as its target.
    """
    tree = _Tree(paths, links or {})
    waiting = collections.deque([*_by_itself(words, tree), *_found(_candidates(words), tree)])
    reached = dict.fromkeys(waiting)
    while waiting and len(reached) < MOST:
        path = waiting.popleft()
        for found in _in_script(path, (text(path) or "")[:LARGEST], tree):
            if found not in reached and len(reached) < MOST:
                reached[found] = None
                waiting.append(found)
    return tuple(sorted(reached))


class _Tree:
    """The files of a repo, to look names up in."""

    def __init__(self, paths: Iterable[str], links: Mapping[str, str]) -> None:
        self._links = links
        self._inside: dict[str, list[str]] = {}
        self._files = {posixpath.normpath(each) for each in (*paths, *links)}
        for path in sorted(self._files):
            parent = posixpath.dirname(path)
            while parent:
                self._inside.setdefault(parent, []).append(path)
                parent = posixpath.dirname(parent)

    def is_file(self, path: str) -> bool:
        """Whether there is a file or a link of that name."""
        return path in self._files

    def at(self, path: str) -> Iterator[str]:
        """The file of a path, those below it if it is a directory, and the links on the way to it."""
        for _ in range(_LINKS):
            if path in self._files:
                yield path
            yield from self._inside.get(path, ())
            link = path
            while link and link not in self._links:
                link = posixpath.dirname(link)
            if not link:
                return
            yield link
            path = posixpath.normpath(self._links[link] + path[len(link) :])

    def matching(self, pattern: str) -> Iterator[str]:
        """The files that a glob names, as a shell or a program would expand it; a directory that matches has all."""
        if len(_GLOB.findall(pattern)) > _WILDCARDS:
            pattern = f"{posixpath.dirname(_GLOB.split(pattern)[0])}/*".lstrip("/")
        steps = re.compile("/".join(_step(each) for each in pattern.split("/")) + "(/.*)?", re.DOTALL)
        return (each for each in sorted(self._files) if steps.fullmatch(each))


def _step(pattern: str) -> str:
    if pattern == "**":
        return ".*"
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(each, re.escape(each)) for each in pattern)


def _candidates(lines: Iterable[str]) -> Iterator[str]:
    """What may be a path in words or in lines of a script, each once."""
    seen: set[str] = set()
    for line in lines:
        for name in _NAMES.findall(_HERE.sub("./", line)):
            # "-fFILE" is an option with its value.
            for candidate in (name, name[2:] if re.match("-[A-Za-z]", name) else ""):
                if candidate and candidate not in seen:
                    seen.add(candidate)
                    yield candidate


def _found(candidates: Iterable[str], tree: _Tree, *, base: str = "", is_script: bool = False) -> Iterator[str]:
    """The files that candidates name, from a directory."""
    globs = 0
    for candidate in candidates:
        path = posixpath.normpath(posixpath.join(base, candidate))
        if path == "." or path.startswith(("..", "/")):
            continue
        if _GLOB.search(path):
            globs += 1
            # A line of a script may have "*" as a sign of arithmetic; a glob of files has a directory or a suffix.
            if globs <= _GLOBS and (not is_script or path.strip("*?")):
                yield from tree.matching(path)
        # "apps" in a script is a word like any other, and "apps/" or "./apps" is a directory.
        elif "/" in candidate or not is_script or tree.is_file(path):
            yield from tree.at(path)


def _in_script(path: str, text: str, tree: _Tree) -> Iterator[str]:
    """The files that a script names: from where it runs, the top, or from where it is, as an include may mean it."""
    lines = [each for each in text.splitlines() if not each.lstrip().startswith("#")]
    candidates = tuple(_candidates(lines))
    modules = {found[1] for each in lines if (found := _IMPORT.match(each))} if path.endswith(".py") else ()
    for base in dict.fromkeys(("", posixpath.dirname(path))):
        yield from _found(candidates, tree, base=base, is_script=True)
        for each in modules:
            yield from _module(each, tree, base=base)


def _by_itself(words: Sequence[str], tree: _Tree) -> Iterator[str]:
    """The files that programs among the words find without being told: a Makefile, a module of Python."""
    for number, word in enumerate(words):
        for name in _NAMES.findall(word):
            for file in _FOUND_BY_ITSELF.get(posixpath.basename(name), ()):
                yield from tree.at(file)
        if word == "-m" and number + 1 < len(words) and _MODULE.fullmatch(words[number + 1]):
            yield from _module(words[number + 1], tree)


def _module(name: str, tree: _Tree, *, base: str = "") -> Iterator[str]:
    """The files of a module of Python, and of the packages that it is in."""
    place = posixpath.join(base, name.replace(".", "/"))
    packages = [place[: found.start()] for found in re.finditer("/", place)]
    for file in (f"{place}.py", f"{place}/__main__.py", *(f"{each}/__init__.py" for each in (*packages, place))):
        yield from tree.at(file)

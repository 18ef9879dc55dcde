"""Which files a work tree has: asked of Git where it is one, walked where it is not.

What is listed are plain files, and links that stay inside. Everything else is left out with a diagnostic: links that
lead out, other repositories, sockets, names that nobody can type. Ignored files are not part of a repo, so Git's answer
leaves them out; a plain directory has none that are ignored.
"""

import asyncio
import collections
import concurrent.futures
import dataclasses
import errno
import os
import posixpath
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import program_path
from firstlight.clients.git import Git, git_errors, repository
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place

FILES = 50_000
"""Five times the largest repo that this is made for; more is a home directory, or an attack."""
DEPTH = 40
"""Directories in each other; the deepest of the repos that we know has eleven."""

PROBED = 2_000
"""Directories of which Git names no file, and that are opened to see whether that is because it cannot."""

_TOOLS = {"node_modules", ".venv", ".terraform"}
"""What tools put beside the files of people; Git ignores it, a walk must know it."""


@dataclasses.dataclass(frozen=True, slots=True)
class FileListing:
    """What a tree has."""

    files: tuple[str, ...]
    """Plain files, sorted."""
    links: Mapping[str, str]
    """Symbolic links, each with the file or directory of the tree that it leads to, all links on the way followed."""
    diagnostics: tuple[Diagnostic, ...] = ()


def listed(root: Path) -> FileListing:
    """List the files of a directory, which must have no links in its own path.

    Raises:
        errors.Refused: There are more than anybody writes by hand.
    """
    names, diagnostics = _asked(root)
    if names is None:
        names, more = _walked(root)
        diagnostics += more
    else:
        diagnostics += _unreadable(root, names)
    return _sorted_out(root, names, diagnostics)


def _asked(root: Path) -> tuple[list[str] | None, list[Diagnostic]]:
    """What Git names; None where it cannot be asked."""
    try:
        found = repository.locate(root)
    except git_errors.GitPointsElsewhere as error:
        return None, [
            Diagnostic.warning(
                "ignored-files-read",
                f"not followed, so that ignored files are read too: {error.detail}",
                at=Place(".git"),
            )
        ]
    except git_errors.NotARepository:
        return None, []
    program = program_path.find("git")
    if found.work_tree is None or program is None:
        why = "git is not installed" if found.work_tree else "it is no work tree"
        return None, [_ignored_too(why)]
    try:
        # Readers are plain functions, perhaps called where an event loop runs: Git is awaited in a thread of its own.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            names = pool.submit(asyncio.run, Git(Path(program)).ls_files(root)).result()
    except errors.FirstlightError as error:
        return None, [_ignored_too(f"git could not list them: {error}")]
    # A directory that the repository around it ignores is read as if it stood alone.
    return (None, []) if not names and found.work_tree != root else (list(names), [])


def _ignored_too(why: str) -> Diagnostic:
    return Diagnostic.warning("ignored-files-read", f"ignored files are read too, since {why}", at=Place("."))


def _walked(root: Path) -> tuple[list[str], list[Diagnostic]]:
    found: list[str] = []
    diagnostics: list[Diagnostic] = []
    waiting = [("", 0)]
    while waiting:
        base, depth = waiting.pop()
        try:
            with os.scandir(f"{root}/{base}") as entries:
                listed = list(entries)
        except OSError as error:
            diagnostics.append(_closed(base, error))
            continue
        for entry in listed:
            path = f"{base}/{entry.name}" if base else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name == ".git" or entry.name in _TOOLS:
                    continue
                if os.path.lexists(f"{root}/{path}/.git"):
                    found.append(f"{path}/")
                elif depth < DEPTH:
                    waiting.append((path, depth + 1))
                else:
                    diagnostics.append(
                        Diagnostic.error("path-too-deep", f"left out: deeper than {DEPTH} directories", at=Place(path))
                    )
            elif entry.name != ".git":
                found.append(path)
        _check_number(root, len(found))
    return found, diagnostics


def _unreadable(root: Path, names: Iterable[str]) -> list[Diagnostic]:
    """Directories that Git passes over without a word, since it may not look into them."""
    known = {""}
    for name in names:
        parent = posixpath.dirname(name.rstrip("/"))
        while parent not in known:
            known.add(parent)
            parent = posixpath.dirname(parent)
    diagnostics: list[Diagnostic] = []
    waiting = collections.deque([""])
    probed = 0
    while waiting and probed < PROBED:
        base = waiting.pop()
        probed += base not in known
        try:
            with os.scandir(f"{root}/{base}") as entries:
                inside = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        except PermissionError as error:
            diagnostics.append(_closed(base, error))
            continue
        except OSError:
            continue  # gone since it was listed
        paths = [f"{base}/{each}" if base else each for each in inside if each != ".git" and each not in _TOOLS]
        for path in paths:
            if not os.path.lexists(f"{root}/{path}/.git"):
                # Those with files first, so that no heap of ignored directories hides them.
                waiting.append(path) if path in known else waiting.appendleft(path)
    return diagnostics


def _closed(path: str, error: OSError) -> Diagnostic:
    why = (error.strerror or str(error)).lower()
    place = Place(_printable(path) or ".")
    return Diagnostic.error("directory-unreadable", f"the directory cannot be read: {why}", at=place)


def _sorted_out(root: Path, names: Iterable[str], diagnostics: list[Diagnostic]) -> FileListing:
    """Tell plain files, links and the rest from each other."""
    files: list[str] = []
    links: list[str] = []
    closed: dict[Diagnostic, None] = {}
    for name in names:
        if not name.isprintable():
            message = "left out: its name cannot be printed"
            diagnostics.append(Diagnostic.error("name-not-printable", message, at=Place(_printable(name))))
            continue
        if name.count("/") > DEPTH:
            message = f"left out: it is deeper than {DEPTH} directories"
            diagnostics.append(Diagnostic.error("path-too-deep", message, at=Place(name)))
            continue
        try:
            mode = os.lstat(f"{root}/{name}").st_mode
        except PermissionError as error:
            closed[_closed(_entered(root, name), error)] = None
            continue
        except OSError:
            continue  # tracked and deleted, or left out of a sparse checkout: it is not there
        if stat.S_ISREG(mode):
            files.append(name)
        elif stat.S_ISLNK(mode):
            links.append(name.rstrip("/"))
        elif stat.S_ISDIR(mode):
            why = "a submodule" if not name.endswith("/") else "a Git repository of its own"
            message = f"left out: {why}, whose files belong to another repository"
            diagnostics.append(Diagnostic.unknown("repo-in-repo-not-read", message, at=Place(name.rstrip("/"))))
        else:
            message = "left out: neither a file nor a directory"
            diagnostics.append(Diagnostic.error("file-not-regular", message, at=Place(name)))
    diagnostics += [each for each in closed if each not in diagnostics]
    _check_number(root, len(files) + len(links))
    resolved = _resolved(root, links, diagnostics)
    # A directory that became a link is still tracked with the files that it had.
    all_links = frozenset(links)
    kept = [name for name in files if not _is_below(name, all_links)] if links else files
    return FileListing(tuple(sorted(kept)), resolved, tuple(diagnostics))


def _entered(root: Path, name: str) -> str:
    """The first directory on the way to a file that cannot be entered."""
    parent = posixpath.dirname(name)
    while parent:
        try:
            os.lstat(f"{root}/{parent}")
        except OSError:
            parent = posixpath.dirname(parent)
        else:
            break
    return parent


def _resolved(root: Path, links: Iterable[str], diagnostics: list[Diagnostic]) -> dict[str, str]:
    found: dict[str, str] = {}
    for link in links:
        try:
            target = _printable(os.readlink(root / link))
        except OSError:
            continue  # gone since it was listed
        inside = _inside(root, link, target)
        if isinstance(inside, Diagnostic):
            diagnostics.append(inside)
        else:
            found[link] = inside
    return found


def _inside(root: Path, link: str, target: str) -> str | Diagnostic:
    """Return where a link leads in the tree, or a diagnostic about where else it leads."""
    outside = "out of the repo"
    try:
        real = (root / link).resolve(strict=True)
        inside = real.relative_to(root).as_posix() if real.is_relative_to(root) else ""
        if inside == ".git" or inside.startswith(".git/"):
            inside, outside = "", "out of the repo's files, into Git's own"
        is_circular = bool(inside) and (inside == "." or link.startswith(f"{inside}/"))
    except RuntimeError:
        is_circular = True
    except OSError as error:
        is_circular = error.errno == errno.ELOOP
        if not is_circular:
            message = f"the link to {target} leads nowhere, and is not followed"
            return Diagnostic.warning("link-broken", message, at=Place(link))
    if is_circular:
        message = f"the link to {target} leads in a circle, and is not followed"
        return Diagnostic.warning("link-circular", message, at=Place(link))
    if not inside:
        message = f"the link to {target} leads {outside}, and is not followed"
        return Diagnostic.error("link-outside", message, at=Place(link), fix="keep a copy in the repo instead")
    return inside


def _is_below(name: str, links: frozenset[str]) -> bool:
    parent = posixpath.dirname(name)
    while parent and parent not in links:
        parent = posixpath.dirname(parent)
    return bool(parent)


def _check_number(root: Path, number: int) -> None:
    if number > FILES:
        raise errors.Refused(
            f"{root} has more than {FILES:,} files", hint="give the directory of one repo, and let Git ignore the rest"
        )


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)

"""Which paths of a tree a pattern of an ArtifactGenerator finds: Go's ``fs.Glob``, in which ``**`` is one segment."""

import posixpath

from firstlight.repo.argocd import globs
from firstlight.repo.work_tree import WorkTree

_MARKS = "*?[]"


def is_pattern(text: str) -> bool:
    """Whether a path is one to match, and not one to take as it is."""
    return any(each in text for each in _MARKS)


def literal_prefix(pattern: str) -> str:
    """The directories before the first segment that is a pattern."""
    kept = []
    for segment in pattern.split("/"):
        if is_pattern(segment):
            break
        kept.append(segment)
    return "/".join(kept)


def find(tree: WorkTree, pattern: str) -> list[str]:
    """The files and directories that a pattern finds, sorted.

    Raises:
        globs.BadPattern: Go refuses it.
    """
    found = ["."]
    for segment in pattern.split("/"):
        found = [
            posixpath.normpath(posixpath.join(directory, name.rstrip("/")))
            for directory in found
            for name in tree.listing(directory)
            if globs.path_match(segment, name.rstrip("/"))
        ]
    return sorted(found)


def is_excluded(path: str, prefix: str, patterns: list[str]) -> bool:
    """Whether ``exclude`` leaves a file out.

    Args:
        path: The file, from the root of its source.
        prefix: What stands before the first pattern in ``from``.
        patterns: As they are written.
    """
    inner = path[len(prefix) + 1 :] if prefix and path.startswith(f"{prefix}/") else path
    name = posixpath.basename(path)
    return any(
        globs.doublestar_match(each, path)
        or globs.doublestar_match(each, inner)
        or ("/" not in each and globs.doublestar_match(each, name))
        for each in patterns
    )

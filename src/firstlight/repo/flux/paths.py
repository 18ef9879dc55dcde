"""Paths as Flux writes them, and what was probably meant by one that leads nowhere."""

import difflib
import itertools
import posixpath

from firstlight.repo.work_tree import WorkTree, join


def normal(path: str) -> str | None:
    """A path of a Kustomization from the repo's root; Flux takes a leading slash for the root. None leads out of it."""
    return join(".", path.strip().lstrip("/") or ".")


def near(tree: WorkTree, path: str) -> str:
    """A directory that exists and is nearly called like one that does not; empty if there is none."""
    known, rest = "", path.split("/")
    while rest and tree.is_dir(posixpath.join(known, rest[0])):
        known = posixpath.join(known, rest.pop(0))
    if not rest:
        return ""
    beside = [each[:-1] for each in tree.listing(known or ".") if each.endswith("/")]
    for name in difflib.get_close_matches(rest[0], beside, n=3):
        found = posixpath.join(known, name, *rest[1:])
        if tree.is_dir(found):
            return found
    name = path.rpartition("/")[2]
    elsewhere = set()
    for file in tree.files:
        at = f"/{file}".find(f"/{name}/")
        if at >= 0:
            elsewhere.add(file[: at + len(name)])
    if elsewhere:
        return min(elsewhere, key=lambda each: (-_common_end(each, path), len(each), each))
    closest = difflib.get_close_matches(rest[0], beside, n=1)
    return posixpath.join(known, closest[0]) if closest else ""


def _common_end(one: str, other: str) -> int:
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))

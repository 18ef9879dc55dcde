"""The files that a directory leads to, as kustomize would follow its kustomization."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.policy.auditing.scene import Files

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS = ("resources", "bases", "components", "crds", "patchesStrategicMerge", "configurations", "transformers")
_GENERATORS = ("configMapGenerator", "secretGenerator")
_PATCHES = ("patches", "patchesJson6902", "replacements")


def reached(files: Files, starts: Iterable[str]) -> frozenset[str]:
    """Every file that one of these directories or files leads to; without a kustomization all that is below counts."""
    known = frozenset(files.files)
    found: set[str] = set()
    seen: set[str] = set()
    waiting = list(starts)
    while waiting:
        path = posixpath.normpath(waiting.pop())
        if path in seen or path.startswith(".."):
            continue
        seen.add(path)
        if path in known:
            found.add(path)
            continue
        file = file_of(known, path)
        if file:
            found.add(file)
            for document in files.documents(file):
                waiting += [posixpath.join(path, each) for each in _named(document.value)]
        else:
            below = "" if path == "." else path + "/"
            found |= {each for each in known if each.startswith(below)}
    return frozenset(found)


def file_of(known: frozenset[str], directory: str) -> str:
    """The kustomization of a directory; empty where it has none."""
    paths = (each if directory == "." else f"{directory}/{each}" for each in NAMES)
    return next((each for each in paths if each in known), "")


def _named(value: Any) -> Iterator[str]:
    """What a kustomization names: files and directories of the repo."""
    if not isinstance(value, Mapping):
        return
    for key in (*_LISTS, *_PATCHES, *_GENERATORS):
        several = value.get(key)
        for each in several if isinstance(several, list) else ():
            if isinstance(each, str):
                if "://" not in each and "\n" not in each:
                    yield each
            elif isinstance(each, Mapping):
                yield from _files(each)


def _files(entry: Mapping[str, Any]) -> Iterator[str]:
    """The files of a patch, a replacement or a generator."""
    if isinstance(entry.get("path"), str):
        yield entry["path"]
    for key in ("files", "envs"):
        several = entry.get(key)
        for each in several if isinstance(several, list) else ():
            yield str(each).rpartition("=")[2]

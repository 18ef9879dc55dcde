"""Maps merged as helmfile merges them."""

import dataclasses
import fnmatch
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import work_tree
from firstlight.repo.go_template import Unknown, unknown_values
from firstlight.repo.go_template.unknown_values import MAX_DEPTH
from firstlight.repo.helmfile import rendered_files
from firstlight.repo.work_tree import WorkTree


def override(base: Mapping[str, Any], over: Mapping[str, Any], *, depth: int = 0) -> dict[str, Any]:
    """Maps are merged by key; everything else, lists too, is replaced."""
    merged = dict(base)
    for key, value in over.items():
        here = merged.get(key)
        if isinstance(here, Mapping) and isinstance(value, Mapping) and depth < MAX_DEPTH:
            merged[key] = override(here, value, depth=depth + 1)
        else:
            merged[key] = value
    return merged


def layered(base: Mapping[str, Any], over: Mapping[str, Any], *, depth: int = 0) -> dict[str, Any]:
    """Maps are merged by key, lists are joined, and what is empty replaces nothing: for bases and templates."""
    merged = dict(base)
    for key, value in over.items():
        here = merged.get(key)
        if isinstance(here, Mapping) and isinstance(value, Mapping) and depth < MAX_DEPTH:
            merged[key] = layered(here, value, depth=depth + 1)
        elif isinstance(here, list) and isinstance(value, list):
            merged[key] = [*here, *value]
        elif here is None or value not in (None, ""):
            merged[key] = value
    return merged


# An environment of helmfile: its values, from files, maps and encrypted files.


MAX_MATCHES = 500
"""Files that one pattern may name."""
DEFAULT = "default"


@dataclasses.dataclass(frozen=True, slots=True)
class HelmfileEnvironment:
    """What templates see of an environment."""

    name: str
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    def merged(self) -> dict[str, Any]:
        """Values over defaults."""
        return override(self.defaults, self.values)

    def over(self, values: Mapping[str, Any]) -> "HelmfileEnvironment":
        """The same with values of a caller over its own."""
        return dataclasses.replace(self, values=override(self.values, values))

    def data(self, **more: Any) -> dict[str, Any]:
        """What a template is given."""
        values = self.merged()
        environment = {"Name": self.name, "KubeContext": "", "Values": self.values, "Defaults": self.defaults}
        return {"Environment": environment, "Namespace": "", "Values": values, "StateValues": values, **more}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentEntry:
    """One entry of a list of values, with where it is written."""

    value: Any
    place: Place


def load(
    tree: WorkTree,
    entries: Sequence[EnvironmentEntry],
    *,
    directory: str,
    context: HelmfileEnvironment,
    is_optional: bool,
    say: Callable[[Diagnostic], None],
) -> dict[str, Any]:
    """The values of files and maps; later ones win."""
    found: dict[str, Any] = {}
    for entry in entries:
        if isinstance(entry.value, Mapping):
            found = override(found, entry.value)
        elif isinstance(entry.value, Unknown):
            say(
                Diagnostic.unknown(
                    "helmfile-values-unknown",
                    f"values of {entry.value.text} are not known: {entry.value.reason}",
                    at=entry.place,
                )
            )
        else:
            for path in paths(tree, entry, directory=directory, is_optional=is_optional, say=say):
                found = override(found, _file(tree, path, context, say))
    return found


def paths(
    tree: WorkTree, entry: EnvironmentEntry, *, directory: str, is_optional: bool, say: Callable[[Diagnostic], None]
) -> list[str]:
    """The files that an entry names; it may be a pattern."""
    written = str(entry.value)
    if "://" in written or written.startswith("git::"):
        say(Diagnostic.unknown("helmfile-values-elsewhere", f"values of {written} are not in the repo", at=entry.place))
        return []
    found = matches(tree, directory, written)
    if not found and not is_optional:
        message = entry.place.describe_missing(written)
        say(
            Diagnostic.error(
                "helmfile-values-missing",
                message,
                at=entry.place,
                fix="helmfile fails here; say missingFileHandler: Warn if that is meant.",
            )
        )
    return found


def matches(tree: WorkTree, directory: str, pattern: str) -> list[str]:
    """Files that a path or pattern names, sorted."""
    joined = work_tree.join(directory, pattern) if not pattern.startswith("/") else None
    if joined is None:
        return []
    if tree.is_file(joined):
        return [joined]
    if not any(sign in joined for sign in "*?["):
        return []
    parts = joined.split("/")
    fixed = next(n for n, part in enumerate(parts) if any(sign in part for sign in "*?["))
    below = tree.below("/".join(parts[:fixed]) or ".")
    return sorted(each for each in below if _fits(each.split("/"), parts))[:MAX_MATCHES]


def _fits(path: list[str], pattern: list[str]) -> bool:
    """Whether a path fits part by part; a star does not cross a slash."""
    return len(path) == len(pattern) and all(fnmatch.fnmatchcase(a, b) for a, b in zip(path, pattern, strict=True))


def _file(
    tree: WorkTree, path: str, context: HelmfileEnvironment, say: Callable[[Diagnostic], None]
) -> Mapping[str, Any]:
    text = tree.text(path) or ""
    part = rendered_files.read(
        tree,
        text,
        path,
        context.data(),
        directory=posixpath.dirname(path) or ".",
        is_template=path.endswith(rendered_files.GOTMPL),
    )
    for diagnostic in (*part.diagnostics, *rendered_files.doubts(part)):
        say(diagnostic)
    value = part.values[0] if part.values else {}
    if not isinstance(value, Mapping):
        say(Diagnostic.error("helmfile-values-wrong", "the values are no map", at=Place(path)))
        return {}
    return hidden(value, path) if "sops" in value else value


def secrets(
    tree: WorkTree,
    entries: Sequence[EnvironmentEntry],
    *,
    directory: str,
    is_optional: bool,
    say: Callable[[Diagnostic], None],
) -> dict[str, Any]:
    """The keys of encrypted files, with values that are not known."""
    found: dict[str, Any] = {}
    for entry in entries:
        for path in paths(tree, entry, directory=directory, is_optional=is_optional, say=say):
            documents = tree.documents(path)
            value = documents[0].value if documents else {}
            say(Diagnostic.unknown("helmfile-values-encrypted", f"values of {path} are encrypted", at=entry.place))
            if isinstance(value, Mapping):
                found = override(found, hidden(value, path))
    return found


def hidden(value: Any, path: str, *, depth: int = 0) -> Any:
    """A tree of values with none of them in it."""
    if depth > unknown_values.MAX_DEPTH:
        return Unknown("", f"it is encrypted in {path}", is_secret=True)
    if isinstance(value, Mapping):
        return {key: hidden(each, path, depth=depth + 1) for key, each in value.items() if key != "sops"}
    if isinstance(value, list):
        return [hidden(each, path, depth=depth + 1) for each in value]
    return Unknown("", f"it is encrypted in {path}", name=path, is_secret=True)

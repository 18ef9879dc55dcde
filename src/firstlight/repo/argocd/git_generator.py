"""The Git generator: parameters from directories and files of this repo."""

import contextlib
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.repo.argocd import git_urls, globs, set_templates
from firstlight.repo.argocd.definitions import items, mapping, text
from firstlight.repo.argocd.read_scope import COMPARISON, GeneratorFailed, GeneratorNotKnown, ReadBudget, ReadScope
from firstlight.repo.argocd.set_templates import SetTemplates

Match = Callable[[str, str], bool]
_LITERAL = re.compile(r"[^*?\[{\\]*")


def parameters(git: Mapping[str, Any], templates: SetTemplates, scope: ReadScope) -> list[dict[str, Any]]:
    """One set of parameters for each directory, or for each file (or item of a file).

    Raises:
        Failed: It reads another repository, or what it reads is not as it must be.
    """
    url = text(git.get("repoURL"))
    if "{{" in url:
        raise GeneratorNotKnown(f"the repository is a template that cannot be filled in: {url}")
    if not scope.own.has(url):
        raise GeneratorNotKnown(f"it reads another repository: {git_urls.without_password(url) or 'none is named'}")
    prefix = text(git.get("pathParamPrefix"))
    if items(git.get("directories")):
        found = [
            _of_path(each, prefix, templates)
            for each in _matching(git["directories"], _directories(scope), scope.budget)
        ]
    elif items(git.get("files")):
        match = globs.doublestar_match if scope.settings.has_new_globbing else globs.git_match
        files = _matching(git["files"], scope.tree.files, scope.budget, match)
        found = [made for each in files for made in _of_file(each, prefix, templates, scope)]
    else:
        raise GeneratorFailed("the Git generator has neither directories nor files")
    values = {str(key): text(value) for key, value in mapping(git.get("values")).items()}
    return [with_values(each, values, templates) for each in found]


def matches(git: Mapping[str, Any], scope: ReadScope) -> bool | None:
    """Whether this repo has what a Git generator asks for; None where that is a template, or fits any repo."""
    wanted = [text(mapping(each).get("path")) for each in [*items(git.get("directories")), *items(git.get("files"))]]
    if not wanted or any("{{" in each or each[:1] in "*?[{" for each in wanted):
        return None
    budget = scope.budget
    directories = _matching(items(git.get("directories")), _directories(scope), budget)
    return bool(directories or _matching(items(git.get("files")), scope.tree.files, budget, globs.git_match))


def with_values(params: dict[str, Any], values: Mapping[str, str], templates: SetTemplates) -> dict[str, Any]:
    """Parameters with the ``values`` of a generator, which may use them."""
    made = {key: templates.text(value, params) for key, value in values.items()}
    if not made:
        return params
    return {**params, "values": made} if templates.is_go else params | {f"values.{key}": made[key] for key in made}


def _directories(scope: ReadScope) -> list[str]:
    """Every directory but hidden ones, in the order in which Go walks."""
    known: list[str] | None = scope.kept.get("directories")
    if known is not None:
        return known
    found: set[str] = set()
    for file in scope.tree.files:
        directory = posixpath.dirname(file)
        while directory and directory not in found:
            found.add(directory)
            directory = posixpath.dirname(directory)
    shown = sorted((each for each in found if "/." not in f"/{each}"), key=lambda each: each.split("/"))
    scope.kept["directories"] = shown
    return shown


def _matching(
    wanted: list[Any], paths: Sequence[str], budget: ReadBudget, match: Match = globs.path_match
) -> list[str]:
    """The paths that are wanted and not excluded."""
    patterns = [(text(mapping(each).get("path")), mapping(each).get("exclude") is True) for each in wanted]
    included = _Patterns([pattern for pattern, is_excluded in patterns if not is_excluded], match, budget)
    excluded = _Patterns([pattern for pattern, is_excluded in patterns if is_excluded], match, budget)
    budget.spend(len(paths) * len(patterns))
    return [path for path in paths if included.fit(path) and not excluded.fit(path)]


class _Patterns:
    """Some patterns, with the beginnings that they all have."""

    def __init__(self, patterns: Sequence[str], match: Match, budget: ReadBudget) -> None:
        self._patterns = [(pattern, _beginning(pattern)) for pattern in patterns]
        self._match = match
        self._budget = budget

    def fit(self, path: str) -> bool:
        """Whether one of them fits; one that Go refuses never does."""
        for pattern, beginning in self._patterns:
            if path.startswith(beginning):
                self._budget.spend(COMPARISON)
                with contextlib.suppress(globs.BadPattern):
                    if self._match(pattern, path):
                        return True
        return False


def _beginning(pattern: str) -> str:
    """What a path must begin with."""
    literal = _LITERAL.match(pattern)
    return literal[0].rstrip("/") if literal else ""


def _of_path(path: str, prefix: str, templates: SetTemplates, file: str = "") -> dict[str, Any]:
    """What is known of a path."""
    name = posixpath.basename(path)
    parts: dict[str, Any] = {"basename": name, "basenameNormalized": set_templates.normalised(name)}
    if file:
        parts |= {"filename": file, "filenameNormalized": set_templates.normalised(file)}
    segments = path.split("/")
    if templates.is_go:
        whole: dict[str, Any] = {"path": {"path": path, **parts, "segments": segments}}
        return {prefix: whole} if prefix else whole
    base = f"{prefix}.path" if prefix else "path"
    flat = {base: path} | {f"{base}.{key}": value for key, value in parts.items()}
    return flat | {f"{base}[{number}]": segment for number, segment in enumerate(segments) if segment}


def _of_file(path: str, prefix: str, templates: SetTemplates, scope: ReadScope) -> Iterator[dict[str, Any]]:
    documents = scope.tree.documents(path)
    value = documents[0].value if documents else {}
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, Mapping):
            raise GeneratorFailed(f"{path} is neither a mapping nor a list of mappings")
        directory, name = posixpath.split(path)
        known = set_templates.numbers_as_go(each) if templates.is_go else set_templates.flattened(each)
        yield {**known, **_of_path(directory or ".", prefix, templates, name)}

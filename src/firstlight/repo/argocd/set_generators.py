"""Generators of ApplicationSets, of Git and others: the parameters that they give, or why only a run can tell."""

import contextlib
import dataclasses
import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Severity
from firstlight.repo.argocd import definitions, git_urls, globs, set_templates
from firstlight.repo.argocd.argocd_settings import IN_CLUSTER, IN_CLUSTER_SERVER
from firstlight.repo.argocd.definitions import items, mapping, selector_selects, text
from firstlight.repo.argocd.read_scope import (
    COMPARISON,
    MAX_APPLICATIONS,
    GeneratorFailed,
    GeneratorNotKnown,
    ReadBudget,
    ReadScope,
)
from firstlight.repo.argocd.set_templates import SetTemplates

MAX_NESTING = 4
"""Generators in generators; Argo CD takes two levels."""

UNKNOWABLE = {
    "scmProvider": "it asks a Git hosting service for repositories",
    "pullRequest": "it asks a Git hosting service for pull requests",
    "clusterDecisionResource": "it asks an object of the cluster",
    "plugin": "it asks a plugin",
}
"""Generators that ask somebody, and whom."""


@dataclasses.dataclass(frozen=True, slots=True)
class GeneratedParameters:
    """Sets of parameters."""

    sets: list[dict[str, Any]]
    doubt: str = ""
    """Why there may be more of them."""


def kinds(generator: Mapping[str, Any]) -> list[str]:
    """The kinds of generators in one entry; people write one."""
    return [key for key, value in generator.items() if key != "selector" and value is not None]


def parameters(
    kind: str, generator: Mapping[str, Any], templates: SetTemplates, scope: ReadScope, *, depth: int = 0
) -> GeneratedParameters:
    """The sets of parameters that one generator gives.

    Args:
        kind: Which of the entry's generators.
        generator: The entry, with ``selector`` beside the generator.
        templates: How its texts are filled in.
        scope: The tree.
        depth: How many generators it is in.

    Raises:
        Failed: It cannot be known, or Argo CD would refuse it.
    """
    if kind in UNKNOWABLE:
        raise GeneratorNotKnown(f"the generator {kind}: {UNKNOWABLE[kind]}")
    if kind not in _KNOWN or not isinstance(generator[kind], Mapping):
        raise GeneratorFailed(
            f"there is no generator {kind}" if kind not in _KNOWN else f"the generator {kind} is no mapping"
        )
    if depth > MAX_NESTING:
        raise GeneratorFailed(f"generators are nested deeper than {MAX_NESTING} levels")
    given = _KNOWN[kind](generator[kind], templates, scope, depth)
    if len(given.sets) > MAX_APPLICATIONS:
        raise GeneratorFailed(f"it gives more than {MAX_APPLICATIONS} sets of parameters")
    selector = generator.get("selector")
    if not isinstance(selector, Mapping):
        return given
    chosen = [each for each in given.sets if selector_selects(selector, set_templates.flattened(each))]
    return dataclasses.replace(given, sets=chosen)


def _git(git: Mapping[str, Any], templates: SetTemplates, scope: ReadScope, _: int) -> GeneratedParameters:
    return GeneratedParameters(git_parameters(git, templates, scope))


def _list(written: Mapping[str, Any], templates: SetTemplates, _: ReadScope, __: int) -> GeneratedParameters:
    sets: list[dict[str, Any]] = []
    for number, element in enumerate(items(written.get("elements")), start=1):
        if not isinstance(element, Mapping):
            raise GeneratorFailed(f"element {number} of the list is no mapping")
        if templates.is_go:
            sets.append(set_templates.numbers_as_go(element))
            continue
        flat = {f"values.{key}": value for key, value in mapping(element.get("values")).items()}
        flat |= {str(key): value for key, value in element.items() if key != "values"}
        wrong = next((key for key, value in flat.items() if not isinstance(value, str)), None)
        if wrong:
            raise GeneratorFailed(f"{wrong} of element {number} is no text, which Argo CD only takes with goTemplate")
        sets.append(flat)
    more = written.get("elementsYaml")
    if isinstance(more, str) and more.strip():
        contents = yaml_reader.read(more.encode(errors="replace"), "")
        value = contents.documents[0].value if contents.documents else []
        is_broken = any(each.severity == Severity.ERROR for each in contents.diagnostics)
        if is_broken or not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
            raise GeneratorFailed("elementsYaml is no list of mappings")
        sets += [set_templates.numbers_as_go(each) for each in value]
    return GeneratedParameters(sets)


def _clusters(written: Mapping[str, Any], templates: SetTemplates, scope: ReadScope, _: int) -> GeneratedParameters:
    selector = mapping(written.get("selector"))
    has_selector = bool(mapping(selector.get("matchLabels")) or items(selector.get("matchExpressions")))
    known = [each for each in scope.registered.clusters if selector_selects(selector, each.labels)]
    if has_selector and not known:
        raise GeneratorNotKnown("the generator clusters: it asks Argo CD for the clusters that are registered")
    sets: list[dict[str, Any]] = []
    for each in known:
        params: dict[str, Any] = _cluster(each.name, each.server, each.project)
        if templates.is_go:
            params["metadata"] = {"labels": dict(each.labels), "annotations": dict(each.annotations)}
        else:
            params |= {f"metadata.labels.{key}": value for key, value in each.labels.items()}
            params |= {f"metadata.annotations.{key}": value for key, value in each.annotations.items()}
        sets.append(params)
    if not has_selector and all(each.server != IN_CLUSTER_SERVER for each in known):
        sets.append(_cluster(IN_CLUSTER, IN_CLUSTER_SERVER, ""))
    values = {str(key): text(value) for key, value in mapping(written.get("values")).items()}
    sets = [with_values(each, values, templates) for each in sets]
    if written.get("flatList") is True:
        sets = [{"clusters": sets}]
    return GeneratedParameters(sets, "there is one more for each cluster that is registered and not in this repo")


def _cluster(name: str, server: str, project: str) -> dict[str, Any]:
    return {"name": name, "nameNormalized": set_templates.normalised(name), "server": server, "project": project}


def _inner(
    generator: Any, templates: SetTemplates, scope: ReadScope, depth: int, params: Mapping[str, Any] | None = None
) -> GeneratedParameters:
    """One generator of a matrix or a merge, filled in with the parameters of the one before."""
    entry = mapping(generator)
    found = kinds(entry)
    if len(found) != 1:
        raise GeneratorFailed("a matrix or merge has an entry without a generator, or with more than one")
    if params:
        entry = _interpolated(entry, found[0], templates, params)
    return parameters(found[0], entry, templates, scope, depth=depth + 1)


def _interpolated(
    entry: Mapping[str, Any], kind: str, templates: SetTemplates, params: Mapping[str, Any]
) -> Mapping[str, Any]:
    """A generator filled in; its ``values`` may use its own parameters, so they are left where that fails."""
    inner = mapping(entry.get(kind))
    values = mapping(inner.get("values"))
    rest = {**entry, kind: {key: value for key, value in inner.items() if key != "values"}}
    filled: dict[str, Any] = templates.value(rest, params)
    if values:
        strict = templates.strict()
        filled[kind] = {
            **mapping(filled.get(kind)),
            "values": {k: _tried(v, strict, params) for k, v in values.items()},
        }
    return filled


def _tried(value: Any, templates: SetTemplates, params: Mapping[str, Any]) -> Any:
    try:
        return templates.value(value, params)
    except GeneratorFailed:
        return value


def _matrix(written: Mapping[str, Any], templates: SetTemplates, scope: ReadScope, depth: int) -> GeneratedParameters:
    generators = items(written.get("generators"))
    if len(generators) != 2:
        raise GeneratorFailed(f"a matrix has two generators, and this one has {len(generators)}")
    first = _inner(generators[0], templates, scope, depth)
    sets: list[dict[str, Any]] = []
    doubt = first.doubt
    for one in first.sets:
        second = _inner(generators[1], templates, scope, depth, one)
        doubt = doubt or second.doubt
        sets += [_combined(one, other, templates) for other in second.sets]
        if len(sets) > MAX_APPLICATIONS:
            raise GeneratorFailed(f"the matrix gives more than {MAX_APPLICATIONS} sets of parameters")
    return GeneratedParameters(sets, doubt)


def _combined(one: Mapping[str, Any], other: Mapping[str, Any], templates: SetTemplates) -> dict[str, Any]:
    if templates.is_go:
        return dict(definitions.mergo_override(other, one))
    left = {key: set_templates.printed(value) for key, value in one.items()}
    right = {key: set_templates.printed(value) for key, value in other.items()}
    clash = next((key for key in left if key in right and left[key] != right[key]), None)
    if clash:
        raise GeneratorFailed(f"both generators of the matrix give {clash}, and not the same")
    return {**left, **right}


def _merge(written: Mapping[str, Any], templates: SetTemplates, scope: ReadScope, depth: int) -> GeneratedParameters:
    generators, keys = items(written.get("generators")), [text(each) for each in items(written.get("mergeKeys"))]
    if len(generators) < 2 or not keys:
        raise GeneratorFailed("a merge has two generators or more, and mergeKeys")
    given = [_inner(each, templates, scope, depth, {}) for each in generators]
    base, *others = [_by_keys(keys, each.sets) for each in given]
    for other in others:
        for key in base:
            if key in other:
                over = (
                    definitions.mergo_override(base[key], other[key])
                    if templates.is_go
                    else {**base[key], **other[key]}
                )
                base[key] = dict(over)
    return GeneratedParameters(list(base.values()), next((each.doubt for each in given if each.doubt), ""))


def _by_keys(keys: list[str], sets: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for each in sets:
        key = json.dumps({name: each.get(name) for name in keys}, sort_keys=True, default=str)
        if key in found:
            raise GeneratorFailed(f"the merge has {key} twice in one of its generators")
        found[key] = each
    return found


_KNOWN: Mapping[str, Callable[[Mapping[str, Any], SetTemplates, ReadScope, int], GeneratedParameters]] = {
    "list": _list,
    "clusters": _clusters,
    "git": _git,
    "matrix": _matrix,
    "merge": _merge,
}


# The Git generator: parameters from directories and files of this repo.


Match = Callable[[str, str], bool]
_LITERAL = re.compile(r"[^*?\[{\\]*")


def git_parameters(git: Mapping[str, Any], templates: SetTemplates, scope: ReadScope) -> list[dict[str, Any]]:
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


def git_matches(git: Mapping[str, Any], scope: ReadScope) -> bool | None:
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

"""The values of a release: files, templates, maps, single settings and encrypted files."""

import dataclasses
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from firstlight.model import secret_words
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.source import Values
from firstlight.repo.go_template import Unknown
from firstlight.repo.helmfile import environments, releases, rendered_files
from firstlight.repo.helmfile.environments import EnvironmentEntry
from firstlight.repo.helmfile.helmfile_state import HelmfileState
from firstlight.repo.helmfile.releases import HelmfileRelease
from firstlight.repo.scripts.command_context import PathLookup
from firstlight.repo.scripts.shell.shell_expansion import ExpandedText
from firstlight.repo.work_tree import WorkTree

_TOLD = 3
"""Unknown values of one map that are told; the rest would say the same."""


def read(
    tree: WorkTree, state: HelmfileState, release: HelmfileRelease, say: Callable[[Diagnostic], None]
) -> Iterator[Values]:
    """The values in the order in which they are merged; later ones win."""
    spec = release.spec
    for key in ("valuesTemplate", "values"):
        entries = spec.get(key)
        for n, value in enumerate(entries if isinstance(entries, list) else ()):
            place = release.item.place(key, n)
            if key == "valuesTemplate" and isinstance(value, Mapping):
                value = _template(tree, state, release, value)
            yield from _entry(tree, state, release, value, place, say)
    secrets = spec.get("secrets")
    for n, value in enumerate(secrets if isinstance(secrets, list) else ()):
        place = release.item.place("secrets", n)
        yield from _secret(tree, state, release, value, place, say)
    for key in ("setTemplate", "set", "setString"):
        entries = spec.get(key)
        for n, setting in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(setting, Mapping):
                yield from _setting(
                    tree, state, release, setting, release.item.place(key, n), is_text=key == "setString"
                )


def _entry(
    tree: WorkTree,
    state: HelmfileState,
    release: HelmfileRelease,
    value: Any,
    place: Place,
    say: Callable[[Diagnostic], None],
) -> Iterator[Values]:
    if isinstance(value, Unknown):
        found = PathLookup(tree).find(state.directory, ExpandedText(value.text, (value.name or value.text,)))
        if not found.path:
            yield Values(place=place, unresolved=f"{value.text}: {value.reason}", is_secret=value.is_secret)
            return
        yield from _file(tree, state, release, found.path, place, say)
        return
    if isinstance(value, Mapping):
        yield _inline(value, place)
        return
    prefix = releases.text(release.spec.get("valuesPathPrefix"))
    entry = EnvironmentEntry(value=f"{prefix}{value}", place=place)
    handler = release.spec.get("missingFileHandler") or state.spec.get("missingFileHandler") or "Error"
    paths = environments.paths(tree, entry, directory=state.directory, is_optional=handler != "Error", say=say)
    if not paths:
        yield Values(place=place, optional=handler != "Error", unresolved=f"{entry.value} is not in the repo")
    for path in paths:
        yield from _file(tree, state, release, path, place, say)


def _file(
    tree: WorkTree,
    state: HelmfileState,
    release: HelmfileRelease,
    path: str,
    place: Place,
    say: Callable[[Diagnostic], None],
) -> Iterator[Values]:
    if not path.endswith(rendered_files.GOTMPL):
        yield Values(place=place, file=path)
        return
    part = rendered_files.read(
        tree, tree.text(path) or "", path, releases.data(state, release.spec),
        directory=posixpath.dirname(path) or ".", is_template=True,
    )  # fmt: skip
    for diagnostic in (*part.diagnostics, *rendered_files.doubts(part)):
        say(diagnostic)
    value = part.values[0] if part.values else {}
    if part.diagnostics or not isinstance(value, Mapping):
        if isinstance(value, Unknown):
            yield Values(place=Place(path), unresolved=f"{path}: {value.reason}", is_secret=value.is_secret)
        else:
            yield Values(place=Place(path), unresolved=f"{path} gives no map")
        return
    yield _inline(value, Place(path))


def _template(tree: WorkTree, state: HelmfileState, release: HelmfileRelease, value: Any) -> Any:
    """Expressions inside of the texts of a map."""
    if isinstance(value, Mapping):
        return {key: _template(tree, state, release, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_template(tree, state, release, each) for each in value]
    return releases.expression(tree, state, value, releases.data(state, release.spec))


def _secret(
    tree: WorkTree,
    state: HelmfileState,
    release: HelmfileRelease,
    value: Any,
    place: Place,
    say: Callable[[Diagnostic], None],
) -> Iterator[Values]:
    if isinstance(value, Unknown):
        yield Values(place=place, unresolved=f"{value.text}: {value.reason}", is_secret=value.is_secret)
        return
    found = environments.matches(tree, state.directory, str(value)) if isinstance(value, str) else []
    if not found and isinstance(value, str):
        say(Diagnostic.error("helmfile-values-missing", place.describe_missing(value), at=place))
    for path in found or [""]:
        yield Values(place=place, file=path, unresolved="the values are encrypted", is_secret=True)


def _setting(
    tree: WorkTree,
    state: HelmfileState,
    release: HelmfileRelease,
    setting: Mapping[str, Any],
    place: Place,
    *,
    is_text: bool,
) -> Iterator[Values]:
    given = releases.data(state, release.spec)
    name = releases.expression(tree, state, setting.get("name"), given)
    target = releases.text(name)
    if "file" in setting:
        path = releases.expression(tree, state, setting["file"], given)
        found = environments.matches(tree, state.directory, path) if isinstance(path, str) else []
        why = "" if found else f"{releases.text(path)} is not in the repo"
        yield Values(place=place, file=found[0] if found else "", target=target, is_text=is_text, unresolved=why)
        return
    value = setting.get("value")
    if "values" in setting and isinstance(setting["values"], list):
        value = "{" + ",".join(releases.text(each) for each in setting["values"]) + "}"
    value = releases.expression(tree, state, value, given)
    if isinstance(value, Unknown):
        yield Values(place=place, target=target, is_text=is_text, unresolved=value.reason, is_secret=value.is_secret)
    elif secret_words.is_secret_setting(target):
        yield Values(place=place, target=target, is_text=is_text, unresolved="a secret in a helmfile", is_secret=True)
    else:
        yield Values(place=place, target=target, text=releases.text(value), is_text=is_text)


def _inline(value: Mapping[str, Any], place: Place) -> Values:
    known, missing = split(value)
    told = missing[:_TOLD]
    return Values(
        place=place,
        inline=known,
        unresolved="; ".join(f"{each.text}: {each.reason}" for each in told),
        is_secret=any(each.is_secret for each in told),
    )


def split(value: Mapping[str, Any], path: str = "") -> tuple[dict[str, Any], list[Unknown]]:
    """Return what is known of a map, and what is not, each with its path for a text."""
    known: dict[str, Any] = {}
    missing: list[Unknown] = []
    for key, each in value.items():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(each, Unknown):
            missing.append(dataclasses.replace(each, text=name))
        elif isinstance(each, Mapping):
            known[key], inner = split(each, name)
            missing += inner
        elif isinstance(each, list):
            unknown = [one for one in each if isinstance(one, Unknown)]
            missing += [dataclasses.replace(one, text=name) for one in unknown]
            parts = [split(one, name) if isinstance(one, Mapping) else (one, []) for one in each if one not in unknown]
            known[key] = [part for part, _ in parts]
            missing += [one for _, inner in parts for one in inner]
        else:
            known[key] = each
    return known, missing

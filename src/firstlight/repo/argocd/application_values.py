"""The values that an Application gives to a chart: files, then what stands in it, then single parameters."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.model.source import Values
from firstlight.repo import work_tree
from firstlight.repo.argocd import definitions, git_urls, globs
from firstlight.repo.argocd.application_spec import SourceSpec, has_placeholder
from firstlight.repo.argocd.definitions import items, mapping, text
from firstlight.repo.argocd.read_scope import COMPARISON, GeneratorNotKnown, ReadScope

_REMOTE = ("http://", "https://", "oci://", "s3://", "gs://", "secrets://", "git+")


@dataclasses.dataclass(frozen=True, slots=True)
class ApplicationValues:
    """What a chart is given."""

    values: tuple[Values, ...]
    diagnostics: tuple[Diagnostic, ...]


def read(spec: SourceSpec, refs: Mapping[str, SourceSpec], *, base: str | None, scope: ReadScope) -> ApplicationValues:
    """The values of a source, the first ones first.

    Args:
        spec: The source.
        refs: The other sources of the Application that have a ``ref``, by ``$name``.
        base: The directory of the chart in this repo; None if it comes from elsewhere.
        scope: The tree.
    """
    diagnostics: list[Diagnostic] = []
    values = [each for found in _files(spec, refs, base, scope) for each in _kept(found, diagnostics)]
    values += _kept(_inline(spec), diagnostics)
    for number, each in enumerate(items(spec.helm.get("parameters"))):
        value = mapping(each)
        written, later = spec.substituted(text(value.get("value")))
        values.append(
            Values(
                place=spec.at("helm", "parameters", number),
                target=text(value.get("name")),
                text=written,
                is_text=value.get("forceString") is True,
                unresolved=f"{later} is known when Argo CD runs" if later else "",
            )
        )
    for number, each in enumerate(items(spec.helm.get("fileParameters"))):
        value, place = mapping(each), spec.at("helm", "fileParameters", number)
        for found in _file(spec, refs, text(value.get("path")), place=place, base=base, scope=scope):
            values += [dataclasses.replace(made, target=text(value.get("name"))) for made in _kept(found, diagnostics)]
    return ApplicationValues(tuple(values), tuple(diagnostics))


def merged(given: Sequence[Values], defaults: Mapping[str, Any], scope: ReadScope) -> dict[str, Any]:
    """All values that are known, one over the other; single parameters only where their path has no lists in it."""
    whole = dict(defaults)
    for each in given:
        if each.inline is not None:
            whole = definitions.helm_merge(whole, each.inline)
        elif each.target and each.text is not None and "[" not in each.target:
            value: Any = each.text if each.is_text else _typed(each.text)
            for step in reversed(each.target.replace("\\.", "\0").split(".")):
                value = {step.replace("\0", "."): value}
            whole = definitions.helm_merge(whole, value)
        elif each.file and not each.target and scope.tree.is_file(each.file):
            document = next(iter(scope.tree.documents(each.file)), None)
            whole = definitions.helm_merge(whole, mapping(document.value)) if document else whole
    return whole


Found = Values | Diagnostic


def _kept(found: Found | None, diagnostics: list[Diagnostic]) -> list[Values]:
    if isinstance(found, Diagnostic):
        diagnostics.append(found)
    return [found] if isinstance(found, Values) else []


def _files(spec: SourceSpec, refs: Mapping[str, SourceSpec], base: str | None, scope: ReadScope) -> Iterator[Found]:
    """Value files; what a glob finds and is named by itself, too, stands where it is named."""
    found: list[tuple[bool, Found]] = []
    for number, each in enumerate(items(spec.helm.get("valueFiles"))):
        written, place = text(each), spec.at("helm", "valueFiles", number)
        more = _file(spec, refs, written, place=place, base=base, scope=scope)
        found += [(globs.is_glob(written), value) for value in more]
    named = {value.file for is_globbed, value in found if not is_globbed and isinstance(value, Values)}
    seen: set[str] = set()
    for is_globbed, value in found:
        if isinstance(value, Values) and value.file:
            if value.file in seen or (is_globbed and value.file in named):
                continue
            seen.add(value.file)
        yield value


def _file(
    spec: SourceSpec, refs: Mapping[str, SourceSpec], written: str, *, place: Place, base: str | None, scope: ReadScope
) -> Iterator[Found]:
    if has_placeholder(written):
        yield Values(place=place, reference=written, unresolved="the path is a template that cannot be filled in")
        return
    name, _, rest = written.partition("/")
    ref = refs.get(name) if written.startswith("$") else None
    if ref is not None:
        rest, later = spec.substituted("/" + rest)
        if not scope.own.has(ref.url):
            reference = f"{git_urls.without_password(ref.url)}/{rest.lstrip('/')}"
            yield Values(place=place, reference=reference, unresolved="the file is in another repository")
            return
        base, path = ".", rest.lstrip("/")
    else:
        path, later = spec.substituted(written)
        if written.startswith("$") and "ARGOCD_" not in name:
            message = f"no source of the Application has ref: {name[1:]}"
            yield Diagnostic.error(
                "argocd-values-ref-missing", message, at=place, fix="Add a source with that ref, or correct the name."
            )
            return
        if path.startswith(_REMOTE):
            yield Values(place=place, reference=path)
            return
        if base is None:
            yield Values(place=place, reference=path, unresolved="the file is in the chart, which is not in this repo")
            return
    if later:
        yield Values(place=place, reference=path, unresolved=f"{later} is known when Argo CD runs")
        return
    yield from _of_repo(spec, path, place=place, base=base, scope=scope)


def _of_repo(spec: SourceSpec, path: str, *, place: Place, base: str, scope: ReadScope) -> Iterator[Found]:
    is_optional = spec.helm.get("ignoreMissingValueFiles") is True
    joined = work_tree.join(".", path.lstrip("/")) if path.startswith("/") else work_tree.join(base, path)
    if joined is None:
        yield Diagnostic.error("argocd-values-file-outside", f"the value file {path} is outside of the repo", at=place)
        return
    if globs.is_glob(joined):
        matching = _globbed(joined, scope)
        yield from (Values(place=place, file=each, optional=is_optional) for each in matching)
        if not matching and not is_optional:
            yield Diagnostic.error("argocd-values-file-missing", f"no value file is like {path}", at=place)
        return
    if not scope.tree.is_file(joined):
        if not is_optional:
            yield Diagnostic.error("argocd-values-file-missing", place.describe_missing(joined), at=place)
            yield Values(place=place, file=joined, unresolved="there is no such file")
        return
    yield Values(place=place, file=joined, optional=is_optional)


def _globbed(pattern: str, scope: ReadScope) -> list[str]:
    try:
        scope.budget.spend(COMPARISON * len(scope.tree.files))
        return [each for each in scope.tree.files if globs.doublestar_match(pattern, each)]
    except (globs.BadPattern, GeneratorNotKnown):
        return []


def _inline(spec: SourceSpec) -> Found | None:
    """``valuesObject``, or else ``values``."""
    if isinstance(spec.helm.get("valuesObject"), Mapping):
        return Values(place=spec.at("helm", "valuesObject"), inline=spec.helm["valuesObject"])
    written = spec.helm.get("values")
    if not isinstance(written, str) or not written.strip():
        return None
    place = spec.at("helm", "values")
    if has_placeholder(written):
        return Values(place=place, unresolved="there are parts of a template in the values that cannot be filled in")
    contents = yaml_reader.read(written.encode(errors="replace"), place.path)
    wrong = next((each for each in contents.diagnostics if each.severity == Severity.ERROR), None)
    if wrong:
        message = f"the values are no YAML: {wrong.message} (line {wrong.place.line} of them)"
        return Diagnostic.error("argocd-values-wrong", message, at=place, fix=wrong.fix)
    value = contents.documents[0].value if contents.documents else {}
    if not isinstance(value, Mapping):
        return Diagnostic.error("argocd-values-wrong", "the values are no mapping", at=place)
    return Values(place=place, inline=value)


def _typed(written: str) -> Any:
    """A value as ``helm --set`` types it."""
    known = {"true": True, "false": False, "null": None}
    if written in known:
        return known[written]
    is_number = (
        written.lstrip("-").isdecimal() and len(written) < 19 and (written == "0" or not written.startswith("0"))
    )
    return int(written) if is_number else written

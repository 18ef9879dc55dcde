"""What a chart is given: values from files, objects and the declaration itself, laid over each other."""

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.model.source import Values
from firstlight.render import helm_set
from firstlight.render.chart_packages import FetchKind, FetchRequest, NotCached
from firstlight.render.render_questions import RenderQuestions

DEFAULT_KEY = "values.yaml"
_OBJECTS = ("ConfigMap/", "Secret/")


@dataclasses.dataclass(frozen=True)
class HelmSetting:
    """A single value, as ``--set`` has it."""

    line: str = dataclasses.field(repr=False)
    place: Place
    as_text: bool = False


Piece = dict[str, Any] | HelmSetting


@dataclasses.dataclass(frozen=True)
class GivenValues:
    """Values that are known, in the order in which they win over each other, and what is wrong with the others."""

    pieces: tuple[Piece, ...] = dataclasses.field(default=(), repr=False)
    own: dict[str, Any] | None = dataclasses.field(default=None, repr=False)
    """Those that stand in a HelmRelease itself, which Flux lays over all others."""
    diagnostics: tuple[Diagnostic, ...] = ()


class _Problem(Exception):
    def __init__(self, severity: Severity, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.severity, self.code, self.message, self.hint = severity, code, message, hint


async def gather(
    values: Sequence[Values],
    questions: RenderQuestions,
    *,
    is_flux: bool = False,
    chart: Mapping[str, bytes] | None = None,
) -> GivenValues:
    """Find everything that a chart is given.

    Args:
        values: As they are declared.
        questions: Whom to ask.
        is_flux: Whether a HelmRelease declares them.
        chart: The chart's own files, of which an Application may name some.
    """
    pieces: list[Piece] = []
    own: dict[str, Any] | None = None
    diagnostics: list[Diagnostic] = []
    for each in values:
        try:
            found = await _piece(each, questions, is_flux=is_flux, chart=chart or {})
        except _Problem as problem:
            if not each.optional:
                diagnostics.append(
                    Diagnostic(
                        code=problem.code,
                        severity=problem.severity,
                        message=problem.message,
                        places=(each.place,),
                        fix=problem.hint,
                    )
                )
            continue
        if is_flux and isinstance(found, dict) and not each.reference and not each.target:
            own = found
        else:
            pieces.append(found)
    return GivenValues(tuple(pieces), own, tuple(diagnostics))


def merged(given: GivenValues) -> tuple[dict[str, Any], list[Diagnostic]]:
    """Everything as one mapping, and what Helm would refuse of it."""
    diagnostics: list[Diagnostic] = []
    whole: dict[str, Any] = {}
    own = copy.deepcopy(given.own) if given.own is not None else {}
    for piece in given.pieces:
        if isinstance(piece, dict):
            whole = laid_over(whole, copy.deepcopy(piece))
            continue
        # Flux lays the HelmRelease's own values below a single one before it is set, and again over everything at the
        # end. What both share in memory decides who wins, so the same is shared here.
        whole = laid_over(whole, own)
        try:
            helm_set.put(whole, piece.line, as_text=piece.as_text)
        except helm_set.BadSetting as error:
            diagnostics.append(
                Diagnostic.error("helm-set-wrong", f"a single value cannot be set: {error}", at=piece.place)
            )
    return laid_over(whole, own), diagnostics


def laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Helm's way: mappings are merged, all else is replaced; null stays, since it takes the chart's default away."""
    made = dict(below)
    for name, value in above.items():
        before = made.get(name)
        made[name] = laid_over(before, value) if isinstance(value, dict) and isinstance(before, dict) else value
    return made


def of_files(values: Sequence[Values], read: Callable[[str], bytes | None]) -> tuple[dict[str, Any], str]:
    """Values that stand in the repo, as one mapping, and why some are not known; empty if all are.

    Args:
        values: As bootstrap declares them.
        read: The content of a file of the repo.
    """
    pieces: list[Piece] = []
    for each in values:
        try:
            found = _here(each, read, is_flux=False)
        except _Problem as problem:
            if each.optional:
                continue
            return {}, problem.message
        if found is None:
            return {}, f"values of the chart are in {each.reference}"
        pieces.append(found)
    whole, diagnostics = merged(GivenValues(tuple(pieces)))
    return whole, diagnostics[0].message if diagnostics else ""


async def _piece(values: Values, questions: RenderQuestions, *, is_flux: bool, chart: Mapping[str, bytes]) -> Piece:
    if values.reference in chart and not values.file:
        return _mapping(chart[values.reference], f"{values.reference} of the chart")
    if (found := _here(values, questions.file, is_flux=is_flux)) is not None:
        return found
    if values.reference.startswith(("https://", "http://")):
        return _mapping(await _fetched(values.reference, questions), values.reference)
    text = await _referenced(values, questions)
    if values.target:
        return _setting(values, text, is_flux=is_flux)
    return _mapping(text.encode(errors="replace"), values.reference)


def _here(values: Values, read: Callable[[str], bytes | None], *, is_flux: bool) -> Piece | None:
    """Values that stand in the declaration or in a file; None if others have them."""
    if values.unresolved and not values.reference.startswith(_OBJECTS):
        raise _Problem(Severity.ERROR, "helm-values-unknown", f"values of the chart are not known: {values.unresolved}")
    if values.inline is not None and not values.target:
        return dict(values.inline)
    if values.text is not None:
        return _setting(values, values.text, is_flux=is_flux)
    if not values.file:
        return None
    content = read(values.file)
    if content is None:
        raise _Problem(Severity.ERROR, "helm-values-missing", f"there is no file {values.file} with values")
    if values.target:
        text = content.decode(errors="replace")
        return HelmSetting(f"{values.target}={helm_set.literal(text)}", values.place, as_text=True)
    return _mapping(content, values.file)


def _setting(values: Values, text: str, *, is_flux: bool) -> HelmSetting:
    if not is_flux:
        return HelmSetting(f"{values.target}={helm_set.escaped(text)}", values.place, as_text=values.is_text)
    if values.is_text:
        return HelmSetting(f"{values.target}={helm_set.literal(text)}", values.place, as_text=True)
    is_quoted = any(text.startswith(mark) and text.endswith(mark) for mark in "'\"")
    return HelmSetting(
        f"{values.target}={text.strip(chr(39) + chr(34)) if is_quoted else text}", values.place, is_quoted
    )


def _mapping(content: bytes, name: str) -> dict[str, Any]:
    contents = yaml_reader.read(content, name)
    wrong = next((each for each in contents.diagnostics if each.severity == Severity.ERROR), None)
    if wrong is not None:
        raise _Problem(
            Severity.ERROR, "helm-values-wrong", f"the values in {name} are no YAML: {wrong.message}", wrong.fix
        )
    value = contents.documents[0].value if contents.documents else {}
    if not isinstance(value, dict):
        raise _Problem(Severity.ERROR, "helm-values-wrong", f"the values in {name} are no mapping")
    if isinstance(value.get("sops"), dict) and "mac" in value["sops"]:
        raise _Problem(Severity.UNKNOWN, "helm-values-hidden", f"the values in {name} are encrypted")
    return value


async def _fetched(url: str, questions: RenderQuestions) -> bytes:
    try:
        return await questions.content(await questions.stored(FetchRequest(kind=FetchKind.FILE, url=url)))
    except NotCached as error:
        raise _Problem(Severity.ERROR, "fetch-offline", error.message, error.hint) from error
    except errors.FirstlightError as error:
        raise _Problem(Severity.ERROR, "fetch-failed", error.message, error.hint) from error


async def _referenced(values: Values, questions: RenderQuestions) -> str:
    """A key of a ConfigMap."""
    kind, _, rest = values.reference.partition("/")
    namespace, _, name = rest.rpartition("/")
    key = values.key or DEFAULT_KEY
    if kind == "Secret":
        raise _Problem(
            Severity.UNKNOWN,
            "helm-values-hidden",
            f"values of the chart are in the Secret {name}, and Secrets are not read",
        )
    found = await questions.object(kind, namespace, name) if kind == "ConfigMap" else None
    if found is None:
        raise _Problem(
            Severity.ERROR,
            "helm-values-missing",
            f"values of the chart are in {values.reference}, which nothing here deploys",
        )
    data = found.get("data")
    if not isinstance(data, Mapping) or key not in data:
        raise _Problem(Severity.ERROR, "helm-values-missing", f"{values.reference} has no key {key}")
    return str(data[key])

"""Failures of rendering as remarks: a broken file of a repo is told, and stops nothing else."""

from pathlib import Path

from firstlight import errors
from firstlight.clients.helm import errors as helm_errors
from firstlight.clients.kustomize import errors as kustomize_errors
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark

_LONGEST = 400


def remark(error: errors.FirstlightError, place: Place, roots: tuple[Path, ...] = ()) -> Remark:
    """What an error says, at the file that is wrong if that is known.

    Args:
        error: What was raised.
        place: What is said to be wrong otherwise.
        roots: The repo and the private directory; both are taken out of messages.
    """
    if isinstance(error, kustomize_errors.KustomizeError):
        return Remark(
            _place(error, place, roots),
            Grade.ERROR,
            _line(f"kustomize: {error.detail}", roots),
            _line(error.hint, roots),
        )
    if isinstance(error, helm_errors.TemplateError) and error.place is not None:
        return Remark(place, Grade.ERROR, _line(f"{error.place}: {error.detail}", roots), _line(error.hint, roots))
    if isinstance(error, helm_errors.SchemaViolation) and error.problems:
        listed = "; ".join(f"{each.path} {each.message}" for each in error.problems[:5])
        return Remark(place, Grade.ERROR, _line(f"the chart does not take its values: {listed}", roots))
    return Remark(place, Grade.ERROR, _line(error.message, roots), _line(error.hint, roots))


def _place(error: kustomize_errors.KustomizeError, place: Place, roots: tuple[Path, ...]) -> Place:
    if error.path is None:
        return place
    path = error.path
    for root in roots:
        if path.is_relative_to(root):
            return Place(path.relative_to(root).as_posix(), error.line)
    return place if path.is_absolute() else Place(path.as_posix(), error.line)


def _line(text: str, roots: tuple[Path, ...]) -> str:
    for root in roots:
        text = text.replace(f"{root}/", "").replace(str(root), ".")
    text = " ".join(text.split())
    text = "".join(each if each.isprintable() else "?" for each in text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

"""The programs that render, how many of them run at once, and how long they take."""

import asyncio
import contextlib
import contextvars
import dataclasses
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import git_errors
from firstlight.clients.helm import Helm, helm_errors
from firstlight.clients.kustomize import Kustomize, kustomize_errors
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.render.chart_packages import NotCached

MINUTES = "FIRSTLIGHT_RENDER_MINUTES"
"""The variable that allows more time, or less."""
_MINUTES = 20.0
"""For everything that one command renders. The largest repo seen has 300 components and takes two minutes cold."""


@dataclasses.dataclass(frozen=True)
class RendererPrograms:
    """Where the programs are."""

    helm: Path
    kustomize: Path
    git: Path | None = None
    """Only for what comes from other repositories."""


@dataclasses.dataclass
class RenderSeconds:
    """Seconds that programs took for one rendering."""

    seconds: float = 0.0


spent: contextvars.ContextVar[RenderSeconds] = contextvars.ContextVar("spent")
"""Where the rendering that is under way counts its time."""


class RenderTools:
    """The programs, ready to run."""

    def __init__(
        self,
        programs: RendererPrograms,
        *,
        at_once: int = 0,
        minutes: float = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare them.

        Args:
            programs: Where they are.
            at_once: How many run at the same time; as many as there are cores if it is not given.
            minutes: For all of them together, from the first on; what the environment says if it is not given.
            clock: What time it is.
        """
        self._minutes = minutes or _minutes(os.environ.get(MINUTES, ""))
        self._clock = clock
        self._end: float | None = None
        self.helm = Helm(programs.helm)
        self.kustomize = Kustomize(programs.kustomize)
        self.kustomize_with_helm = Kustomize(programs.kustomize, helm=programs.helm)
        self._turns = asyncio.Semaphore(at_once or os.cpu_count() or 2)
        self.stamp = {name: _stamp(path) for name, path in (("helm", programs.helm), ("kustomize", programs.kustomize))}
        """What tells other versions of the programs from these, without starting them."""

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Held while a program runs, and never while something else is waited for.

        Raises:
            errors.TimedOut: The time for all of them is used up: each has its limit, but there may be thousands.
        """
        async with self._turns:
            self._end = self._clock() + self._minutes * 60 if self._end is None else self._end
            if self._clock() > self._end:
                raise errors.TimedOut(
                    f"it was not rendered: everything together took more than {self._minutes:g} min",
                    hint=f"see what took so long, or allow more: {MINUTES}={self._minutes * 3:g}",
                )
            begun = time.perf_counter()
            try:
                yield
            finally:
                if (counted := spent.get(None)) is not None:
                    counted.seconds += time.perf_counter() - begun


def _minutes(said: str) -> float:
    try:
        return float(said) if said and 0 < float(said) < 100_000 else _MINUTES
    except ValueError:
        return _MINUTES


def _stamp(path: Path) -> Mapping[str, str | int]:
    real = path.resolve()
    found = real.stat()
    return {"path": str(real), "size": found.st_size, "time": found.st_mtime_ns}


# Failures of rendering as diagnostics: a broken file of a repo is told, and stops nothing else.


_LONGEST = 400


def failure_diagnostic(error: errors.FirstlightError, place: Place, roots: tuple[Path, ...] = ()) -> Diagnostic:
    """What an error says, at the file that is wrong if that is known.

    Args:
        error: What was raised.
        place: What is said to be wrong otherwise.
        roots: The repo and the private directory; both are taken out of messages.
    """
    if isinstance(error, kustomize_errors.KustomizeError):
        return Diagnostic.error(
            _kustomize_code(error),
            _line(f"kustomize: {error.detail}", roots),
            at=_place(error, place, roots),
            fix=_line(error.hint, roots),
        )
    if isinstance(error, helm_errors.HelmTemplateError) and error.place is not None:
        return Diagnostic.error(
            "helm-template-wrong",
            _line(f"{error.place}: {error.detail}", roots),
            at=place,
            fix=_line(error.hint, roots),
        )
    if isinstance(error, helm_errors.SchemaViolation) and error.problems:
        listed = "; ".join(f"{each.path} {each.message}" for each in error.problems[:5])
        return Diagnostic.error(
            "helm-values-refused", _line(f"the chart does not take its values: {listed}", roots), at=place
        )
    return Diagnostic.error(_code(error), _line(error.message, roots), at=place, fix=_line(error.hint, roots))


def _kustomize_code(error: kustomize_errors.KustomizeError) -> str:
    match error:
        case kustomize_errors.MissingFile():
            return "kustomize-path-missing"
        case kustomize_errors.BadYaml():
            return "kustomize-yaml-wrong"
        case kustomize_errors.KustomizeCycle():
            return "kustomize-circle"
        case kustomize_errors.KustomizeForbidden():
            return "kustomize-forbidden"
        case kustomize_errors.KustomizeUnmatched():
            return "kustomize-target-missing"
        case kustomize_errors.KustomizeDuplicate():
            return "kustomize-object-twice"
        case kustomize_errors.KustomizeTooLarge() | errors.LimitExceeded() | errors.TimedOut():
            return "render-limit-exceeded"
        case _:
            return "kustomize-failed"


def _code(error: errors.FirstlightError) -> str:
    match error:
        case helm_errors.HelmTemplateError():
            return "helm-template-wrong"
        case helm_errors.SchemaViolation():
            return "helm-values-refused"
        case helm_errors.BadValues():
            return "helm-values-wrong"
        case helm_errors.BadChart():
            return "helm-chart-wrong"
        case helm_errors.ChartNotFound() | helm_errors.VersionNotFound():
            return "helm-chart-missing"
        case helm_errors.HelmTooLarge() | errors.LimitExceeded() | errors.TimedOut():
            return "render-limit-exceeded"
        case (
            errors.Unreachable() | helm_errors.HelmUnauthorised() | helm_errors.HelmUntrusted() | git_errors.GitError()
        ):
            return "fetch-failed"
        case NotCached():
            return "fetch-offline"
        case errors.Refused():
            return "render-refused"
        case _:
            return "render-failed"


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

"""Go's text/template with sprig's functions, as helmfile, Task and Argo CD use them: rendered, and nothing is run.

``render`` is strict: what is not known raises. ``render_leniently`` goes on, and says what was not known: values are
marked in the text (``settle`` finds the marks again after the YAML was read), and conditions are taken for true.

Functions that depend on the world (``env``, ``exec``, ``readFile``, ``now`` …) are not known unless the caller gives
them. A caller's function may raise ``NotKnown`` to say why it cannot tell.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.repo.go_template.builtin_functions import TemplateFunction
from firstlight.repo.go_template.go_format import NO_VALUE
from firstlight.repo.go_template.template_evaluation import KNOWN, Evaluation, MissingKey
from firstlight.repo.go_template.unknown_values import (
    GoTemplateError,
    NotKnownBeforeRun,
    TemplateLimitExceeded,
    Unknown,
    find,
    has_mark,
    remove_marks,
    restore,
    settle,
)

__all__ = [
    "KNOWN",
    "NO_VALUE",
    "GoTemplateError",
    "MissingKey",
    "NotKnownBeforeRun",
    "RenderedTemplate",
    "TemplateFunction",
    "TemplateLimitExceeded",
    "Unknown",
    "find",
    "has_mark",
    "remove_marks",
    "render",
    "render_leniently",
    "restore",
    "settle",
]

Functions = Mapping[str, Callable[..., Any] | TemplateFunction]


@dataclasses.dataclass(frozen=True, slots=True)
class RenderedTemplate:
    """A text, and what in it was not known."""

    text: str
    unknowns: tuple[Unknown, ...] = ()
    lines: tuple[int, ...] = ()
    """For every line of the text the line of the template that begins it."""

    def line(self, number: int) -> int:
        """The line of the template that begins a line of the text; both count from 1."""
        return self.lines[min(number, len(self.lines)) - 1] if self.lines and number > 0 else number


def render(
    text: str,
    data: Any,
    *,
    functions: Functions | None = None,
    missing_key: MissingKey = MissingKey.DEFAULT,
    braces: tuple[str, str] = ("{{", "}}"),
    definitions: Sequence[str] = (),
) -> str:
    """Render a template; ``definitions`` are texts whose ``define`` blocks it may use.

    Raises:
        TemplateError: It is wrong, or asks for what is not known (``NotKnown``), or for too much (``TooMuch``).
    """
    evaluation = Evaluation(
        data, functions=functions or {}, missing_key=MissingKey(missing_key), is_lenient=False, braces=braces
    )
    evaluation.define(definitions)
    return evaluation.run(text)


def render_leniently(
    text: str,
    data: Any,
    *,
    functions: Functions | None = None,
    missing_key: MissingKey = MissingKey.DEFAULT,
    braces: tuple[str, str] = ("{{", "}}"),
    definitions: Sequence[str] = (),
) -> RenderedTemplate:
    """Render a template as far as it is known.

    Raises:
        TemplateError: It cannot be parsed, or asks for too much.
    """
    evaluation = Evaluation(
        data, functions=functions or {}, missing_key=MissingKey(missing_key), is_lenient=True, braces=braces
    )
    evaluation.define(definitions)
    rendered = evaluation.run(remove_marks(text))
    return RenderedTemplate(rendered, tuple(evaluation.unknowns), tuple(evaluation.lines))

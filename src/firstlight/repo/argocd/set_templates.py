"""Templates of ApplicationSets: the plain ones with ``{{name}}``, and Go's."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.repo import go_template
from firstlight.repo.argocd import definitions
from firstlight.repo.argocd.read_scope import GeneratorFailed, GeneratorNotKnown, ReadBudget
from firstlight.repo.go_template import MissingKey, TemplateFunction, go_format

Params = Mapping[str, Any]

MAX_NAME = 253
_NOT_IN_NAMES = re.compile(r"[^-a-z0-9.]")
_NOT_IN_SLUGS = re.compile(r"[^a-zA-Z0-9\-_]")
_DASHES = re.compile(r"-+")


def normalised(name: str) -> str:
    """A name that Kubernetes takes, as Argo CD's ``normalize`` makes it."""
    return _NOT_IN_NAMES.sub("-", name.lower())[:MAX_NAME].strip("-.")


def slugified(*arguments: Any) -> str:
    """A short name for branches and the like, as Argo CD's ``slugify`` makes it."""
    size, is_smart = 50, True
    *options, name = arguments or ("",)
    if options and isinstance(options[0], int):
        size = options[0]
    if len(options) > 1:
        is_smart = bool(options[1])
    slug = normalised(definitions.text(name))
    if not is_smart:
        slug = slug[:size]
    slug = _DASHES.sub("-", _NOT_IN_SLUGS.sub("-", slug)).strip("-_")
    if not is_smart or size <= 0 or len(slug) <= size:
        return slug
    cut = slug.rfind("-", 0, size + 1)
    return slug[:cut] if cut >= 0 else slug[:size]


_FUNCTIONS: Mapping[str, TemplateFunction] = {
    "normalize": TemplateFunction("s", normalised),
    "slugify": TemplateFunction("a*", slugified),
}


class SetTemplates:
    """How the texts of one ApplicationSet are filled in."""

    def __init__(self, *, is_go: bool = False, options: Sequence[Any] = (), budget: ReadBudget | None = None) -> None:
        self.is_go = is_go
        self._budget = budget or ReadBudget()
        self._missing_key = MissingKey.DEFAULT
        for each in options:
            name, _, value = str(each).partition("=")
            if name == "missingkey":
                known = {"default": MissingKey.DEFAULT, "invalid": MissingKey.DEFAULT}
                self._missing_key = known.get(value, MissingKey.ZERO if value == "zero" else MissingKey.ERROR)

    def strict(self) -> "SetTemplates":
        """The same, with missing keys as errors."""
        return SetTemplates(is_go=self.is_go, options=["missingkey=error"], budget=self._budget)

    def text(self, text: str, params: Params) -> str:
        """One text.

        Raises:
            Failed: It cannot be filled in.
        """
        if "{{" not in text:
            return text
        if not self.is_go:
            return self._budget.write(_fast(text, params))
        try:
            with self._budget.measured():
                made = go_template.render(text, params, functions=_FUNCTIONS, missing_key=self._missing_key)
                return self._budget.write(made)
        except go_template.NotKnownBeforeRun as error:
            raise GeneratorNotKnown(_short(text, error.reason)) from None
        except go_template.GoTemplateError as error:
            raise GeneratorFailed(_short(text, error.reason)) from None

    def value(self, value: Any, params: Params) -> Any:
        """Every text in a value, names of fields too.

        Raises:
            Failed: One of them cannot be filled in.
        """
        if isinstance(value, str):
            return self.text(value, params)
        if isinstance(value, Mapping):
            return {
                self.text(key, params) if isinstance(key, str) else key: self.value(each, params)
                for key, each in value.items()
                if each is not None
            }
        return [self.value(each, params) for each in value] if isinstance(value, list) else value


def _fast(text: str, params: Params) -> str:
    """``{{name}}`` replaced by parameters that are texts; everything else stays as it is."""
    if not any("}}" in line.partition("{{")[2] for line in text.splitlines()):
        return text
    done: list[str] = []
    rest = text
    while True:
        before, opened, rest = rest.partition("{{")
        done.append(before)
        if not opened:
            return "".join(done)
        name, closed, rest = rest.partition("}}")
        if not closed:
            raise GeneratorFailed("a {{ is not closed")
        value = params.get(name.strip())
        done.append(value if name.strip() and isinstance(value, str) else "{{" + name + "}}")


def _short(text: str, reason: str) -> str:
    """A reason with the template it speaks of, if that is short."""
    shown = text.strip()
    return f"{shown}: {reason}" if len(shown) <= 80 and "\n" not in shown and shown.isprintable() else reason


def numbers_as_go(value: Any) -> Any:
    """A value as it comes from JSON in Go, where every number is a float."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): numbers_as_go(each) for key, each in value.items()}
    return [numbers_as_go(each) for each in value] if isinstance(value, list) else value


def flattened(value: Mapping[str, Any]) -> dict[str, str]:
    """A tree of parameters as ``a.b.0: text``, printed as Go prints it."""
    flat: dict[str, str] = {}
    _flatten(value, "", flat)
    return flat


def _flatten(value: Any, prefix: str, flat: dict[str, str]) -> None:
    if isinstance(value, Mapping):
        for key, each in value.items():
            _flatten(each, f"{prefix}.{key}" if prefix else str(key), flat)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            _flatten(each, f"{prefix}.{number}" if prefix else str(number), flat)
    else:
        flat[prefix] = printed(value)


def printed(value: Any) -> str:
    """A plain value as Go's ``%v`` prints it after it came through JSON."""
    return go_format.printed_text(numbers_as_go(value))

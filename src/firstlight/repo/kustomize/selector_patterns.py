"""Expressions in selectors, replacements and images of kustomizations, which match a whole text as in kustomize."""

from firstlight.document import go_regex
from firstlight.repo.kustomize.resources import KustomizationError


def matches(pattern: str, text: str) -> bool:
    """Say whether a pattern matches the whole of a text.

    Raises:
        KustomizationError: Go would not understand it.
    """
    try:
        return go_regex.fullmatch(pattern, text)
    except ValueError as error:
        raise KustomizationError.unknown(
            "kustomize-not-followed", f"the pattern {pattern[:80]!r} is not understood: {str(error)[:80]}"
        ) from None

"""What is done before anything else of a change: broken files are repaired, secrets encrypted, moved objects kept."""

import re
import shlex
from collections.abc import Iterable, Sequence

from firstlight.model.change import Change, Level, Matter
from firstlight.model.decision import Item, ProcedureStep

_HARMLESS = (Matter.DOCUMENTATION, Matter.TOOLING)
"""What stops nobody if it is broken."""
_MOVES = "moves-component"
_KEEP = (
    "whoever brought it until now may delete it, with its data, before the other one has it. In a change before this "
    "one give it the annotation kustomize.toolkit.fluxcd.io/prune: disabled (Flux) or "
    "argocd.argoproj.io/sync-options: Prune=false (Argo CD), and take that off afterwards"
)
_SHOWN = 4
_LONGEST = 250
"""Characters of a path that is tried."""
_SLOW = re.compile(r"\)[*+{?]|(?:[*+{].*){4}|\\[0-9]", re.DOTALL)
"""Expressions that may take for ever: they are whoever's who wrote the repo."""


def steps(items: Sequence[Item], *, sops: Sequence[str] = ()) -> tuple[ProcedureStep, ...]:
    """The first steps, broken files before all others.

    Args:
        items: What is decided.
        sops: Expressions for the paths that sops has keys for; an empty one is for all.
    """
    changes = [each.change for each in items if each.change.level is Level.SOURCE]
    broken = [each for each in changes if each.broken and each.matter not in _HARMLESS]
    clear = [each for each in changes if any(field.is_clear for field in each.fields)]
    return (
        *dict.fromkeys(ProcedureStep(side=None, text=f"repair {each.place}: {each.broken}") for each in broken),
        *(_encrypted(each, sops) for each in _once(clear)),
        *_kept([each for each in items if each.change.level is Level.SOURCE]),
    )


def _kept(items: Sequence[Item]) -> Iterable[ProcedureStep]:
    """What another Kustomization or Application brings from now on, and the old one must not delete."""
    moved = [
        each.change.title
        for each in items
        if any(factor.id == _MOVES for ruling in each.rulings for factor in ruling.factors)
    ]
    names = list(dict.fromkeys(moved))
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield ProcedureStep(side=None, text=f"{', '.join(names[:_SHOWN])}{more}: {_KEEP}")


def _once(changes: Iterable[Change]) -> Iterable[Change]:
    """One of each file: it is encrypted as a whole."""
    return {each.place.path: each for each in changes}.values()


def _encrypted(change: Change, sops: Sequence[str]) -> ProcedureStep:
    path = change.place.path
    if change.matter is Matter.KUSTOMIZE:
        text = f"what {path} makes a Secret of comes from an encrypted file; until then nothing is pushed"
        return ProcedureStep(side=None, text=text)
    text = f"{path} is encrypted, or an ExternalSecret takes its place; until then nothing is pushed"
    found = [_fits(each, path) for each in sops]
    if any(found) and not path.startswith("-"):
        return ProcedureStep(side=None, text=text, command=f"sops --encrypt --in-place {shlex.quote(path)}")
    is_unknown = bool(found) and None not in found
    return ProcedureStep(side=None, text=f"{text} (.sops.yaml has no rule for this path)" if is_unknown else text)


def _fits(expression: str, path: str) -> bool | None:
    """Whether an expression fits a path; None where nobody can say."""
    if len(path) > _LONGEST or _SLOW.search(expression):
        return None
    try:
        return re.search(expression, path) is not None
    except re.error:  # Go has others
        return None

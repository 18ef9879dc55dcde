"""What a finding leads to where an edit alone does not do: steps in their order, and the files that go with them."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence

from firstlight.model.decision import ProcedureStep
from firstlight.model.finding import FileEdit, Finding
from firstlight.repo.platform_view import PlatformView


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """The way from a finding to a platform without it."""

    rule: str
    title: str
    steps: tuple[ProcedureStep, ...] = ()
    edits: tuple[FileEdit, ...] = dataclasses.field(default=(), repr=False)
    """What is written to the repo, to be reviewed."""
    refused: tuple[str, ...] = ()
    """What stands in the way, each in a sentence; then there is nothing to do but that."""
    open_questions: tuple[str, ...] = ()
    """What only a person can say."""


# What findings lead to: for some rules a function that makes a remedy of them, in ``remedies``, a file a subject.


RemedyMaker = Callable[[PlatformView, Sequence[Finding]], Remedy]
_PACKAGE = "firstlight.commands.audit.remedies"


def known_remedies() -> Mapping[str, RemedyMaker]:
    """By the id of the rule; each file of ``remedies`` has a ``REMEDIES`` of its own."""
    try:
        package = importlib.import_module(_PACKAGE)
    except ImportError:
        return {}
    found: dict[str, RemedyMaker] = {}
    for each in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{_PACKAGE}.{each.name}")
        found |= getattr(module, "REMEDIES", {})
    return found


def remedy_of(rule: str, scene: PlatformView, findings: Sequence[Finding] = ()) -> Remedy | None:
    """What findings of a rule lead to; None for a rule without a remedy."""
    making = known_remedies().get(rule)
    return making(scene, findings) if making else None

"""What findings lead to: for some rules a function that makes a remedy of them, in ``remedies``, a file a subject."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence

from firstlight.model.finding import Finding
from firstlight.model.remedy import Remedy
from firstlight.policy.auditing.scene import Scene

Making = Callable[[Scene, Sequence[Finding]], Remedy]
_PACKAGE = "firstlight.policy.auditing.remedies"


def known() -> Mapping[str, Making]:
    """By the id of the rule; each file of ``remedies`` has a ``REMEDIES`` of its own."""
    try:
        package = importlib.import_module(_PACKAGE)
    except ImportError:
        return {}
    found: dict[str, Making] = {}
    for each in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{_PACKAGE}.{each.name}")
        found |= getattr(module, "REMEDIES", {})
    return found

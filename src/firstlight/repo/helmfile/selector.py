"""Selectors of sub-helmfiles: ``name=value,other!=value``."""

from collections.abc import Mapping, Sequence


def selects(selectors: Sequence[str], labels: Mapping[str, str]) -> bool:
    """Whether one of the selectors fits; without any, everything is selected."""
    return not selectors or any(_fits(each, labels) for each in selectors)


def _fits(selector: str, labels: Mapping[str, str]) -> bool:
    for part in selector.split(","):
        if "!=" in part:
            name, _, value = part.partition("!=")
            if labels.get(name) == value:
                return False
        else:
            name, _, value = part.partition("=")
            if labels.get(name) != value:
                return False
    return True

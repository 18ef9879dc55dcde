"""Label selectors, as generators, clusters and rolling steps use them."""

from collections.abc import Mapping
from typing import Any

from firstlight.repo.argocd.definition import items, mapping, text


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a selector takes labels; an empty one takes all."""
    wanted = {str(key): text(value) for key, value in mapping(selector.get("matchLabels")).items()}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(fits(mapping(each), labels) for each in items(selector.get("matchExpressions")))


def fits(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether one expression holds; an operator that is not known never does."""
    key, values = text(expression.get("key")), [text(each) for each in items(expression.get("values"))]
    match text(expression.get("operator")):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False

"""Quantities of Kubernetes: ``0.1`` and ``100m`` are the same."""

import re
from decimal import Decimal

_QUANTITY = re.compile(r"([+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20}))(?:([numkKMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?")
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def value(text: object) -> Decimal | None:
    """The number that a quantity means; None for what is none."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        return None
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        return None
    number, suffix, exponent = Decimal(match[1]), match[2] or "", match[3]
    if exponent:
        return number.scaleb(int(exponent))
    if suffix in _BINARY:
        return number * Decimal(1024) ** _BINARY[suffix]
    return None if suffix and suffix not in _POWERS else number.scaleb(_POWERS.get(suffix, 0))

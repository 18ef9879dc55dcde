"""Whether a number, a quantity of Kubernetes or a time grows."""

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from firstlight.plan import quantity

_TIMES = re.compile(r"(?:(\d{1,20}(?:\.\d{1,20})?)(ms|us|ns|s|m|h|d|w|y))")
_SECONDS = {
    "ns": Decimal("1e-9"), "us": Decimal("1e-6"), "ms": Decimal("1e-3"), "s": Decimal(1), "m": Decimal(60),
    "h": Decimal(3600), "d": Decimal(86400), "w": Decimal(604800), "y": Decimal(31536000),
}  # fmt: skip


def grows(before: Any, after: Any) -> bool | None:
    """Whether something grows; None where that cannot be said, or nothing differs."""
    for parse in (_quantity, _time):
        old, new = _parsed(parse, before), _parsed(parse, after)
        if old is not None and new is not None:
            return None if old == new else new > old
    return None


def _parsed(parse: Callable[[str], Decimal | None], value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = parse(str(value).strip()) if isinstance(value, str) else Decimal(str(value))
    except InvalidOperation:
        return None
    return found if found is not None and found.is_finite() else None


def _quantity(text: str) -> Decimal | None:
    found = quantity.value(text.removesuffix("%"))
    return found / 100 if found is not None and text.endswith("%") else found


def _time(text: str) -> Decimal | None:
    """A time as Go and Prometheus write it: ``1h30m``, ``15d``."""
    if not text or _TIMES.sub("", text):
        return None
    return sum((Decimal(number) * _SECONDS[unit] for number, unit in _TIMES.findall(text)), Decimal(0))

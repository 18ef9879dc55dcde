"""A duration as people type it: ``90s``, ``30m``, ``1h30m``."""

import re
from typing import Any

import click

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_WHOLE = re.compile(r"([0-9]{1,6}[smhd])+")
_PART = re.compile(r"([0-9]+)([smhd])")


class DurationType(click.ParamType[float]):
    """The seconds of a duration."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        if isinstance(value, float):
            return value
        if not _WHOLE.fullmatch(str(value)):
            self.fail(f"{str(value)[:40]!r} is no duration; write 90s, 30m or 1h30m", param, ctx)
        return sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(value))


SECONDS = DurationType()
PHASES = ("machine", "inline", "crds", "core", "engine", "handover", "gitops")

offline_option = click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")

"""Which Flux runs, as far as a repo says it: its version, and the feature gates of its controllers."""

import json
import re
from collections.abc import Iterable, Iterator

from firstlight.model.component import Origin, SourceForm
from firstlight.model.flux_names import INSTANCE_CHART
from firstlight.model.source import ChartSource

_VERSION = re.compile(r"(?P<floor>>=?|\^|~)?\s*v?(?P<major>\d+)\.(?P<minor>\d+)\b(?P<rest>.*)")
STRICT_SUBSTITUTION = "StrictPostBuildSubstitutions"
STRICT_SINCE = (2, 9)
"""The version from which that gate is on by default."""
CHART_DIGEST = "DisableChartDigestTracking"


def is_at_least(version: str, wanted: tuple[int, int]) -> bool | None:
    """Whether a version, or every version of a range, is as new; None where that cannot be told."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    stated = int(match["major"]), int(match["minor"])
    if stated >= wanted:
        return True
    # A range without an upper end may have reached it since.
    return None if (match["floor"] or "").startswith((">", "^")) or match["rest"].strip(".x0123456789-*") else False


def gate(texts: Iterable[str], name: str) -> bool | None:
    """The value of a feature gate in arguments of controllers, the last one said; None where nothing says it."""
    found = None
    pattern = re.compile(rf"--feature-gates=[^\s\"'\]\\]*\b{name}=(?P<value>true|false)")
    for text in texts:
        for match in pattern.finditer(text):
            found = match["value"] == "true"
    return found


def texts(origins: Iterable[Origin]) -> Iterator[str]:
    """What a repo writes of Flux itself: its instance, the values of the instance's chart, what patches its parts."""
    for origin in origins:
        if origin.form in (SourceForm.FLUX_INSTANCE, SourceForm.FLUX_COMPONENTS):
            yield json.dumps([origin.definition, origin.maker], default=str)
        elif isinstance(origin.source, ChartSource) and origin.source.name.rpartition("/")[2] == INSTANCE_CHART:
            yield json.dumps([each.inline for each in origin.source.values], default=str)

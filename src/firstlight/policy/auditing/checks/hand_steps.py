"""Steps of bootstrap that change a cluster by hand, so that no file says what it is to be."""

import re
import shlex
from collections.abc import Iterator

from firstlight.policy.auditing import script_ranges
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_VERBS = "scale|patch|annotate|label|edit|taint|delete|set (?:env|image|resources)|rollout restart"
_CHANGES = re.compile(rf"\bkubectl\b(?:\s+--?\w[\w-]*(?:=\S+| (?!-)\S+)?)*\s+({_VERBS})\b(?!-)(.*)")
_NAME = re.compile(r"[a-z][a-z0-9./-]{0,80}")
_HARMLESS = re.compile(r"--dry-run|^\s*(?:pods?|po|jobs?)\b")
"""What others make again: to delete a Job is the way to run it once more."""


def in_bootstrap(scene: Scene) -> Iterator[Hit]:
    """Commands of bootstrap's scripts that change what is there."""
    for cluster in scene.clusters:
        for place, line in script_ranges.lines(scene, cluster.name):
            match = _CHANGES.search(line)
            if match is None or _HARMLESS.search(match[2]):
                continue
            yield Hit(
                message=f"bootstrap changes {_what(match[2])} by hand: kubectl {match[1]}",
                place=place,
                clusters=(cluster.name,),
                fix="Say in a manifest, in the chart's values or in Git what it is to be, and take this command away.",
            )


def _what(arguments: str) -> str:
    """The kind or name that a command is about; nothing that could be a value."""
    try:
        words = shlex.split(arguments.rstrip("\\ "))
    except ValueError:
        return "something"
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-"):
            return word if _NAME.fullmatch(word) else "something"
        is_value = word.startswith("-") and "=" not in word and not is_value
    return "something"

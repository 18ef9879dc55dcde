"""What machines would do with the configs of the repo, as text and as data."""

from collections.abc import Mapping
from typing import Any

from firstlight.model.node import ConfigSight, Equality
from firstlight.report import decision_words, safe, table


def text(found: Mapping[str, ConfigSight], *, columns: int = 0) -> str:
    """Each machine in its turn: whether it reboots, and field by field what changes."""
    lines: list[str] = []
    for number, (name, sight) in enumerate(found.items(), 1):
        lines.append(f"{number:>3}  {safe.name(name)}   {_effect(sight)}")
        for each in sight.fields:
            shown = f"       {safe.name(decision_words.field(each))}"
            lines.append(table.cut(shown, columns) if columns else shown)
    return "\n".join(lines)


def data(cluster: str, found: Mapping[str, ConfigSight], *, revision: str) -> dict[str, Any]:
    """The same for programs, in the order of the machines."""
    return {
        "cluster": cluster,
        "revision": revision,
        "machines": [
            {
                "name": name,
                "config": str(sight.equality),
                "reboot": sight.needs_reboot,
                "reason": sight.reason,
                "fields": [
                    {
                        "path": each.path,
                        "verb": str(each.verb),
                        "secret": each.is_secret,
                        "shown": decision_words.field(each),
                    }
                    for each in sight.fields
                ],
            }
            for name, sight in found.items()
        ],
    }


def _effect(sight: ConfigSight) -> str:
    match sight.equality:
        case Equality.EQUAL:
            return "has it already"
        case Equality.DIFFERENT:
            why = f": {safe.name(sight.reason.splitlines()[0])}" if sight.reason else ""
            return f"reboots{why}" if sight.needs_reboot else "without a reboot"
        case Equality.PENDING | Equality.UNKNOWN:
            return safe.name(sight.reason)

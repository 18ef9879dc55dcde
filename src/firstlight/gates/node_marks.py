"""The mark that firstlight leaves on a node that it works on, as an annotation has it."""

import json
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import text
from firstlight.model.draining import MARK, Mark


def of(node: Mapping[str, Any]) -> Mark | None:
    """The mark on a node; None where there is none, or none that can be read."""
    try:
        said = json.loads(text(node, "metadata", "annotations", MARK) or "null")
    except ValueError:
        return None
    if not isinstance(said, Mapping):
        return None
    return Mark(command=text(said, "command"), boot=text(said, "boot"), is_ours=said.get("cordoned") is True)


def written(mark: Mark) -> str:
    """The annotation's value."""
    return json.dumps({"command": mark.command, "boot": mark.boot, "cordoned": mark.is_ours})


def is_cordoned(node: Mapping[str, Any]) -> bool:
    """Whether nothing new is scheduled on a node."""
    spec = node.get("spec")
    return isinstance(spec, Mapping) and spec.get("unschedulable") is True


def boot(node: Mapping[str, Any]) -> str:
    """The boot that a node lives in, as its kubelet tells."""
    return text(node, "status", "nodeInfo", "bootID")


# A node in maintenance:
#
# metadata:
#   annotations:
#     firstlight.dev/maintenance: '{"command": "node maintain", "boot": "7b0f4d3c-…", "cordoned": true}'
# spec:
#   unschedulable: true

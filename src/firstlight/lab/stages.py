"""kwok's stages for a lab: ``stages.yaml`` with the settings filled in."""

import re
from pathlib import Path

import msgspec

from firstlight.lab import settings as lab_settings
from firstlight.lab.simulations import egress
from firstlight.tools import catalogue

_TEMPLATE = Path(__file__).with_name("stages.yaml")


HEARTBEAT = 10.0
"""Seconds between two signs of life of a kubelet."""


def render(wanted: lab_settings.Settings, *, heartbeat: float = HEARTBEAT) -> str:
    """The configuration file that kwok reads."""
    # Kubelets are as old as the API server that the lab runs.
    version = catalogue.load().get("kube-apiserver").version
    # Where nodes can be off, nothing starts on them before the simulator has said that it may.
    sandbox = '"False"' if wanted.machines else '{{ if .spec.hostNetwork }}"True"{{ else }}"False"{{ end }}'
    return (
        _TEMPLATE.read_text()
        .replace("@pullMilliseconds@", str(round(wanted.pull_seconds * 1000)))
        .replace("@kubernetesVersion@", f"v{version}")
        .replace("@imageState@", _image_state(wanted.broken_images))
        .replace("@sandbox@", sandbox)
        .replace("@kubeletPort@", str(egress.KUBELET_PORT))
        .replace("@heartbeat@", str(round(heartbeat * 1000)))
        .replace("@latestHeartbeat@", str(round(heartbeat * 1200)))
    )


def _image_state(broken: tuple[str, ...]) -> str:
    """A jq expression that is ``broken`` for pods with an image that matches a glob, ``fine`` for others."""
    if not broken:
        return '"fine"'
    regex = msgspec.json.encode("^(" + "|".join(map(_pattern, broken)) + ")$").decode()
    quoted = regex.replace("'", "''")
    is_broken = f"[(.spec.initContainers[]?, .spec.containers[]) | .image | test({quoted})] | any"
    return f'if {is_broken} then "broken" else "fine" end'


def _pattern(glob: str) -> str:
    """A glob for RE2, which does not know what ``fnmatch.translate`` writes."""
    return "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in glob)

"""Installer images in another version: everything stays but the tag, so that no extension is lost."""

import re

from firstlight.model.node_upgrade import MachineNow, Refusal
from firstlight.policy.upgrading import version as versions

_FACTORY = re.compile(r"/(?:[a-z-]*installer(?:-secureboot)?)/(?P<id>[0-9a-f]{64})$")
INSTALLER = "ghcr.io/siderolabs/installer"


def in_version(image: str, version: str) -> str:
    """The same installer in another version."""
    name, _, tag = _parts(image)
    return f"{name}:{versions.written(version)}" if tag and tag != versions.written(version) else image


def schematic(image: str) -> str:
    """The id of the factory's schematic in an image; empty where it is none of the factory's."""
    match = _FACTORY.search(_parts(image)[0])
    return match["id"] if match else ""


def refusals(now: MachineNow, version: str) -> list[Refusal]:
    """Why a machine must not be upgraded with the image that its declaration comes to."""
    name, digest, tag = _parts(now.image)
    own = now.machine.name
    if not now.image:
        message = f"{own}: nothing says which installer it gets"
        return [Refusal(message, f"Declare machine.install.image, or talos: {versions.written(version)}.")]
    if digest and tag != versions.written(version):
        message = f"{own}: its installer is pinned to a digest ({now.image})"
        return [Refusal(message, f"Write the image of {versions.written(version)} with its digest into {_where(now)}.")]
    if not tag:
        return [Refusal(f"{own}: its installer has no version ({now.image})", f"Write {name}:vX.Y.Z in {_where(now)}.")]
    found = []
    declared, runs = schematic(now.image), now.schematic
    if now.extensions and not declared and name == INSTALLER:
        what = ", ".join(now.extensions[:3]) + (" …" if len(now.extensions) > 3 else "")
        message = f"{own} would lose its extensions ({what}): the repo declares {now.image}, which has none"
        found.append(Refusal(message, f"Declare the schematic or image that it was installed from{_known(runs)}."))
    return found


def warnings(now: MachineNow) -> list[str]:
    """What differs between what a machine has and what the repo would install, besides the version."""
    declared, runs = schematic(now.image), now.schematic
    if declared and runs and declared != runs:
        return [f"{now.machine.name} gets another schematic: {declared[:12]}…, and it runs {runs[:12]}…"]
    if declared or runs or not now.installed or _parts(now.image)[0] == _parts(now.installed)[0]:
        return []
    return [f"{now.machine.name} gets another installer: {now.image}, and its config names {now.installed}"]


def _where(now: MachineNow) -> str:
    return str(now.machine.place)


def _known(id: str) -> str:
    return f" (schematic {id})" if id else ""


def _parts(image: str) -> tuple[str, str, str]:
    """The name, the digest and the tag of an image."""
    rest, _, digest = image.partition("@")
    name, _, tag = rest.rpartition(":")
    return (name, digest, tag) if name and "/" not in tag else (rest, digest, "")

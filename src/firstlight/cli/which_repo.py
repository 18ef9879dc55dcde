"""Which repo a command means: the option, and what is read from there."""

import dataclasses
from pathlib import Path

from firstlight import errors
from firstlight.drawing import safe
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.repo import platform_reader, work_tree

_SHOWN = 5


def platform(root: Path | None, *, as_it_is: bool = False) -> Platform:
    """Everything that the repo describes.

    Args:
        root: What was typed.
        as_it_is: Also where firstlight.yaml is wrong; to plan without it would be to plan something else.

    Raises:
        errors.Refused: firstlight.yaml is wrong.
    """
    # Paths in a repo are written from its top, so that is where reading begins, unless a firstlight.yaml is nearer; a
    # directory that is named is meant.
    found = platform_reader.read(work_tree.top(Path()) if root is None else root)
    if found.is_misdeclared and not as_it_is:
        raise errors.Refused(
            "\n".join(["firstlight.yaml is wrong", *_wrong(found)]), hint="All of it: firstlight inventory"
        )
    return found


def _wrong(platform: Platform) -> list[str]:
    """The first few mistakes in firstlight.yaml, with their places."""
    path = platform.declared.path if platform.declared is not None else "firstlight.yaml"
    found = [each for each in platform.diagnostics if each.severity == Severity.ERROR and each.place.path == path]
    return [safe.text(f"  {each.place}: {each.message}. {each.fix}".rstrip()) for each in found[:_SHOWN]]


def only(platform: Platform, cluster: str) -> Platform:
    """The platform with one cluster alone.

    Raises:
        errors.UsageError: There is no such cluster.
    """
    if not cluster:
        return platform
    if platform.cluster(cluster) is None:
        names = ", ".join(each.name for each in platform.clusters)
        raise errors.UsageError(f"there is no cluster {cluster}", hint=f"There is {names}." if names else "")
    return dataclasses.replace(
        platform,
        clusters=tuple(each for each in platform.clusters if each.name == cluster),
        components=platform.components_of(cluster),
    )

"""Compare both sides of a repo's components, and print what differs."""

import difflib
from pathlib import Path

from firstlight import errors
from firstlight.cli import output, renderers, which_repo
from firstlight.commands.boundary import text
from firstlight.drawing import table
from firstlight.model.boundary import Boundary, BoundaryStanding
from firstlight.model.component import Component, Side
from firstlight.model.platform import Platform
from firstlight.plan import boundary as plan_boundary

FAILED, DIFFERENT = 1, 2


def show(root: Path | None, cluster: str, *, component: str, everything: bool, offline: bool, form: str) -> int:
    """Print where bootstrap and GitOps differ; return the exit code."""
    platform = which_repo.only(which_repo.platform(root), cluster)
    found = _compared(platform, _hybrids(platform, component), offline=offline)
    found += _staying(platform, component)
    if form == "json":
        output.write_json(text.data(found))
    else:
        print(text.text(found, columns=table.terminal_columns(), everything=everything))
    if any(item.standing != BoundaryStanding.EQUAL for each in found for item in each.objects):
        return DIFFERENT
    return 0 if all(each.is_equal for each in found) else FAILED


def _hybrids(platform: Platform, name: str) -> list[Component]:
    """The components that both sides apply."""
    both = [each for each in platform.components if all(each.halves)]
    if not name:
        return both
    found = [each for each in both if each.name == name]
    if found or _staying(platform, name):
        return found
    names = {each.name for each in platform.components}
    if name in names:
        raise errors.UsageError(f"{name} is applied by one side only")
    near = difflib.get_close_matches(name, sorted(names), n=3)
    raise errors.UsageError(f"there is no component {name}", hint=f"There is {', '.join(near)}." if near else "")


def _staying(platform: Platform, name: str) -> list[Boundary]:
    """The components that only bootstrap applies and Talos keeps: an upgrade still does something with them."""
    found = []
    for each in platform.components:
        cluster = platform.cluster(each.cluster)
        if cluster is not None and not all(each.halves) and name in ("", each.name):
            found += [one] if (one := plan_boundary.staying(cluster, each)) is not None else []
    return found


def _compared(platform: Platform, both: list[Component], *, offline: bool) -> list[Boundary]:
    if not both:
        return []
    renditions = {
        (each.cluster, each.component, each.side): each
        for each in renderers.rendered(platform, wanted=True, offline=offline, components=both)
    }
    found = []
    for component in both:
        cluster = platform.cluster(component.cluster)
        sides = [renditions.get((component.cluster, component.name, side)) for side in (Side.BOOTSTRAP, Side.GITOPS)]
        if cluster is not None and sides[0] is not None and sides[1] is not None:
            found.append(plan_boundary.of(cluster, component, sides[0], sides[1]))
    return found

"""What Helm has to do for a component that bootstrap keeps, and whose each of its objects is then."""

import dataclasses
from collections.abc import Iterable, Sequence

from firstlight import errors
from firstlight.model.component import Component, Side
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.remark import Grade
from firstlight.model.rendition import Object
from firstlight.model.work import Install, Installation
from firstlight.operate.deciding.renditions import Half, Opener, opened
from firstlight.ownership import claims, managers
from firstlight.plan.facts import Facts

BOOTSTRAP = ObjectOwner(Party.BOOTSTRAP)


async def of(
    components: Sequence[Component], known: Facts, *, half: Half, open_renderer: Opener
) -> dict[str, Install]:  # fmt: skip
    """The releases of components, from the same chart with the same values as the HelmReleases have.

    Hooks are not run: everything is as it was, and a hook may delete what it made before.

    Args:
        components: Those that a HelmRelease has in Git.
        known: The facts of the cluster, with what was rendered.
        half: The repo as it is to be.
        open_renderer: How it is rendered.

    Raises:
        errors.Refused: Helm cannot install one.
    """
    if not components:
        return {}
    from firstlight.render import installations

    found: dict[str, Install] = {}
    async with opened(half, "move", open_renderer) as renderer:
        for each in components:
            releases, beside, remarks = await installations.installations(renderer, each, Side.BOOTSTRAP)
            wrong = next((one for one in remarks if one.grade == Grade.ERROR), None)
            if wrong is not None or not releases:
                why = wrong.message if wrong is not None else "it has no chart"
                raise errors.Refused(f"Helm cannot install {each.name}: {why}", hint=wrong.hint if wrong else "")
            found[each.name] = Install(
                releases=tuple(dataclasses.replace(one, hooks_disabled=True) for one in releases),
                objects=known.objects(each, Side.BOOTSTRAP), beside=beside, manager=managers.FIRSTLIGHT, is_kept=True,
            )  # fmt: skip
    return found


def kept(objects: Iterable[Object], component: Component, task: Install | None) -> list[Passing]:
    """Objects that bootstrap is to keep, each with who has it then: firstlight itself, or Helm.

    CRDs come before everything, and are firstlight's, whichever way a chart brings them.

    Args:
        objects: What the component deploys.
        component: Which it is.
        task: What Helm has to do for it; None where it is no release.
    """
    found = []
    beside = {each.id for each in task.beside} if task is not None else set()
    for each in objects:
        if task is None or each.is_crd or each.id in beside:
            found.append(
                Passing(object=each, component=component.name, manager=managers.FIRSTLIGHT, owner=BOOTSTRAP)
            )  # fmt: skip
        elif not claims.is_hook(each.value):
            owner = owner_of(task.releases[0])
            found.append(Passing(object=each, component=component.name, manager=managers.HELM, owner=owner))
    return found


def owner_of(release: Installation) -> ObjectOwner:
    """Who has the objects of a release that bootstrap keeps."""
    return ObjectOwner(Party.HELM, f"release {release.namespace}/{release.name}")

"""What was typed as a scope, as the cluster knows it: components by what owns them, objects by their kinds."""

from __future__ import annotations

from firstlight import errors
from firstlight.clients import kube
from firstlight.engines import adapters
from firstlight.execute.overrides import restore
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId, Side, SourceForm
from firstlight.model.platform import Platform
from firstlight.plan import final_owners

_FORMS = tuple(SourceForm(each) for each in adapters.SUSPENDABLE)


def owners_of(platform: Platform, cluster: Cluster, component: str) -> tuple[str, ...]:
    """The Kustomizations, HelmReleases or Applications that own a component.

    Raises:
        errors.UsageError: There is no such component.
        errors.Refused: No engine owns it.
    """
    everything = platform.components_of(cluster.name)
    found = next((each for each in everything if each.name == component), None)
    if found is None:
        names = ", ".join(sorted(each.name for each in everything))
        raise errors.UsageError(f"there is no component {component} in {cluster.name}", hint=f"There is {names}.")
    mine = [each for each in found.origins if each.side is Side.GITOPS and each.form in _FORMS]
    if not mine:
        raise errors.Refused(
            f"no engine owns {component}: nothing of it could rest",
            hint="Name the objects that you will change: --object Deployment/shop/web",
        )
    return tuple(dict.fromkeys(final_owners.owner_name(each) for each in mine))


async def object_named(written: str, client: kube.Client) -> ObjectId:
    """The object that ``Kind/namespace/name``, ``Kind/name`` or ``Kind.group/namespace/name`` means.

    Raises:
        errors.UsageError: It is written in another way, or the kind is not known, or several have that name.
        errors.ClientError: The API does not answer.
    """
    parts = written.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise errors.UsageError(
            f"{written!r:.100} is no object",
            hint="Write Deployment/shop/web, or ClusterRole/admin without a namespace.",
        )
    kind, _, group = parts[0].partition(".")
    served = await restore.all_versions(client)
    groups = sorted(
        each for each, one in served if one.lower() == kind.lower() and (not group or each == group)
    )  # fmt: skip
    if not groups:
        raise errors.UsageError(f"the server knows no kind {parts[0]}", hint="Write it as in manifests: Deployment")
    if len(groups) > 1 and "" not in groups and "apps" not in groups:
        choice = " or ".join(f"{kind}.{each}" for each in groups)
        raise errors.UsageError(f"there are several kinds {kind}", hint=f"Write {choice}.")
    chosen = next((each for each in ("", "apps") if each in groups), groups[0])
    exact = next(one for each, one in served if each == chosen and one.lower() == kind.lower())
    resource = await client.resource(served[chosen, exact], exact)
    if resource.is_namespaced != (len(parts) == 3):
        form = f"{exact}/NAMESPACE/NAME" if resource.is_namespaced else f"{exact}/NAME"
        raise errors.UsageError(f"{written} names no {exact}", hint=f"Write {form}.")
    return ObjectId(chosen, exact, parts[1] if len(parts) == 3 else "", parts[-1])

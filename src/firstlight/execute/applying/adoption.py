"""Whether an engine has taken over what Helm would write or delete."""

from firstlight.clients import kube
from firstlight.execute.applying import helm_releases
from firstlight.execute.applying.helm_releases import Kept
from firstlight.execute.applying.observing import observe
from firstlight.model import work
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object
from firstlight.ownership import claims, engine_marks
from firstlight.ownership.engine_marks import Mark

_SHARED = ("CustomResourceDefinition", "Namespace")


async def adopter(
    release: work.Installation, kept: Kept | None, task: work.Install, client: "kube.Client"
) -> Mark | None:
    """The engine's mark on an object of a release, as it is or as it is to be; None if no object has one.

    Args:
        release: What Helm is to write.
        kept: Its last revision.
        task: Which it is of: only of all releases together is it known what they will bring.
        client: The API.

    Raises:
        errors.ClientError: The server does not say.
    """
    name, namespace = release.name, release.namespace
    apart = {_key(each, namespace) for each in task.beside}
    for other in task.releases:
        if other is not release and (theirs := await helm_releases.last(client, other.name, other.namespace)):
            apart |= {_key(each, other.namespace) for each in theirs.objects(other.name, other.namespace)}
    # CRDs come before everything, and from elsewhere; a namespace may well be Git's before what goes into it.
    wanted = {_key(each, namespace): each for each in task.objects if _counts(each, task)}
    objects = {key: each for key, each in wanted.items() if key not in apart}
    revisions = [kept] if kept is not None else []
    if kept is not None and kept.status != "deployed":
        # Helm goes on from the last revision that was deployed, and deletes what is no more of that.
        deployed = await helm_releases.last(client, name, namespace, status="deployed")
        revisions += [deployed] if deployed is not None else []
    for revision in revisions:
        objects |= {_key(each, namespace): each for each in revision.objects(name, namespace)}
    for seen in await observe(objects.values(), client, namespace=namespace):
        # As Argo CD's manager bootstrap applies nothing of a release: so all that is that manager's is Argo CD's.
        if seen.live is not None and (mark := engine_marks.of(seen.live)):
            return mark
    return None


def _counts(obj: Object, task: work.Install) -> bool:
    """Whether an object tells whose a release is: what is shared does not, nor what an engine's hook has left."""
    return obj.id.kind not in _SHARED and not (task.is_kept and claims.is_hook(obj.value))


def _key(obj: Object, namespace: str) -> ObjectId:
    """An object, whether or not it names the namespace that it goes to anyway."""
    id = obj.id
    return ObjectId(id.group, id.kind, id.namespace or namespace, id.name)

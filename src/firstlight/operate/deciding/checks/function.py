"""Whether what was changed does its work: Services have somebody who answers, and routes answer."""

from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.gates import endpoints
from firstlight.model.decision import Decision
from firstlight.model.rendition import Object
from firstlight.observe.watching import Watching
from firstlight.operate.deciding.checks import routes
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note

_FAILING = 500
_NONE = "there is no Service and no route to ask"
_TRY = "try what it is for, as its users do"


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """Services by their endpoints, routes by asking them; what neither tells is for a person."""
    touched = scenes.touched(decision)
    objects = [
        each for one in touched for each in scene.after.objects(one.cluster, one.component).values()
        if scene.is_reached(one.cluster)
    ]  # fmt: skip
    if scene.client is None:
        return [note.skipped(scene.unreached)]
    notes = [*await _services(objects, scene.client), *await _routes(objects, scene)]
    if notes:
        return notes
    return [note.person(_NONE, todo=_TRY) if touched else note.skipped(_NONE)]


async def _services(objects: list[Object], client: kube.Client) -> list[Note]:
    services = [each for each in objects if _has_endpoints(each)]
    looks = {each.id: endpoints.slices(each.id.namespace, each.id.name) for each in services}
    async with Watching(client) as watching:
        view = await watching.view(looks.values())
    notes, answering = [], list[str]()
    for each in services:
        name = f"{each.id.namespace}/{each.id.name}"
        if count := endpoints.count(view, looks[each.id]):
            answering.append(f"{name} ({count})")
        else:
            todo = (
                f"see: kubectl -n {each.id.namespace} get endpointslices -l kubernetes.io/service-name={each.id.name}"
            )
            notes.append(note.failed(f"nobody answers for Service {name}: it has no ready endpoint", todo=todo))
    if answering:
        notes.append(note.passed(f"Services with ready endpoints: {', '.join(answering)}"))
    return notes


def _has_endpoints(item: Object) -> bool:
    return (
        (item.id.group, item.id.kind) == ("", "Service")
        and text(item.value, "spec", "type") != "ExternalName"
        and bool(mapping(item.value, "spec", "selector"))
    )


async def _routes(objects: list[Object], scene: Scene) -> list[Note]:
    found = routes.urls(objects)
    if scene.is_offline and found:
        return [note.skipped(f"{', '.join(found)} was not asked: --offline")]
    notes = []
    for url, answer in (await routes.ask(found, scene)).items():
        if isinstance(answer, str):
            notes.append(note.person(f"{url} cannot be asked from here: {answer}", todo=_TRY))
        elif answer[0] >= _FAILING:
            notes.append(note.failed(f"{url} answers {answer[0]}", todo="see the logs of what it leads to"))
        else:
            notes.append(note.passed(f"{url} answers {answer[0]} in {answer[1] * 1000:.0f} ms"))
    return notes

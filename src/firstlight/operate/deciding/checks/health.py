"""Whether what was changed is well: the gates of the touched components, the nodes, and the engine at the commit."""

from collections.abc import Iterator, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.clients.git import errors as git_errors
from firstlight.document.within import mapping, text
from firstlight.gates import parts, questions, revisions
from firstlight.gates.ground import GateGround
from firstlight.gates.question import Question
from firstlight.model.change import Matter
from firstlight.model.component import Component, Form, Side
from firstlight.model.decision import CheckState, Decision
from firstlight.model.plan import Gate, Subject
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Waiting
from firstlight.model.work import Watch
from firstlight.observe.watching import Watching
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import History, Scene
from firstlight.operate.verify import components as verifying
from firstlight.operate.verify import nodes
from firstlight.plan import asking, facts, pods
from firstlight.plan.ground import Ground
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note

_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_STORES = ("SecretStore", "ClusterSecretStore")
_APPLIED = {
    Form.KUSTOMIZATION: ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", ("status", "lastAppliedRevision")),
    Form.APPLICATION: ("argoproj.io/v1alpha1", "Application", ("status", "sync", "revision")),
}
"""Where engines say which commit they have applied."""
_AGAIN = "wait, and run --check post again"


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """What is well, and what is not yet."""
    client = scene.client
    if client is None:
        return [note.skipped(scene.unreached)]
    mine = [
        found
        for each in scenes.touched_here(decision, scene)
        if (found := scene.after.component(each.cluster, each.component)) is not None
    ]
    asked = {each.name: _questions(each, scene) for each in mine}
    if any(each.change.matter == Matter.MACHINE and scene.cluster in each.clusters for each in decision.items):
        cluster = scene.after.platform.cluster(scene.cluster)
        asked["nodes"] = [nodes.question(cluster.machines if cluster is not None else ())]
    notes = await _judged(asked, client)
    if scene.history is not None and scene.history.head:
        notes += await _at_commit(mine, client, scene.history)
    others = sorted({each.cluster for each in scenes.touched(decision)} - {scene.cluster})
    notes += [note.skipped(f"{', '.join(others)} was not asked")] if others else []
    return notes or [note.skipped("it touches nothing that could be well or ill")]


def _questions(component: Component, scene: Scene) -> list[Question]:
    cluster = scene.after.platform.cluster(component.cluster)
    if cluster is None:
        return []
    objects = tuple(scene.after.objects(component.cluster, component.name).values())
    known = Ground(facts.of(scene.after.platform, cluster, scene.after.renditions))
    ground = GateGround(cluster, "", {component.name: objects}, {component.name: component.gates})
    gates = dict.fromkeys([*_gates(known, component), *_of_objects(component, objects)])
    made = (questions.question(gate, Watch(objects=objects), ground) for gate in gates)
    return [each for each in made if each is not None]


def _gates(known: Ground, component: Component) -> Iterator[Gate]:
    """Those that ``up`` asks; a component that nobody rendered has those of its role and the engine's word."""
    if facts.in_bootstrap(component):
        is_rendered = known.facts.rendition(component, Side.BOOTSTRAP) is not None
        yield from (each for each in asking.of_bootstrap(known, component) if is_rendered or each.object is None)
    yield from asking.of_gitops(component)


def _of_objects(component: Component, objects: Sequence[Object]) -> Iterator[Gate]:
    for item in objects:
        if pods.runs_at_start(item) and item.id.name:
            yield Gate(Subject.WORKLOAD, component.name, item.id)
        elif item.id.kind in _WEBHOOKS:
            yield Gate(Subject.WEBHOOK, component.name, item.id)
        elif item.id.kind in _STORES:
            yield Gate(Subject.STORE, component.name, item.id)
        elif item.is_crd:
            yield Gate(Subject.CRDS, component.name)


async def _judged(asked: dict[str, list[Question]], client: kube.Client) -> list[Note]:
    every = [each for found in asked.values() for each in found]
    async with Watching(client) as watching:
        verdicts = dict(zip(map(id, every), await verifying.judged(every, watching, wait=0.0), strict=True))
    notes = []
    for name, found in asked.items():
        if found:
            hints = [each.hint for each in found if each.hint and isinstance(verdicts[id(each)], Waiting | Failed)]
            worst = parts.worst(verdicts[id(each)] for each in found)
            notes.append(note.of_verdict(name, worst, todo=next(iter(hints), ""), again=_AGAIN))
    return notes


async def _at_commit(components: Sequence[Component], client: kube.Client, history: History) -> list[Note]:
    """Whether the engine has applied the change, or a commit that has it.

    What brings a component may follow another repository than the component itself, whose commits nobody knows here.
    """
    notes: dict[str, tuple[str, Note]] = {}
    for form, namespace, name in sorted({each for one in components for each in _declaring(one)}):
        api_version, kind, way = _APPLIED[form]
        try:
            found: Any = await client.get(api_version, kind, name, namespace=namespace)
        except (kube.NotFound, kube.UnknownKind):
            continue  # that it is missing is the gates' to say
        called, applied = f"{kind} {namespace}/{name}", text(found, *way)
        if commit := revisions.commit(applied):
            notes[called] = (_source(found, namespace), await _has(called, commit, history))
    ours = {source for source, each in notes.values() if each.state is not CheckState.PERSON}
    return [each for source, each in notes.values() if not ours or source in ours]


def _source(value: Any, namespace: str) -> str:
    """What it follows."""
    reference = mapping(value, "spec", "sourceRef")
    if reference:
        space = text(reference, "namespace") or namespace
        return f"{text(reference, 'kind')} {space}/{text(reference, 'name')}"
    return text(value, "spec", "source", "repoURL")


def _declaring(component: Component) -> Iterator[tuple[Form, str, str]]:
    for origin in component.origins:
        if origin.form in _APPLIED:
            yield origin.form, origin.namespace, origin.name
        form, _, rest = origin.parent.partition("/")
        space, _, name = rest.partition("/")
        if form == Form.KUSTOMIZATION.value.lower() and name:
            yield Form.KUSTOMIZATION, space, name


async def _has(called: str, commit: str, history: History) -> Note:
    try:
        if await history.git.is_ancestor(history.path, history.head, commit):
            return note.passed(f"{called} has applied it, at {commit[:7]}")
    except git_errors.NotFound:
        todo = "git fetch, and run it again"
        return note.person(f"{called} is at {commit[:7]}, which this clone does not know", todo=todo)
    says = f"{called} is still at {commit[:7]}, without {history.head[:7]}"
    return note.failed(says, todo=f"push it, or {_AGAIN}")

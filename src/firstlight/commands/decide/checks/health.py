"""Whether what was changed is well: the gates of the touched components, the nodes, and the engine at the commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.clients.git import git_errors
from firstlight.commands.decide.checks import answer, check_input
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, CommitRange
from firstlight.document import conditions
from firstlight.document.within import mapping, text
from firstlight.engines import engine_directives, revisions
from firstlight.gates import cluster_health, gate_parts, gate_table
from firstlight.gates.gate_parts import GateContext, GateQuestion
from firstlight.model import argocd_names, flux_names
from firstlight.model.change import Matter
from firstlight.model.component import Component, ObjectId, Side, SourceForm
from firstlight.model.decision import CheckState, Decision
from firstlight.model.plan import Gate, Subject
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, Waiting
from firstlight.model.work import Watch
from firstlight.observe import component_health
from firstlight.observe.gate_watch import Watching
from firstlight.plan import cluster_facts, plan_context, pod_needs
from firstlight.plan.plan_context import PlanContext

_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_STORES = ("SecretStore", "ClusterSecretStore")
_APPLIED = {
    SourceForm.KUSTOMIZATION: (flux_names.KUSTOMIZE_API, flux_names.KUSTOMIZATION, ("status", "lastAppliedRevision")),
    SourceForm.APPLICATION: (argocd_names.API, argocd_names.APPLICATION, ("status", "sync", "revision")),
}
"""Where engines say which commit they have applied."""
_AGAIN = "wait, and run --check post again"


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """What is well, and what is not yet."""
    client = scene.client
    if client is None:
        return [answer.skipped(scene.unreached)]
    mine = [
        found
        for each in check_input.touched_here(decision, scene)
        if (found := scene.after.component(each.cluster, each.component)) is not None
    ]
    asked = {each.name: _questions(each, scene) for each in mine}
    if any(each.change.matter == Matter.MACHINE and scene.cluster in each.clusters for each in decision.items):
        cluster = scene.after.platform.cluster(scene.cluster)
        asked["nodes"] = [cluster_health.nodes_question(cluster.machines if cluster is not None else ())]
    answers = await _judged(asked, client)
    if scene.history is not None and scene.history.head:
        answers += await _at_commit(mine, client, scene.history)
    others = sorted({each.cluster for each in check_input.touched(decision)} - {scene.cluster})
    answers += [answer.skipped(f"{', '.join(others)} was not asked")] if others else []
    return answers or [answer.skipped("it touches nothing that could be well or ill")]


def _questions(component: Component, scene: CheckInput) -> list[GateQuestion]:
    cluster = scene.after.platform.cluster(component.cluster)
    if cluster is None:
        return []
    objects = tuple(scene.after.objects(component.cluster, component.name).values())
    known = PlanContext(cluster_facts.of(scene.after.platform, cluster, scene.after.renditions))
    ground = GateContext(cluster, "", {component.name: objects}, {component.name: component.gates})
    gates = dict.fromkeys([*_gates(known, component), *_of_objects(component, objects)])
    made = (gate_table.question(gate, Watch(objects=objects), ground) for gate in gates)
    return [each for each in made if each is not None]


def _gates(known: PlanContext, component: Component) -> Iterator[Gate]:
    """Those that ``up`` asks; a component that nobody rendered has those of its role and the engine's word."""
    if cluster_facts.in_bootstrap(component):
        is_rendered = known.facts.rendition(component, Side.BOOTSTRAP) is not None
        yield from (
            each for each in plan_context.bootstrap_gates(known, component) if is_rendered or each.object is None
        )
    yield from plan_context.gitops_gates(component)


def _of_objects(component: Component, objects: Sequence[Object]) -> Iterator[Gate]:
    for item in objects:
        if pod_needs.runs_at_start(item) and item.id.name:
            yield Gate(Subject.WORKLOAD, component.name, item.id)
        elif item.id.kind in _WEBHOOKS:
            yield Gate(Subject.WEBHOOK, component.name, item.id)
        elif item.id.kind in _STORES:
            yield Gate(Subject.STORE, component.name, item.id)
        elif item.is_crd:
            yield Gate(Subject.CRDS, component.name)


async def _judged(asked: dict[str, list[GateQuestion]], client: kube.Client) -> list[CheckAnswer]:
    every = [each for found in asked.values() for each in found]
    async with Watching(client) as watching:
        verdicts = dict(zip(map(id, every), await component_health.judged(every, watching, wait=0.0), strict=True))
    answers = []
    for name, found in asked.items():
        if found:
            hints = [each.hint for each in found if each.hint and isinstance(verdicts[id(each)], Waiting | Failed)]
            worst = gate_parts.worst(verdicts[id(each)] for each in found)
            answers.append(answer.of_verdict(name, worst, fix=next(iter(hints), ""), again=_AGAIN))
    return answers


async def _at_commit(components: Sequence[Component], client: kube.Client, history: CommitRange) -> list[CheckAnswer]:
    """Whether the engine has applied the change, or a commit that has it.

    What brings a component may follow another repository than the component itself, whose commits nobody knows here.
    """
    answers: dict[str, tuple[str, CheckAnswer]] = {}
    for form, namespace, name in sorted({each for one in components for each in _declaring(one)}):
        api_version, kind, way = _APPLIED[form]
        try:
            found: Any = await client.get(api_version, kind, name, namespace=namespace)
        except (kube.NotFound, kube.UnknownKind):
            continue  # that it is missing is the gates' to say
        called, applied = f"{kind} {namespace}/{name}", text(found, *way)
        if commit := revisions.commit(applied):
            answers[called] = (_source(found, namespace), await _has(called, commit, history))
    ours = {source for source, each in answers.values() if each.state is not CheckState.PERSON}
    return [each for source, each in answers.values() if not ours or source in ours]


def _source(value: Any, namespace: str) -> str:
    """What it follows."""
    reference = mapping(value, "spec", "sourceRef")
    if reference:
        space = text(reference, "namespace") or namespace
        return f"{text(reference, 'kind')} {space}/{text(reference, 'name')}"
    return text(value, "spec", "source", "repoURL")


def _declaring(component: Component) -> Iterator[tuple[SourceForm, str, str]]:
    for origin in component.origins:
        if origin.form in _APPLIED:
            yield origin.form, origin.namespace, origin.name
        form, _, rest = origin.parent.partition("/")
        space, _, name = rest.partition("/")
        if form == SourceForm.KUSTOMIZATION.value.lower() and name:
            yield SourceForm.KUSTOMIZATION, space, name


async def _has(called: str, commit: str, history: CommitRange) -> CheckAnswer:
    try:
        if await history.git.is_ancestor(history.path, history.head, commit):
            return answer.passed(f"{called} has applied it, at {commit[:7]}")
    except git_errors.GitNotFound:
        fix = "git fetch, and run it again"
        return answer.person(
            "applied-commit-unknown", f"{called} is at {commit[:7]}, which this clone does not know", fix=fix
        )
    says = f"{called} is still at {commit[:7]}, without {history.head[:7]}"
    return answer.failed("commit-not-applied", says, fix=f"push it, or {_AGAIN}")


# How the cluster stands: nodes, engine, certificates and stores, each by one look.


_CERTIFICATES = {("cert-manager.io", "Certificate"): "v1"}
_SECRETS = {
    ("external-secrets.io", "ClusterSecretStore"): "v1",
    ("external-secrets.io", "SecretStore"): "v1",
    ("external-secrets.io", "ExternalSecret"): "v1",
}


async def nodes_joined(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Whether all declared machines have joined and are ready."""
    cluster = scene.after.platform.cluster(scene.cluster)
    return await _asked(scene, [cluster_health.nodes_question(cluster.machines if cluster is not None else ())])


async def engine_follows(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Whether everything that the engine follows is synced."""
    cluster = scene.after.platform.cluster(scene.cluster)
    if scene.client is None:
        return [answer.skipped(scene.unreached)]
    if cluster is None or cluster.engine is None:
        return [answer.skipped("no engine is declared")]
    resting = {
        found
        for component in scene.after.platform.components_of(scene.cluster)
        for origin in component.origins
        if engine_directives.is_rest_declared(origin) and (found := plan_context.declared_gates(origin)) is not None
    }
    return await _asked(scene, [cluster_health.engine_question(cluster, "", resting=resting)])


async def nodes_and_engine(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Whether the cluster is well enough to be changed."""
    cluster = scene.after.platform.cluster(scene.cluster)
    has_engine = cluster is not None and cluster.engine is not None
    return [*await nodes_joined(decision, scene), *(await engine_follows(decision, scene) if has_engine else [])]


async def certificates_issued(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Whether every Certificate is issued."""
    return await _all_ready(scene, _CERTIFICATES)


async def secrets_arrive(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Whether stores are ready, and what they bring arrives."""
    return await _all_ready(scene, _SECRETS)


async def _asked(scene: CheckInput, questions: Sequence[GateQuestion]) -> list[CheckAnswer]:
    if scene.client is None:
        return [answer.skipped(scene.unreached)]
    async with Watching(scene.client) as watching:
        verdicts = await component_health.judged(list(questions), watching, wait=0.0)
    return [
        answer.of_verdict(one.name, verdict, fix=one.hint) for one, verdict in zip(questions, verdicts, strict=True)
    ]


async def _all_ready(scene: CheckInput, kinds: Mapping[tuple[str, str], str]) -> list[CheckAnswer]:
    if scene.client is None:
        return [answer.skipped(scene.unreached)]
    found, unread = await check_input.live_objects(scene.client, kinds)
    answers = [answer.skipped(each) for each in unread]
    waiting = [told for each in found if (told := _waits(each, scene.now()))]
    if waiting:
        more = f" and {len(waiting) - 3} more" if len(waiting) > 3 else ""
        answers.append(
            answer.failed("objects-not-ready", f"{'; '.join(waiting[:3])}{more}", fix="see: kubectl describe of these")
        )
    elif found:
        answers.append(answer.passed(f"all {len(found)} are ready"))
    elif not answers:
        answers.append(answer.skipped("there is none in the cluster"))
    return answers


def _waits(value: Mapping[str, Any], now: float) -> str:
    verdict = conditions.judged_ready(value, str(ObjectId.of(value)), now=now, expected=("Ready",))
    return "" if isinstance(verdict, Passed | Skipped) else verdict.reason

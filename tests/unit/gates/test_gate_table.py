"""Gates made questions: which subjects ask, what they look at, and how several parts are one."""

import ast
import re
from pathlib import Path

import pytest

from firstlight import gates
from firstlight.gates import gate_parts, gate_table
from firstlight.gates.gate_parts import GateContext, GatePart
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.place import Place
from firstlight.model.plan import Gate, Subject
from firstlight.model.platform import FoundationSecret
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.model.work import Apply, CreateSecret, Leave, Watch

HERE = Place("firstlight.yaml", 1)
CLUSTER = Cluster(name="lab", place=HERE)
ELSEWHERE = {
    Subject.MACHINES,
    Subject.ETCD,
    Subject.BASELINE,
    Subject.OWNERS,
    Subject.INVENTORY,
    Subject.CERTIFICATE,
}
SAMPLES = {each.__module__.rpartition(".")[2] for each in gate_table._SUBJECTS.values()} | {"cilium", "replicas"}


def ground(*objects: Object, name: str = "web") -> GateContext:
    return GateContext(cluster=CLUSTER, revision="", objects={name: objects})


def deployment(**spec: object) -> Object:
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    body = {"selector": selector, **spec}
    return Object(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "web"}, "spec": body}
    )


@pytest.mark.parametrize("subject", sorted(ELSEWHERE))
def test_what_is_judged_elsewhere_asks_nothing(subject: Subject) -> None:
    assert gate_table.question(Gate(subject), Leave(why=""), ground()) is None


@pytest.mark.parametrize("subject", sorted(set(Subject) - ELSEWHERE))
def test_every_other_subject_has_a_file(subject: Subject) -> None:
    assert subject in gate_table._SUBJECTS


def test_every_subject_is_asked_by_a_step() -> None:
    plan = Path(gates.__file__).parents[1] / "plan"
    asked = {name for path in plan.glob("*.py") for name in re.findall(r"\bSubject\.(\w+)", path.read_text())}
    assert asked == {each.name for each in Subject}


def test_a_workload_is_watched_with_what_tells_why_it_waits() -> None:
    gate = Gate(Subject.WORKLOAD, "web", ObjectId("apps", "Deployment", "web", "web"))

    question = gate_table.question(gate, Leave(why=""), ground(deployment()))

    assert question is not None
    assert question.name == "workload web/web"
    assert question.looks == (
        WatchTarget(api_version="apps/v1", kind="Deployment", namespace="web", name="web"),
        WatchTarget(api_version="v1", kind="Node"),
        WatchTarget(api_version="v1", kind="Event", namespace="web"),
        WatchTarget(api_version="v1", kind="Pod", namespace="web", labels="app=web,tier"),
    )


def test_claims_are_watched_only_where_pods_have_some() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    item = deployment(template={"spec": {"volumes": volumes}})

    question = gate_table.question(Gate(Subject.WORKLOAD, "web"), Leave(why=""), ground(item))

    assert question is not None
    assert [each.kind for each in question.looks] == ["Deployment", "Node", "Event", "Pod", "PersistentVolumeClaim"]


def test_a_secret_is_read_only_where_keys_are_asked_for() -> None:
    identity = ObjectId("", "Secret", "flux-system", "sops-age")
    secret = FoundationSecret(name="sops-age", namespace="flux-system", data={"age": "env:AGE"}, place=HERE)
    gate = Gate(Subject.SECRET, object=identity)

    with_keys = gate_table.question(gate, CreateSecret(secret=secret, manager="firstlight"), ground())
    without = gate_table.question(gate, Leave(why=""), ground())

    assert with_keys is not None
    assert [each.with_content for each in with_keys.looks] == [True]
    assert without is not None
    assert [each.with_content for each in without.looks] == [False]


def test_a_kind_is_asked_for_in_the_version_that_was_rendered() -> None:
    identity = ObjectId("external-secrets.io", "ClusterSecretStore", "", "vault")
    store = Object(
        {"apiVersion": "external-secrets.io/v1beta1", "kind": "ClusterSecretStore", "metadata": {"name": "vault"}}
    )
    gate = Gate(Subject.STORE, "stores", identity)

    rendered = gate_table.question(gate, Leave(why=""), ground(store, name="stores"))
    otherwise = gate_table.question(gate, Leave(why=""), ground())

    assert rendered is not None
    assert rendered.looks[0].api_version == "external-secrets.io/v1beta1"
    assert otherwise is not None
    assert otherwise.looks[0].api_version == "external-secrets.io/v1"


def test_the_revision_of_the_step_counts_before_the_one_of_the_run() -> None:
    sha, other = "a" * 40, "b" * 40
    gate = Gate(
        Subject.RECONCILED, "web", ObjectId("kustomize.toolkit.fluxcd.io", "Kustomization", "flux-system", "web")
    )
    question = gate_table.question(gate, Watch(revision=sha), GateContext(CLUSTER, other, {}))
    assert question is not None
    ready = {"type": "Ready", "status": "True"}
    value = {
        "spec": {"sourceRef": {"kind": "GitRepository", "name": "fleet"}},
        "status": {"conditions": [ready], "lastAppliedRevision": f"main@sha1:{sha}"},
    }

    assert isinstance(question.judge(GateView(now=0.0, objects={question.looks[0]: (value,)})), Passed)


def test_a_look_of_several_parts_is_watched_once() -> None:
    item = deployment()
    other = Object({**item.value, "metadata": {"name": "other", "namespace": "web"}})
    task = Apply(objects=(item, other), manager="firstlight")

    question = gate_table.question(Gate(Subject.WORKLOAD, "web"), task, ground(item, other))

    assert question is not None
    assert len(question.looks) == len(set(question.looks)) == 5


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([Passed("a"), Passed("b")], Passed("a, b")),
        ([Passed("a"), Waiting("b"), Passed("c")], Waiting("b")),
        ([Waiting("a"), Failed("b")], Failed("b")),
        ([Waiting("a, since"), Waiting("b")], Waiting("a, since; b")),
        ([Waiting("a"), Waiting("a")], Waiting("a")),
        ([Skipped("a"), Passed("b")], Passed("a, b")),
        ([Skipped("a"), Skipped("b")], Skipped("a, b")),
        ([Waiting(each) for each in "abcdef"], Waiting("a, b, c, d and 2 more")),
        ([], Passed("")),
    ],
)
def test_several_verdicts_are_the_worst(verdicts: list[Verdict], expected: Verdict) -> None:
    assert gate_parts.worst(verdicts) == expected


def test_what_comes_later_is_not_told_before_its_turn() -> None:
    def part(verdict: Verdict) -> GatePart:
        return GatePart((), lambda view: verdict)

    view = GateView(now=0.0)

    assert gate_parts.in_turn([part(Passed("a")), part(Waiting("b")), part(Failed("c"))]).judge(view) == Waiting("b")
    assert gate_parts.in_turn([part(Passed("a")), part(Passed("b"))]).judge(view) == Passed("a, b")
    assert gate_parts.in_turn([part(Passed("a")), part(Passed("b"))], last=True).judge(view) == Passed("b")


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_each_subject_ends_with_what_the_world_looks_like(name: str) -> None:
    path = Path(gates.__file__).parent / f"{name}.py"
    lines = path.read_text().rstrip().splitlines()
    end = max(node.end_lineno or 0 for node in ast.parse(path.read_text()).body)

    sample = [each for each in lines[end:] if each]
    assert len(sample) >= 4
    assert all(each.startswith("#") for each in sample)

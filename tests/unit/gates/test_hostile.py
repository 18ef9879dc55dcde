"""Whatever stands in an object, a judge has a verdict: clusters hold objects of strangers, and half-written ones."""

import copy
import functools
import os
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.gates import gate_table
from firstlight.gates.gate_parts import GateContext, GateQuestion
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.observation import AskResponse, GateView
from firstlight.model.place import Place
from firstlight.model.plan import Gate, Subject
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, Waiting
from firstlight.model.work import Apply
from tests.scenarios.gates import seen

SCENARIOS = sorted(Path(seen.__file__).parent.glob("*/observed.yaml"))
EXAMPLES = int(os.environ.get("FIRSTLIGHT_EXAMPLES", "150"))
WORDS = """
    metadata spec status conditions type reason message name namespace
    labels annotations template containers replicas selector matchLabels matchExpressions observedGeneration
    generation taints effect key value lastTransitionTime deletionTimestamp webhooks clientConfig
    service endpoints addresses ready state waiting artifact revision sync
"""
KEYS = st.sampled_from(WORDS.split())
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.sampled_from(["True", "False", "Unknown", "Ready", "2026-11-16T06:38:02Z", "9999-12-31T23:59:59-23:59", "In"]),
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
VERDICTS = (Passed, Waiting, Failed, Skipped)


def _paths(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The ways to everything in a value, from the outside in."""
    found = [at] if at else []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        found += _paths(each, (*at, key))
    return found


def _damaged(value: Any, path: tuple[str | int, ...], damage: Any) -> Any:
    made = copy.deepcopy(value)
    at = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = damage
    return made


@functools.cache
def _loaded(path: Path) -> tuple[GateQuestion, GateView] | None:
    scene = seen.load(path)
    question = scene.question()
    return None if question is None else (question, scene.view(question))


ASKED = [found for path in SCENARIOS if (found := _loaded(path)) is not None]
FILLED = [(question, view) for question, view in ASKED if any(view.objects.values())]


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_a_damaged_object_is_judged(data: st.DataObject) -> None:
    question, view = data.draw(st.sampled_from(FILLED))
    objects = dict(view.objects)
    look = data.draw(st.sampled_from([look for look, found in objects.items() if found]))
    first, *others = objects[look]
    where = data.draw(st.sampled_from(_paths(first)))
    objects[look] = (_damaged(first, where, data.draw(JSON)), *others)

    verdict = question.judge(GateView(now=view.now, objects=objects, unserved=view.unserved, answers=view.answers))

    assert isinstance(verdict, VERDICTS)
    assert "\n" not in verdict.reason


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    asked=st.sampled_from(ASKED),
    values=st.lists(st.dictionaries(KEYS, JSON, max_size=5), max_size=3),
    now=st.floats(),
)
def test_any_objects_at_all_are_judged(
    asked: tuple[GateQuestion, GateView], values: list[dict[str, Any]], now: float
) -> None:
    question, _ = asked
    objects = {look: tuple(values) for look in question.looks}
    answers = {each: AskResponse(False, "no") for each in question.asks}

    assert isinstance(question.judge(GateView(now=now, objects=objects, answers=answers)), VERDICTS)
    assert isinstance(question.judge(GateView(now=now)), VERDICTS)  # nothing is there, nothing was answered


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    subject=st.sampled_from(Subject),
    kind=st.sampled_from(
        [
            ("apps/v1", "Deployment"),
            ("apps/v1", "DaemonSet"),
            ("batch/v1", "Job"),
            ("v1", "Service"),
            ("v1", "ConfigMap"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
            ("source.toolkit.fluxcd.io/v1", "GitRepository"),
            ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
        ]
    ),
    body=st.fixed_dictionaries({"spec": JSON, "webhooks": JSON, "data": JSON}),
)
def test_any_rendered_object_makes_a_question(subject: Subject, kind: tuple[str, str], body: dict[str, Any]) -> None:
    names = {"name": "cert-manager", "namespace": "web"}
    item = Object({"apiVersion": kind[0], "kind": kind[1], "metadata": names, **body})
    cluster = Cluster(name="lab", place=Place("firstlight.yaml", 1))
    ground = GateContext(cluster=cluster, revision="", objects={"web": (item,)})
    task = Apply(objects=(item,), manager="firstlight")

    for identity in (None, ObjectId.of(item.value)):
        question = gate_table.question(Gate(subject, "web", identity), task, ground)
        if question is not None:
            objects = {look: (item.value,) for look in question.looks}
            assert isinstance(question.judge(GateView(now=0.0, objects=objects)), VERDICTS)

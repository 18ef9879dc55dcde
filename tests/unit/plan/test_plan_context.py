"""The gates of steps: those that a platform's owners declare come after those that are asked anyway."""

import dataclasses

from firstlight.model import own_gates
from firstlight.model.place import Place
from firstlight.model.plan import Gate, Plan, Subject
from firstlight.plan import build, plan_context
from tests.unit.plan import platforms

OWN = own_gates.HttpGate(place=Place("firstlight.yaml", 9), url="https://db.example.org/healthz")


def planned(**component: str) -> Plan:
    """The plan of one component with two gates of its own."""
    platform, renditions = platforms.make({"clusters": {"home": {"engine": "flux"}}, "components": {"db": component}})
    components = tuple(dataclasses.replace(each, gates=(OWN, OWN)) for each in platform.components)
    platform = dataclasses.replace(platform, components=components)
    return build.build(platform, platform.clusters[0], renditions=renditions)


def own(plan: Plan) -> dict[str, list[int]]:
    found = {step.id: [gate.number for gate in step.gates if gate.subject == Subject.OWN] for step in plan.steps}
    return {step: numbers for step, numbers in found.items() if numbers}


def test_what_bootstrap_installs_is_asked_there_and_once() -> None:
    plan = planned(phase="core")

    assert own(plan) == {"core/db": [0, 1]}
    assert plan.by_id["core/db"].gates[-1] == Gate(Subject.OWN, "db", number=1)


def test_what_the_engine_brings_is_asked_after_the_engine_was() -> None:
    plan = planned(phase="gitops")

    assert own(plan) == {"gitops/db": [0, 1]}
    assert plan.by_id["gitops/db"].gates[0].subject != Subject.OWN


def test_what_both_sides_have_is_asked_in_bootstrap() -> None:
    assert own(planned(phase="core", side="hybrid")) == {"core/db": [0, 1]}


def test_what_brings_a_component_is_known_to_the_root() -> None:
    """A release is created by the Kustomization that applies it, and that one by those above."""
    declared = {
        "cluster": {"phase": "gitops", "form": "Kustomization"},
        "apps": {"phase": "gitops", "form": "Kustomization", "parent": "cluster"},
        "web": {"phase": "gitops", "parent": "apps"},
    }
    platform, _ = platforms.make({"components": declared})

    found = plan_context.bringers(platform.components)

    assert {name: [each.name for each in above] for name, above in found.items()} == {
        "apps": ["cluster"],
        "web": ["apps", "cluster"],
    }

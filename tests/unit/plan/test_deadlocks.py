"""A cold start, played through, against what the plan says of it: deadlocks are found if and only if there is one."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from firstlight.model.diagnostic import Severity
from firstlight.plan import build
from tests.unit.plan import platforms

BOOTSTRAP, GITOPS = "bootstrap", "gitops"


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Components of both sides that need each other, and Secrets that some bring and some read."""
    number = draw(st.integers(1, 6))
    secrets = ["one", "two", "three"]
    names = [f"c{index}" for index in range(number)]
    sides = {name: draw(st.sampled_from([BOOTSTRAP, GITOPS])) for name in names}
    # One component of bootstrap at most brings a Secret; GitOps may bring it as often as it likes.
    owners = {secret: draw(st.sampled_from(names)) for secret in secrets}
    brings = {
        name: [
            secret
            for secret in draw(st.lists(st.sampled_from(secrets), max_size=2, unique=True))
            if sides[name] == GITOPS or owners[secret] == name
        ]
        for name in names
    }
    return {
        "sides": sides,
        "needs": {name: draw(st.lists(st.sampled_from(names), max_size=2, unique=True)) for name in names},
        "brings": brings,
        "reads": {name: draw(st.lists(st.sampled_from(secrets), max_size=2, unique=True)) for name in names},
    }


def ends(world: dict[str, Any]) -> bool:
    """Whether a cold start ends: install what can be installed, and begin GitOps when all of bootstrap is up."""
    sides: dict[str, str] = world["sides"]
    brought = {secret for name in sides for secret in world["brings"][name]}
    up: set[str] = set()
    while True:
        begun = all(name in up for name, side in sides.items() if side == BOOTSTRAP)
        there = {secret for name in up for secret in world["brings"][name]}
        able = {
            name
            for name, side in sides.items()
            if name not in up
            and (side == BOOTSTRAP or begun)
            and all(need in up for need in world["needs"][name] if need != name)
            # Only bootstrap's pods are looked at; those of GitOps wait without harm. A Secret that nobody in the repo
            # brings may be made by the component itself.
            and (
                side == GITOPS
                or all(
                    secret in there or secret in world["brings"][name] or secret not in brought
                    for secret in world["reads"][name]
                )
            )
        }
        if not able:
            return up == set(sides)
        up |= able


@given(worlds())
def test_a_plan_is_blocked_if_and_only_if_a_cold_start_does_not_end(world: dict[str, Any]) -> None:
    platform, renditions = platforms.make(_platform(world))

    plan = build.build(platform, platform.clusters[0], renditions=renditions)

    assert plan.is_blocked != ends(world), [(each.code, each.message) for each in plan.problems]
    for problem in plan.problems:
        assert problem.severity != Severity.ERROR or (problem.evidence and problem.fix)


def _platform(world: dict[str, Any]) -> dict[str, Any]:
    components: dict[str, Any] = {"flux": {"phase": "engine", "role": "engine"}}
    renditions: dict[str, Any] = {"flux": {BOOTSTRAP: _pod("flux", [])}}
    for name, side in world["sides"].items():
        needs = [each for each in world["needs"][name] if each != name]
        components[name] = {"phase": "core" if side == BOOTSTRAP else "gitops", "needs": needs}
        secrets = [
            f"{{apiVersion: v1, kind: Secret, metadata: {{name: {each}, namespace: apps}}}}"
            for each in world["brings"][name]
        ]
        renditions[name] = {side: "\n---\n".join([_pod(name, world["reads"][name]), *secrets])}
    return {"clusters": {"home": {"engine": "flux"}}, "components": components, "renditions": renditions}


def _pod(name: str, reads: list[str]) -> str:
    sources = ", ".join(f"{{secretRef: {{name: {each}}}}}" for each in reads)
    spec = f"{{containers: [{{name: a, envFrom: [{sources}]}}]}}"
    return f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: apps}}, spec: {spec}}}"

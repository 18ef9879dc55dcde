"""Whatever symptoms there are, and however they need each other: none is lost, and none explains itself."""

import random

from hypothesis import given
from hypothesis import strategies as st

from firstlight.commands.doctor import root_causes, symptoms
from firstlight.commands.doctor.symptoms import RootCause, Symptom, SymptomLayer
from tests.unit.commands.doctor import scenes, test_cases

NAMES = [f"thing {each}" for each in "abcdefgh"]
FOUND = st.lists(
    st.builds(
        symptoms.symptom,
        code=st.sampled_from(["crash-loop", "dns-down", "node-silent", "git-reference"]),
        subject=st.sampled_from(NAMES),
        message=st.just("it does not work"),
        since=st.sampled_from([None, 10.0, 20.0]),
        names=st.frozensets(st.sampled_from(NAMES), max_size=2),
        needs=st.frozensets(st.sampled_from(NAMES), max_size=3),
        layer=st.sampled_from([None, *SymptomLayer]),
    ),
    max_size=12,
    unique_by=lambda each: (each.code, each.subject),
)


def _causes(found: list[Symptom]) -> tuple[RootCause, ...]:
    return root_causes.linked_causes(found)


def _all(causes: tuple[RootCause, ...]) -> list[Symptom]:
    return [each for cause in causes for each in (cause.symptom, *cause.effects)]


@given(found=FOUND)
def test_no_symptom_is_lost_or_told_twice(found: list[Symptom]) -> None:
    told = [each.key for each in _all(_causes(found))]

    assert sorted(told) == sorted(each.key for each in found)


@given(found=FOUND)
def test_no_symptom_is_its_own_cause(found: list[Symptom]) -> None:
    """Neither directly nor through others: upwards every way ends at a cause that nothing explains."""
    by_key = {each.key: each for each in _all(_causes(found))}

    for start in by_key.values():
        seen: set[str] = set()
        todo = list(start.because)
        while todo:
            key = todo.pop()
            assert key != start.key
            if key not in seen:
                seen.add(key)
                todo += by_key[key].because


@given(found=FOUND)
def test_effects_follow_from_their_cause(found: list[Symptom]) -> None:
    """Each effect is explained by the cause above it, or by an effect that stands before it."""
    for cause in _causes(found):
        assert not cause.symptom.because
        above = {cause.symptom.key}
        for each in cause.effects:
            assert above & set(each.because)
            above.add(each.key)


@given(found=FOUND, seed=st.integers(0, 5))
def test_the_order_of_what_was_found_does_not_matter(found: list[Symptom], seed: int) -> None:
    mixed = list(found)
    random.Random(seed).shuffle(mixed)

    assert _causes(mixed) == _causes(found)


@given(found=FOUND)
def test_what_explains_most_comes_first(found: list[Symptom]) -> None:
    causes = _causes(found)
    if len(causes) > 1 and not causes[0].effects:
        assert not any(each.effects for each in causes)


def test_the_order_of_what_was_seen_does_not_matter() -> None:
    for name in test_cases.CASES:
        scene = scenes.scene(test_cases.CASES[name], test_cases.BASES)
        objects, events, machines = list(scene.objects), list(scene.events), list(scene.machines)
        for each in (objects, events, machines):
            random.Random(7).shuffle(each)
        mixed = scenes.again(scene, objects=tuple(objects), events=tuple(events), machines=tuple(machines))

        assert root_causes.diagnose(mixed) == test_cases.diagnosed(name), name


def test_a_circle_begins_with_the_lowest_and_oldest() -> None:
    one = symptoms.symptom(
        code="crash-loop", subject="a", message="", needs=frozenset({"b"}), layer=SymptomLayer.WORKLOAD, since=5.0
    )
    two = symptoms.symptom(
        code="dns-down", subject="b", message="", needs=frozenset({"a"}), layer=SymptomLayer.DNS, since=9.0
    )
    after = symptoms.symptom(
        code="git-reference", subject="c", message="", needs=frozenset({"a"}), layer=SymptomLayer.MACHINE
    )

    [cause] = _causes([one, two, after])

    assert cause.symptom.key == "dns-down b"
    assert [each.key for each in cause.effects] == ["crash-loop a", "git-reference c"]

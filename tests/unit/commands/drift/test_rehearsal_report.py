"""What a rehearsal says in the end."""

import dataclasses

import pytest

from firstlight.commands.rehearse import text as rehearse_text
from firstlight.commands.rehearse.rehearsal import Rehearsal, RehearsedStep, StandIn, Untried
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.verdict import Failed, Passed, Verdict, Verification, VerificationCheck, Waiting


def step(
    name: str, verdict: str = "passed", needs: tuple[str, ...] = (), reason: str = "", hint: str = ""
) -> RehearsedStep:
    return RehearsedStep(
        id=f"core/{name}", phase="core", name=name, verdict=verdict, seconds=2.5, component=name,
        needs=tuple(f"core/{each}" for each in needs), reason=reason, hint=hint,
    )  # fmt: skip


FINE = Rehearsal(
    cluster="home", lab="rehearsal-home", revision="0123456789abcdef", seconds=83.0,
    mapped=(StandIn("machine", "cp-1 at 10.0.0.2", "virtual machine cp-1"), StandIn("Git", "https://a", "http://b")),
    simulated=(("volumes", "are bound"),), steps=(step("cilium"), step("web", needs=("cilium",))),
)  # fmt: skip


def test_all_is_well() -> None:
    assert FINE.verdict == "passed"
    assert rehearse_text.headline(FINE) == "home   rehearsed, and it works   2 of 2 steps   1m23s   commit 0123456789ab"
    text = rehearse_text.text(FINE)
    assert "cp-1 at 10.0.0.2   › virtual machine cp-1" in text
    assert "volumes   are bound" in text
    assert "✔ web" in text


def test_it_works_only_where_what_was_verified_is_fine() -> None:
    """Every step may have passed, and a Service be without an address."""
    waiting = VerificationCheck(name="addresses", verdict=Waiting("Service shop/web without an address"))
    bad = Verification(cluster="home", checks=(VerificationCheck(name="nodes", verdict=Passed()), waiting))

    for told in (rehearse_text.text(FINE, bad), rehearse_text.markdown(FINE, bad)):
        assert "rehearsed, and it works" not in told
        assert "rehearsed, and it fails (addresses)" in told
    assert "rehearsed, and it works" in rehearse_text.text(FINE, Verification(cluster="home", checks=bad.checks[:1]))


def test_what_really_failed_is_the_cause_and_comes_first() -> None:
    failed = step("web", "waiting", reason="0/1 ready", hint="look at its image")
    told = dataclasses.replace(FINE, steps=(step("cilium"), failed, step("late", "blocked", needs=("web",))))

    assert told.verdict == "failed"
    assert told.causes == (failed,)
    lines = rehearse_text.text(told).splitlines()
    assert lines[2:4] == ["✘ web (core): 0/1 ready", "    → look at its image"]


def test_what_needs_something_that_could_not_be_had_is_not_judged() -> None:
    steps = (step("gone"), step("needs-it", "failed", needs=("gone",)), step("own", "failed"))
    told = dataclasses.replace(FINE, untried=(Untried("oci://x/gone", "offline", "gone"),), steps=steps)

    assert [each.name for each in told.causes] == ["own"]
    assert [each.name for each in told.unjudged] == ["needs-it"]
    assert dataclasses.replace(told, steps=steps[:2]).verdict == "passed"
    assert "without 1 thing that could not be had" in rehearse_text.headline(told)


@pytest.mark.parametrize(
    "refused",
    [{"refused": "no"}, {"problems": (Diagnostic.error("pod-range-differs", "the CIDRs differ", fix="write one"),)}],
    ids=["refused", "blocked"],
)
def test_a_refusal_is_one(refused: dict[str, object]) -> None:
    told = dataclasses.replace(FINE, steps=(), **refused)  # type: ignore[arg-type]
    assert told.verdict == "refused"
    assert "✘ " in rehearse_text.text(told)


def test_markdown_takes_no_markup_of_strangers() -> None:
    told = dataclasses.replace(FINE, steps=(step("a|b", "failed", reason="<img> `x`\n| y"),))

    text = rehearse_text.markdown(told)

    assert text.startswith("### Rehearsal of `home`: failed\n")
    assert "a\\|b" in text
    assert "\\<img\\> \\`x\\` \\| y" in text
    assert "<details><summary>Steps (1)</summary>" in text


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [(Passed("0 writes"), "passed"), (Failed("1 write"), "failed"), (Waiting("none yet"), "failed")],
)
def test_what_does_not_hold_afterwards_has_failed(verdict: Verdict, expected: str) -> None:
    verified = Verification(cluster="home", checks=(VerificationCheck(name="idempotency", verdict=verdict),))

    text = rehearse_text.markdown(FINE, verified)

    assert text.startswith(f"### Rehearsal of `home`: {expected}\n")
    assert (f"- **idempotency**: {verdict.reason}" in text) is (expected == "failed")
    assert "<summary>Verified (1)</summary>" in text
    made = rehearse_text.data(FINE, verified)
    assert made["verification"] is not None
    assert (made["verdict"], made["verification"]["fine"]) == (expected, expected == "passed")


def test_as_data() -> None:
    made = rehearse_text.data(FINE)
    assert made["verdict"] == "passed"
    assert made["mapping"][0] == {"what": "machine", "declared": "cp-1 at 10.0.0.2", "lab": "virtual machine cp-1"}
    assert made["steps"][1]["needs"] == ["core/cilium"]


@pytest.mark.parametrize(("seconds", "said"), [(0.04, "0.0s"), (9.94, "9.9s"), (12.4, "12s"), (83, "1m23s")])
def test_durations(seconds: float, said: str) -> None:
    assert rehearse_text.duration(seconds) == said


def test_the_commit_of_the_copy_is_named_beside_the_users_own() -> None:
    told = dataclasses.replace(FINE, copy="29ed712aa", changes=1)

    assert rehearse_text.headline(told).endswith("commit 0123456789ab and 1 changed file, copied to the lab as 29ed712")
    assert rehearse_text.headline(dataclasses.replace(FINE, revision="", copy="29ed712aa")).endswith(
        "   copied to the lab as 29ed712"
    )

"""Drift as text and as data: what is said on top, and what to do next."""

import dataclasses

import pytest

from firstlight.commands.drift import print_drift
from firstlight.commands.drift import text as drift_text
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.drift import Drift, Drifted, DriftKind, FieldDifference

WEB = ObjectId("apps", "Deployment", "shop", "web")
NONE = Drift(cluster="infra", revision="3f2a91c0d6b1f0a5", drifted=(), compared=412, dry_runs=3, ignored=4)


def one(difference: DriftKind, component: str = "apps", fields: int = 0) -> Drifted:
    return Drifted(
        id=WEB, component=component, difference=difference, says="something", owner="flux (Kustomization a/b)",
        fields=tuple(FieldDifference(path=f"spec.f{n}", wanted="1", live="2", manager="x") for n in range(fields)),
    )  # fmt: skip


def with_one(*drifted: Drifted) -> Drift:
    return dataclasses.replace(NONE, drifted=drifted)


def test_nothing_to_say() -> None:
    text = drift_text.text(NONE)
    assert text.splitlines()[0] == (
        "infra   no drift (412 objects compared, 3 asked of the server, 4 ignored as declared)"
    )
    assert "next" not in text


def test_what_was_not_read_is_not_said_to_be_fine() -> None:
    unread = dataclasses.replace(NONE, unread=("cilium could not be rendered: no chart",))
    text = drift_text.text(unread)
    assert "no drift in what could be compared" in text
    assert "unread   cilium could not be rendered: no chart" in text
    assert print_drift.exit_code(unread) == 1


def test_what_to_do_depends_on_who_keeps_it() -> None:
    by_engine = drift_text.text(with_one(one(DriftKind.CHANGED)))
    assert "firstlight drift infra --correct" in by_engine
    assert "firstlight up" not in by_engine
    kept = drift_text.text(with_one(one(DriftKind.CHANGED)), kept=frozenset({"apps"}))
    assert "firstlight up infra --only apps" in kept
    assert "--correct" not in kept
    assert "kubectl delete deployment web -n shop" in drift_text.text(with_one(one(DriftKind.EXTRA)))
    assert "firstlight owners infra" in drift_text.text(with_one(one(DriftKind.WRONG_OWNER)))


def test_what_somebody_holds_and_a_handover_does_not_pass_leads_to_the_command_that_takes_it() -> None:
    held = one(DriftKind.WRONG_OWNER, fields=1)
    passing = dataclasses.replace(held, fields=(dataclasses.replace(held.fields[0], is_passed_on=True),))

    by_hand, by_bootstrap = drift_text.text(with_one(held)), drift_text.text(with_one(passing))
    tried = drift_text.text(dataclasses.replace(with_one(held), ways=("look at it",)))

    assert "firstlight drift infra --correct --as-owner makes the engine the owner" in by_hand
    assert "handover" not in by_hand
    assert "firstlight handover makes it Git's" in by_bootstrap
    assert "--as-owner" not in by_bootstrap
    assert tried.splitlines()[-1] == "  next     look at it"


def test_nobody_is_told_to_delete_what_holds_much() -> None:
    claim = dataclasses.replace(one(DriftKind.EXTRA), id=ObjectId("", "PersistentVolumeClaim", "shop", "data"))
    alone = drift_text.text(with_one(claim))
    assert "kubectl delete" not in alone
    assert "a PersistentVolumeClaim takes with it what is in it" in alone
    assert "kubectl delete deployment web -n shop" in drift_text.text(with_one(claim, one(DriftKind.EXTRA)))


def test_another_commit_is_said_on_top_and_is_no_drift() -> None:
    found = dataclasses.replace(with_one(one(DriftKind.CHANGED)), applied=("main@1234567 (apps)",))
    text = drift_text.text(found)
    assert text.index("the engine has applied main@1234567 (apps)") < text.index("Deployment shop/web")
    assert "--correct" not in text
    assert print_drift.exit_code(found) == 1
    assert print_drift.exit_code(dataclasses.replace(found, applied=())) == 2
    assert print_drift.exit_code(dataclasses.replace(found, applied=()), is_committed=False) == 1


def test_of_what_the_engine_does_not_have_it_cannot_be_told_that_there_is_no_drift() -> None:
    other = dataclasses.replace(NONE, applied=("main@1234567 (apps)",))
    assert print_drift.exit_code(other) == 1
    assert print_drift.exit_code(NONE, is_committed=False) == 1
    assert print_drift.exit_code(NONE) == 0
    dirty = Diagnostic.warning(
        "uncommitted",
        "1 file is not as in the commit",
        fix="git stash.",
    )
    for text in (drift_text.text(other), drift_text.text(NONE, problems=[dirty])):
        assert text.startswith("infra   nothing differs from what is here (412 objects compared")
        assert "no drift" not in text
        assert "  next     " in text
    assert "whether anything differs from that was not looked at" in drift_text.text(other)
    # To correct anything would be refused.
    changed = drift_text.text(with_one(one(DriftKind.CHANGED)), problems=[dirty])
    assert "next     git stash. Then again" in changed
    assert "--correct" not in changed


@pytest.mark.parametrize(
    ("rule", "way_out", "told"),
    [
        ("branch-behind", "git pull", "git pull; then again"),
        ("commit-not-pushed", "git push x HEAD:main", "git push x HEAD:main, and let the engine apply it; or check"),
        ("branch-diverged", "Bring them together: git pull.", "bring them together: git pull, and let the engine"),
        ("remote-unknown", "See whether it works.", "push the commit and let the engine apply it, or check out"),
    ],
)
def test_the_way_to_the_commit_of_the_engine_depends_on_who_is_ahead(rule: str, way_out: str, told: str) -> None:
    problem = Diagnostic.error(rule, "it is elsewhere", fix=way_out)
    other = dataclasses.replace(with_one(one(DriftKind.CHANGED)), applied=("main@1234567 (apps)",))
    assert f"  next     {told}" in drift_text.text(other, problems=[problem])


def test_after_a_correction_nobody_is_told_to_do_the_same_again() -> None:
    found = with_one(one(DriftKind.CHANGED))
    assert "next     firstlight drift infra --correct asks" in drift_text.text(found)
    after = drift_text.text(dataclasses.replace(found, ways=("kubectl edit deployment web -n shop",)))
    assert "next     kubectl edit deployment web -n shop" in after
    assert "--correct" not in after


def test_many_fields_are_cut_in_text_and_not_in_data() -> None:
    found = with_one(one(DriftKind.CHANGED, fields=20))
    assert "and 12 more: --output json has all" in drift_text.text(found)
    assert len(drift_text.data(found)["drifted"][0]["fields"]) == 20


def test_names_of_strangers_do_not_draw_on_the_terminal() -> None:
    bad = dataclasses.replace(one(DriftKind.CHANGED), says="a\x1b[2Jb")
    assert "\x1b" not in drift_text.text(with_one(bad))


def test_news() -> None:
    changed, missing = one(DriftKind.CHANGED, fields=1), one(DriftKind.MISSING)
    assert drift_text.news(with_one(changed), with_one(changed)) == []
    came = drift_text.news(NONE, with_one(changed))
    assert came[0] == "apps:"
    assert "spec.f0" in came[2]
    assert drift_text.news(with_one(changed), with_one(missing))[-1].startswith("apps:\n  ✔ as Git has it")


def test_names_forge_no_lines_and_no_commands() -> None:
    def shown(name: str) -> str:
        role = ObjectId("rbac.authorization.k8s.io", "ClusterRole", "", name)
        return drift_text.text(with_one(dataclasses.replace(one(DriftKind.EXTRA), id=role)))

    assert "kubectl delete clusterrole -- 'a; touch x #'" in shown("a; touch x #")
    assert "kubectl delete clusterrole -- --all" in shown("--all")
    assert "kubectl delete clusterrole system:one" in shown("system:one")
    forged = shown("a\n  next     firstlight down infra\tb")
    assert r"ClusterRole a\n  next     firstlight down infra\tb" in forged
    assert not any(line.startswith("  next     firstlight down") for line in forged.splitlines())
    assert "kubectl delete" not in forged

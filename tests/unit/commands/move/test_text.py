"""The report of a rehearsed move."""

import dataclasses
from typing import Any

import pytest

from firstlight.commands.move import text
from firstlight.commands.move.lab_rehearsal import RehearsedMove

FINE = RehearsedMove(
    what="move whoami to bootstrap", cluster="home", lab="move-home", brought_up=92.4, moved=14.2,
    passed=(("bootstrap", 3),), is_passing=True, certificate="ab12cd34", pods=14,
    second_run="0 writes to the API server and 1 machine in a second run, by the audit log",
    simulated=("nodes", "external secrets"), untried=("what containers do",),
)  # fmt: skip


def test_it_went_well() -> None:
    assert FINE.is_fine
    assert text.rehearsal_text(FINE).splitlines() == [
        "home   rehearsed: move whoami to bootstrap   ✔ nothing deleted, no pod replaced, a second run writes nothing",
        "  brought up 1m32s, as the repo has it now, to the handover",
        "  moved      14s: 3 objects passed to bootstrap; certificate ab12…",
        "  pods       14 the same, 0 replaced",
        "  deleted    0, by the audit log",
        "  second run 0 writes to the API server and 1 machine in a second run, by the audit log",
        "  cold start planned, and not rehearsed: once it is written, firstlight rehearse home",
        "  simulated  nodes, external secrets",
        "  not tried  what containers do",
    ]


def test_nobody_else_gets_it() -> None:
    told = dataclasses.replace(FINE, is_passing=False, passed=(("flux (HelmRelease a/a)", 1),))

    assert "1 object of flux (HelmRelease a/a), the owner stays; certificate" in text.rehearsal_text(told)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"failure": "home, reconcile: forbidden", "hint": "See", "certificate": "", "second_run": ""}, "✘ it fails"),
        ({"deleted": ("delete pods web/web-1",)}, "✘ something was deleted"),
        ({"replaced": ("web/web-1",)}, "✘ pods were replaced"),
        ({"written": ("it would apply Deployment web/web",)}, "✘ a second run is not without writes"),
        ({"certificate": ""}, "✘ it is not proven"),
        ({"second_run": ""}, "✘ it is not proven"),
    ],
)
def test_what_went_wrong_is_on_top(wrong: dict[str, Any], said: str) -> None:
    told = dataclasses.replace(FINE, **wrong)

    assert not told.is_fine
    assert text.rehearsal_data(told)["fine"] is False
    shown = text.rehearsal_text(told)
    assert shown.splitlines()[0].endswith(said)
    for each in wrong.values():
        assert not each or (each if isinstance(each, str) else each[0]) in shown
    assert "cold start" not in shown
    assert "--keep leaves the lab running" in shown
    assert "firstlight lab kubeconfig -n move-home" in text.rehearsal_text(dataclasses.replace(told, is_kept=True))


def test_many_are_some() -> None:
    told = dataclasses.replace(FINE, deleted=tuple(f"delete pods web/web-{number}" for number in range(30)))

    assert "and 20 more" in text.rehearsal_text(told, columns=80)
    assert len(text.rehearsal_data(told)["deleted"]) == 30
    assert max(map(len, text.rehearsal_text(told, columns=80).splitlines()[1:])) <= 80


def test_the_keys_of_json() -> None:
    assert set(text.rehearsal_data(FINE)) == {
        "cluster", "fine", "lab", "kept", "broughtUp", "moved", "passing", "passed", "certificate", "pods", "replaced",
        "deleted", "secondRun", "written", "failed", "hint", "simulated", "untried",
    }  # fmt: skip

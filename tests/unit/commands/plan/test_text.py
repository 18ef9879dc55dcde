"""Plans as text and as data: what people and programs read."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight.commands.plan import plan as plan_plan
from firstlight.commands.plan import text as plan_text
from firstlight.drawing import table
from firstlight.model.diagnostic import Diagnostic, Evidence
from firstlight.model.plan import Plan
from firstlight.plan import build
from tests.unit.plan import platforms
from tests.unit.plan.graphs import step

SCENARIOS = Path(__file__).parents[3] / "scenarios" / "plan"


def made(name: str) -> Plan:
    platform, renditions = platforms.load(SCENARIOS / name / "platform.yaml")
    return build.build(platform, platform.clusters[0], renditions=renditions)


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_steps_fit_the_terminal(columns: int) -> None:
    for phase in plan_text.phases(made("helmfile-flux"), columns=columns, everything=False):
        assert all(table.width(line) <= columns for line in phase)


def test_a_plan_that_can_run() -> None:
    text = plan_text.text(made("helmfile-flux"), columns=120)

    assert text.startswith("home   can run, 1 warning   29 steps   nothing rendered")
    assert "critical path   3 control planes › etcd › kubeconfig" in text
    assert "smallest        cilium, coredns, flux-instance, flux-operator" in text
    assert "without need    cert-manager, spegel" in text
    assert "is in bootstrap, and nothing" not in text  # the summary says it already


def test_a_blocked_plan_says_what_why_and_the_way_out() -> None:
    text = plan_text.text(made("talos-beside"), columns=120)

    assert "blocked by 3 errors" in text
    assert "✘ Talos brings its own CoreDNS beside coredns: both want the Service kube-dns   dns-twice" in text
    assert "Talos brings CoreDNS (default of Talos, CoreDNS is not disabled)" in text
    assert "cluster.coreDNS.disabled: true" in text


def test_objects_are_counted_where_they_are_known() -> None:
    lines = plan_text.text(made("own-kinds"), columns=120).splitlines()

    (row,) = [line.split() for line in lines if line.split()[1:2] == ["cert-manager"] and "chart" in line]
    assert "objects" in "".join(lines[:4])
    assert "2" in row


def test_what_never_runs_is_told() -> None:
    text = plan_text.text(made("circles"), columns=120)

    assert "never run       a, b, baseline, root, apps and" in text
    assert "\n  never  " in text


def test_many_steps_are_told_by_their_waves() -> None:
    plan = Plan(cluster="home", steps=tuple(step(f"s{index}") for index in range(60)))

    short, whole = (plan_text.text(plan, columns=120, everything=each) for each in (False, True))

    assert "60 steps, wave by wave" in short
    assert len(short.splitlines()) < 15
    assert all(f" s{index} " in whole for index in range(60))


def test_long_sentences_are_folded_under_themselves() -> None:
    chain = (Evidence("says " * 40, where="name"),)
    problem = Diagnostic.error("test", "word " * 40, evidence=chain, fix="do " * 60)
    plan = dataclasses.replace(made("no-engine"), problems=(problem,))

    lines = plan_text.text(plan, columns=80).splitlines()

    assert all(table.width(line) <= 80 for line in lines)


def test_escape_sequences_of_strangers_are_shown_and_not_obeyed() -> None:
    evil = "a\x1b[31mb\nc"
    problem = Diagnostic.error(
        "test",
        evil,
        evidence=(Evidence(evil, where=evil),),
        fix=evil,
        subject=evil,
    )
    plan = Plan(cluster=evil, steps=(dataclasses.replace(step(evil), what=evil),), problems=(problem,))

    assert "\x1b" not in plan_text.text(plan, columns=120, everything=True)


def test_data_is_whole_and_can_be_written() -> None:
    plan = made("own-kinds")

    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(plan_plan.data(plan)))

    assert data["cluster"] == "home"
    assert [each["id"] for each in data["steps"]] == [each.id for each in plan.steps]
    (core,) = [each for each in data["steps"] if each["id"] == "core/cert-manager"]
    assert core["creates"][0] == {
        "group": "apps", "kind": "Deployment", "namespace": "cert-manager", "name": "cert-manager",
    }  # fmt: skip
    assert {"step": "crds/cert-manager", "tie": "fact"}.items() <= core["needs"][0].items()
    assert core["gates"][0]["subject"] == "certificates"
    assert core["wave"] == 5
    assert data["criticalPath"][0] == "machine:control-planes"
    assert data["smallestBootstrap"]["needed"] == ["cilium", "flux"]
    assert all(each["fix"] for each in data["problems"])


def test_steps_of_one_name_are_told_apart() -> None:
    components = {
        "argocd": {"phase": "engine", "role": "engine", "namespace": "argocd"},
        "root": {"phase": "core", "side": "hybrid", "form": "Application", "bootstrapForm": "kubectl command"},
        "alone": {"form": "Application", "parent": "root"},
    }
    platform, _ = platforms.make({"clusters": {"home": {"engine": "argocd"}}, "components": components})
    plan = build.build(platform, platform.clusters[0])

    called = plan_text.labels(plan)
    text = plan_text.text(plan, columns=200)

    assert [each for each in called.values() if each.startswith("root")] == [
        "root (apply)", "root (root object)", "root (adoption)",
    ]  # fmt: skip
    assert called["gitops/alone"] == "alone"
    assert len(set(called.values())) == len(called)
    (path,) = [line for line in text.splitlines() if line.startswith("critical path")]
    assert "› root (root object) › root (adoption) › certificate" in path
    assert "root ›" not in path

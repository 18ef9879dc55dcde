"""Upgrades and machines that leave: each file has what was found, what was asked, and under ``told`` what is said.

``talos`` asks for versions of Talos, ``kubernetes`` for one of Kubernetes, ``leaves`` for a machine to go. What
``talosctl upgrade-k8s --dry-run`` prints is in ``manifests``, beside the objects that Git owns.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.clients.talosctl import cluster_commands
from firstlight.commands.node import departure, kubernetes_upgrade, talos_upgrade_plan, text
from firstlight.execute.handover import upgrade_preview
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.machine_report import EtcdData, EtcdSight, MachineReport, MachineStanding
from firstlight.model.place import Place
from firstlight.model.upgrade_plan import DeclaredVersion, UpgradeCandidate

HERE = Path(__file__).parent
SCENARIOS = sorted(each.stem for each in HERE.glob("*.yaml"))
INSTALLER = "ghcr.io/siderolabs/installer:v1.13.0"


@pytest.mark.parametrize("name", SCENARIOS)
def test_upgrade(name: str) -> None:
    path = HERE / f"{name}.yaml"
    case = yaml.safe_load(path.read_text())

    told = _told(case).rstrip() + "\n"

    if os.environ.get("FIRSTLIGHT_RECORD"):  # read every line of it afterwards
        before = path.read_text().partition("told: |")[0]
        path.write_text(before + "told: |2\n" + "".join(f"  {line}\n" if line else "\n" for line in told.splitlines()))
        return
    assert told == case["told"]


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 20


def _told(case: Mapping[str, Any]) -> str:
    if "manifests" in case:
        return _manifests(case)
    machines = [_machine(name, each or {}) for name, each in case["machines"].items()]
    if "leaves" in case:
        return _leaves(case, [each.machine for each in machines])
    said = case.get("declared", {})
    declared = DeclaredVersion(version=said.get("version", ""), place=Place("firstlight.yaml", said.get("line", 7)))
    if "kubernetes" in case:
        plan = kubernetes_upgrade.plan_kubernetes_upgrade(
            machines, case["kubernetes"], cluster="infra", runs=case["runs"], declared=declared
        )
    else:
        plan = talos_upgrade_plan.plan_talos_upgrade(
            machines, case["talos"], cluster="infra", kubernetes=case.get("runs", "v1.35.2"), declared=declared,
            only=case.get("only", ()), leader=case.get("leader", ""),
        )  # fmt: skip
    return "\n".join([text.upgrade_text(plan), *_codes(*plan.warnings, *plan.refusals)])


def _codes(*found: Diagnostic) -> list[str]:
    return [f"{each.severity}: {each.code}" for each in found]


def _manifests(case: Mapping[str, Any]) -> str:
    tried = cluster_commands.parse_kubernetes_upgrade(case["manifests"], is_dry_run=True)
    preview = upgrade_preview.read(tried, [ObjectId(*each) for each in case.get("git", ())], ())
    warnings = tuple(kubernetes_upgrade.deprecation_warnings(tried))
    found = tuple(kubernetes_upgrade.manifest_refusals(
        written=[str(each) for each in preview.written], deleted=[str(each) for each in preview.deleted],
        besides=preview.besides, unknown=case.get("unknown", ""), is_pruned=case.get("pruned", True),
    ))  # fmt: skip
    lines = [
        *kubernetes_upgrade.manifest_changes(tried),
        *(each.message for each in warnings),
        *text.refusals_text(found),
        *_codes(*warnings, *found),
    ]
    return "\n".join(lines)


def _machine(name: str, given: Mapping[str, Any]) -> UpgradeCandidate:
    role = MachineRole.WORKER if name.startswith("worker") else MachineRole.CONTROL_PLANE
    return UpgradeCandidate(
        machine=Machine(name=name, role=role, place=Place("firstlight.yaml", 20), address="10.0.0.9"),
        talos=given.get("talos", "" if "why" in given else "v1.13.0"),
        why=given.get("why", ""),
        image=given.get("image", INSTALLER),
        installed=given.get("installed", ""),
        extensions=tuple(given.get("extensions", ())),
        schematic=given.get("schematic", ""),
        kubelet=given.get("kubelet", ""),
    )


def _leaves(case: Mapping[str, Any], machines: list[Machine]) -> str:
    """Members are named as their machines; ``strange`` ones have none, and those that are ``silent`` do not answer."""
    planes = [each for each in machines if each.role is MachineRole.CONTROL_PLANE]
    outside = set(case.get("outside", ()))
    members = frozenset([*(each.name for each in planes if each.name not in outside), *case.get("strange", ())])
    silent, learners = set(case.get("silent", ())), frozenset(case.get("learners", ()))
    reports = [
        MachineReport(machine=each, standing=MachineStanding.ABSENT)
        if each.name in silent
        else MachineReport(
            machine=each,
            standing=MachineStanding.OURS,
            stage="running",
            etcd=EtcdSight(
                data=EtcdData.SOME,
                state="Running",
                member="" if each.name in outside else each.name,
                members=members,
                learners=learners,
                leader=next(iter(members), ""),
            ),
        )
        for each in planes
    ]
    (machine,) = [each for each in machines if each.name == case["leaves"]]
    seen = departure.etcd_before_departure(reports, machine.name, own=machine.name if machine.name in members else "")
    found = departure.departure_refusals(machine, seen, reports)
    return "\n".join([*text.refusals_text(found), *_codes(*found)]) or "it may leave"

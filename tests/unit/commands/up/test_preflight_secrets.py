"""Secrets that cannot be had are told at the lines of their keys."""

from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.commands.up import preflight
from firstlight.execute.means import Means
from firstlight.execute.world import RunPrograms
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.place import Place
from firstlight.model.plan import Action, Plan, Step
from firstlight.model.secret import Secret
from firstlight.model.work import Configure, CreateSecret, Work
from firstlight.repo import platform_reader

DECLARED = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
secrets:
  - name: age
    namespace: flux-system
    data:
      known: env:KNOWN
      lost: env:LOST
clusters: {home: {}}
"""


async def test_a_value_that_is_missing_is_told_where_its_key_is(tmp_path: Path) -> None:
    (tmp_path / "firstlight.yaml").write_text(DECLARED)
    platform = platform_reader.read(tmp_path)
    (secret,) = platform.secrets
    step = Step(id="core/age", phase=Phase.CORE, action=Action.CREATE_SECRET, name="age")
    plan = Plan(cluster="home", steps=(step,))
    work = Work(cluster=platform.clusters[0], plan=plan, tasks={step.id: CreateSecret(secret=secret, manager="tests")})

    async def resolve(reference: str) -> Secret:
        if reference == "env:LOST":
            raise errors.FirstlightError("env:LOST: the variable is not set", hint="export LOST=…")
        return Secret("value")

    (problem,) = await preflight.secret_problems(work, resolve)

    assert "the key lost of the Secret flux-system/age cannot be had" in problem.message
    assert [str(each.place) for each in problem.evidence] == ["firstlight.yaml:9:7"]


@pytest.mark.parametrize(
    ("talosconfig", "has_machines", "codes"),
    [("", True, ["talos-secrets-unavailable"]), ("", False, []), ("file:talosconfig", True, [])],
    ids=["to be made", "no machine is configured", "whole configs have them"],
)
async def test_keys_of_the_cluster_that_cannot_be_made_block_the_run(
    tmp_path: Path, talosconfig: str, has_machines: bool, codes: list[str]
) -> None:
    cluster = Cluster(name="home", place=Place("firstlight.yaml", 3), talosconfig=talosconfig)
    step = Step(id="machine/cp-1", phase=Phase.MACHINE, action=Action.CONFIGURE, name="cp-1")
    work = Work(
        cluster=cluster, plan=Plan(cluster="home", steps=(step,)),
        tasks={step.id: Configure(drafts=())} if has_machines else {},
    )  # fmt: skip

    async def nothing(_: object) -> Any:
        raise AssertionError

    async def check(asked: Cluster) -> None:
        raise errors.Refused(f"{asked.name}: there is no .sops.yaml", hint="Write one.")

    means = Means(
        programs=RunPrograms(), state=tmp_path, open_renderer=nothing, resolve=nothing, talos_secrets=nothing,
        check_talos_secrets=check,
    )  # fmt: skip

    found = await preflight.world_problems(work, means)

    assert [each.code for each in found if each.code.startswith("talos-")] == codes
    assert [(each.message, each.fix) for each in found if each.code in codes] == [
        ("home: there is no .sops.yaml", "Write one.") for _ in codes
    ]

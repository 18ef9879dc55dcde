"""Secrets that cannot be had are told at the lines of their keys."""

from pathlib import Path

from firstlight import errors
from firstlight.commands.up import preflight
from firstlight.model.component import Phase
from firstlight.model.plan import Action, Plan, Step
from firstlight.model.secret import Secret
from firstlight.model.work import CreateSecret, Work
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

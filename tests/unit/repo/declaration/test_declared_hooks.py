"""Hooks that firstlight.yaml declares: read into components, or refused with the place and what to write instead."""

from pathlib import Path

import pytest

from firstlight.model.component import Component
from firstlight.model.own_gates import Hook
from firstlight.repo import platform_reader

HEAD = "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: home}\nclusters: {home: {}}\n"
HELMFILE = "releases:\n  - {name: db, namespace: data, chart: charts/db}\n"


def read(path: Path, hooks: str) -> tuple[Component | None, list[str]]:
    (path / "helmfile.yaml").write_text(HELMFILE)
    (path / "firstlight.yaml").write_text(f"{HEAD}components:\n  db:\n    hooks:\n{hooks}")
    found = platform_reader.read(path)
    diagnostics = [
        f"{each.code} {each.place}: {each.message} | {each.fix}"
        for each in found.diagnostics
        if each.place.path == "firstlight.yaml"
    ]
    return next((each for each in found.components if each.name == "db"), None), diagnostics


def test_hooks_are_read_with_their_times(tmp_path: Path) -> None:
    component, problems = read(
        tmp_path,
        """\
      - {run: [./migrate, --all], unless: [./is-migrated]}
      - {run: [a], unless: [b], timeout: 90s}
      - {run: [a], unless: [b], timeout: 2m}
      - {run: [a], unless: [b], timeout: 2.5}
""",
    )

    assert problems == []
    assert component is not None
    first, *others = component.hooks
    assert first == Hook(place=first.place, run=("./migrate", "--all"), unless=("./is-migrated",), timeout=60.0)
    assert str(first.place) == "firstlight.yaml:8:9"
    assert [each.timeout for each in others] == [90.0, 120.0, 2.5]


@pytest.mark.parametrize(
    ("hook", "code", "problem"),
    [
        (
            "{run: [a]}",
            "field-missing",
            "8:9: components.db.hooks[0].unless is missing | Write unless: [COMMAND], one that exits with 0",
        ),
        ("{unless: [a]}", "field-missing", "components.db.hooks[0].run is missing"),
        ("{run: [], unless: [a]}", "field-wrong", "components.db.hooks[0].run is empty | Write at least one entry."),
        ("{run: a b, unless: [a]}", "field-wrong", "components.db.hooks[0].run must be a list (- item)"),
        (
            "{run: [sleep, 5], unless: [a]}",
            "field-wrong",
            'components.db.hooks[0].run[1] must be a text | Write it in quotes: "5".',
        ),
        (
            "{run: [''], unless: [a]}",
            "hook-program-wrong",
            "8:16: components.db.hooks[0] has an empty program in run | Write a program",
        ),
        ('{run: [a], unless: ["a\\0"]}', "hook-program-wrong", "has a zero byte in unless"),
        (
            "{run: [a], unless: [a], timeout: soon}",
            "hook-timeout-wrong",
            "has a timeout that is none | Write seconds, 90s or 5m",
        ),
        ("{run: [a], unless: [a], timeout: 0}", "hook-timeout-wrong", "has a timeout that is none"),
        ("{run: [a], unless: [a], timeout: 2h}", "hook-timeout-wrong", "has a timeout that is none"),
        (
            "{run: [a], unless: [a], timeout: [1]}",
            "field-wrong",
            "hooks[0].timeout is no time | Write seconds, or such as 90s or 5m.",
        ),
        (
            "{run: [a], unles: [a], unless: [a]}",
            "field-unknown",
            "components.db.hooks[0].unles is no field | Did you mean unless?",
        ),
    ],
)
def test_each_mistake_is_refused_where_it_stands(tmp_path: Path, hook: str, code: str, problem: str) -> None:
    component, problems = read(tmp_path, f"      - {hook}\n")

    assert len(problems) == 1, problems
    assert problems[0].startswith(f"{code} firstlight.yaml:8:")
    assert problem in problems[0]
    assert component is None or component.hooks == ()


def test_hooks_of_what_git_alone_has_are_refused_since_they_would_never_run(tmp_path: Path) -> None:
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "db.yaml").write_text(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "metadata: {name: db, namespace: flux-system}\n"
        "spec: {interval: 1h, path: ./db, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}\n"
    )
    (tmp_path / "firstlight.yaml").write_text(
        "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: home}\n"
        "gitops: {engine: flux}\nclusters: {home: {path: apps}}\n"
        "components:\n  db:\n    hooks: [{run: [a], unless: [b]}]\n"
    )

    found = platform_reader.read(tmp_path)

    (diagnostic,) = (each for each in found.diagnostics if each.code == "hooks-never-run")
    assert str(diagnostic.place) == "firstlight.yaml:8:13"
    assert diagnostic.message == "db has hooks, and they run after bootstrap alone: Git has all of it in home"


def test_a_script_that_is_a_hook_is_not_taken_for_a_bootstrap_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "bootstrap-db.sh").write_text("#!/bin/sh\nkubectl create configmap seeded -n data\n")
    (tmp_path / "scripts" / "deploy-it.sh").write_text(
        "#!/bin/sh\nkubectl get configmap seeded || kubectl apply -f x\n"
    )

    component, problems = read(
        tmp_path, "      - {run: [./scripts/bootstrap-db.sh], unless: [sh, scripts/deploy-it.sh]}\n"
    )
    found = platform_reader.read(tmp_path)

    assert problems == []
    assert component is not None
    assert [each.name for each in found.components] == ["db"]
    doubts = {each.doubt.partition(";")[0] for each in found.unreached}
    assert "scripts/bootstrap-db.sh is a hook or a gate in firstlight.yaml" in doubts

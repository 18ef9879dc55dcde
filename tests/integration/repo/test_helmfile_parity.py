"""The static reading of helmfiles against helmfile itself: the same releases, versions, labels and values."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from firstlight.clients import command
from firstlight.model.component import Origin, SourceForm
from firstlight.model.source import ChartSource
from firstlight.repo import helmfile
from firstlight.repo.work_tree import WorkTree
from firstlight.tools import catalogue, find, install, workshop
from tests.unit.repo.helmfile.cases import CASES, VALUES
from tests.unit.repo.scripts import shown

SCENARIOS = {
    # The scenario, the file that helmfile is given, and its environments; those that need secrets or yq are not here.
    "phases crds": ("phases", "bootstrap/helmfile.d/00-crds.yaml", ("infra", "apps")),
    "phases core": ("phases", "bootstrap/helmfile.d/01-core.yaml.gotmpl", ("infra", "apps")),
    "from-gitops": ("from-gitops", "bootstrap/helmfile/apps.yaml", ("default",)),
    "nested": ("nested", "helmfile.yaml.gotmpl", ("prod", "lab")),
}


@pytest_asyncio.fixture(scope="module")
async def programs() -> dict[str, Path]:
    """helmfile, if it is here already: it is built for benchmarks only; and helm, which it asks for its version."""
    shop = workshop.here()
    search = await find.find(catalogue.load().get("helmfile"), shop)
    if search.found is None:
        pytest.skip("helmfile is not installed: firstlight tools install helmfile")
    return {"helmfile": search.found.path, **(await install.ensure(["helm"]))}


async def run(programs: dict[str, Path], home: Path, *arguments: str, cwd: Path) -> bytes:
    """Run helmfile with a home of its own, and nothing of ours in its environment."""
    home.mkdir(exist_ok=True)
    environment = {
        "HOME": str(home), "PATH": os.environ["PATH"], "HELMFILE_UPGRADE_NOTICE_DISABLED": "1",
        "XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config"),
    }  # fmt: skip
    argv = [str(programs["helmfile"]), "--helm-binary", str(programs["helm"]), *arguments]
    return (await command.run(argv, env=environment, cwd=cwd, timeout=120)).stdout


@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_same_releases_are_found(name: str, programs: dict[str, Path], tmp_path: Path) -> None:
    scenario, path, environments = SCENARIOS[name]
    root = shutil.copytree(shown.SCENARIOS / "helmfile" / scenario / "repo", tmp_path / "repo")
    found = helmfile.read(WorkTree(root))

    for environment in environments:
        given = ["--file", path, "--environment", environment, "list", "--output", "json"]
        listed = json.loads(await run(programs, tmp_path / "home", *given, cwd=root))

        cluster = "" if environment == "default" else environment
        mine = [
            _listed(each, is_installed=is_in)
            for origins, is_in in ((found.origins, True), (found.unreached, False))
            for each in origins
            if each.form == SourceForm.HELMFILE and each.cluster == cluster and _is_of(each, path, name)
        ]
        assert sorted(_shown(each) for each in mine if each) == sorted(_shown(each) for each in listed)


def _is_of(origin: Origin, path: str, name: str) -> bool:
    return origin.place.path == path or name == "nested"


def _listed(origin: Origin, *, is_installed: bool) -> dict[str, Any] | None:
    """An origin as ``helmfile list`` prints it; what selectors leave out is not listed at all."""
    if "selectors" in origin.doubt:
        return None
    assert isinstance(origin.source, ChartSource)
    return {
        "name": origin.source.release,
        "namespace": origin.namespace,
        "version": origin.version,
        "installed": is_installed or "installed: false" not in origin.doubt,
        "enabled": is_installed or "condition" not in origin.doubt,
        "chart": origin.source.name.rpartition("/")[2],
    }


def _shown(release: dict[str, Any]) -> str:
    kept = {key: release[key] for key in ("name", "namespace", "version", "installed", "enabled")}
    return json.dumps({**kept, "chart": release["chart"].rpartition("/")[2]}, sort_keys=True)


async def test_values_are_the_ones_that_helmfile_writes(programs: dict[str, Path], tmp_path: Path) -> None:
    """Files, templates, maps and templates of releases: merged, they are what helmfile would hand to helm."""
    root = shutil.copytree(shown.SCENARIOS / "helmfile" / "nested" / "repo", tmp_path / "repo")
    name = str(tmp_path / "{{ .Release.Name }}.yaml")

    given = ["--file", "helmfile.yaml.gotmpl", "--environment", "prod"]
    await run(programs, tmp_path / "home", *given, "write-values", "--output-file-template", name, cwd=root)

    (front,) = [
        each for each in helmfile.read(WorkTree(root)).origins if (each.cluster, each.name) == ("prod", "front")
    ]
    assert isinstance(front.source, ChartSource)
    merged: dict[str, Any] = {}
    for values in front.source.values:
        merged |= values.inline or {}
    assert merged == yaml.safe_load((tmp_path / "front.yaml").read_text())


async def test_templates_are_rendered_as_helmfile_renders_them(programs: dict[str, Path], tmp_path: Path) -> None:
    """What the table of templates says is asked again, all that are right at once."""
    right = [(template, wanted) for template, wanted in CASES if wanted is not None]

    printed = await _render(programs, tmp_path, [template for template, _ in right])

    assert dict(zip((template for template, _ in right), printed, strict=True)) == dict(right)


@pytest.mark.parametrize("template", [template for template, wanted in CASES if wanted is None][::4])
async def test_templates_that_are_refused_here_are_refused_by_helmfile(
    template: str, programs: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(Exception, match="helmfile"):
        await _render(programs, tmp_path, [template])


async def _render(programs: dict[str, Path], home: Path, templates: list[str]) -> list[str]:
    """What helmfile makes of templates, by way of values that it prints."""
    chart = home / "chart"
    chart.mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 0.1.0\n")
    lines = "".join(f"          - {{{{ tpl `{template}` . | toJson }}}}\n" for template in templates)
    (home / "helmfile.yaml.gotmpl").write_text(
        f"environments:\n  default:\n    values:\n      - {json.dumps(VALUES)}\n---\n"
        f"releases:\n  - name: x\n    chart: ./chart\n    values:\n      - out:\n{lines}"
    )
    printed = await run(programs, home / "home", "build", cwd=home)
    (state,) = [each for each in yaml.safe_load_all(printed) if each]
    found: list[str] = state["releases"][0]["values"][0]["out"]
    return found

"""``firstlight override`` as it is typed, from begin to end, against real Flux and a clone of what it follows."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from firstlight.cli import main
from tests.flux import Flux
from tests.integration.commands.drift.drifting import SETTINGS, repo


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


async def test_the_commands(flux: Flux, space: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await repo(flux, space, tmp_path / "given")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", f"{flux.at.git}tests/{space}.git", str(clone))
    place = ["lab", f"--repo={clone}", f"--kubeconfig={flux.lab.kubeconfig}"]

    async def run(*words: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(main.run, ["override", *words, *place])
        said = capsys.readouterr()
        return code, said.out, said.err

    wish = ["begin", "--emergency=outage", "--reason=the word is wrong", "--for=1h", "--component=apps"]
    code, _, err = await run(*wish)
    assert code == 3
    assert "does the engine work? yes" in err
    assert "firstlight change start --expedited" in err
    code, _, err = await run(*wish, "--anyway")
    assert code == 3
    assert "--yes" in err
    code, out, err = await run(*wish, "--anyway", "--yes")
    assert code == 0, err
    assert f"Kustomization {space}/apps" in out

    code, out, err = await run("apply", "--patch", f"ConfigMap/{space}/settings", '{"data": {"word": "right"}}')
    assert code == 0, err
    assert out == f"  ConfigMap {space}/settings   data.word\n"
    code, _, err = await run("apply", "--patch", f"ConfigMap/{space}/other", '{"data": {"word": "right"}}')
    assert code == 3
    assert "--also" in err

    code, out, _ = await run("status", "--output=json")
    assert code == 2
    (seen,) = json.loads(out)["overrides"]
    assert seen["changes"][0]["fields"] == ["data.word"]
    code, _, err = await run("end", "--offline")
    assert code == 3
    assert "data.word: right in the cluster, git in Git" in err

    await flux.commit(space, {"apps/settings.yaml": {**SETTINGS, "data": {"word": "right"}}})
    code, _, err = await run("end", "--offline")
    assert code == 3
    assert "git pull" in err or "engine" in err
    git(clone, "pull", "-q")
    code, out, _ = await run("status", "--git", "--offline")
    assert code == 2
    assert "end: Git has it" in out
    code, out, err = await run("end", "--offline")
    assert code == 0, err
    assert "ended" in out
    assert await flux.config_map("settings", space) == {"word": "right"}
    assert (clone / ".firstlight/lab/incidents" / f"{seen['id']}.md").is_file()
    assert (await run("status"))[0] == 0
    assert (await run("abort", "--id", seen["id"], "--yes"))[0] == 0

"""An override under a real Flux brought into Git by ``align``: what it writes is what Flux makes of it, and it ends."""

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from firstlight.cli import main
from firstlight.commands.override import apply, end, session
from firstlight.commands.override.git_agreement import RenderedGit
from firstlight.commands.override.session import lease_held
from firstlight.model.override import OverrideStanding
from tests import overrides
from tests.flux import Flux
from tests.integration.commands.override.overriding import part, placed, web_id

DECLARED = """apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: tests}
gitops: {engine: flux, url: "https://git.example.org/tests.git", branch: main}
clusters:
  lab: {path: apps, machines: [{name: cp-1, role: controlplane, address: 10.9.0.1}]}
"""


async def test_what_align_writes_lets_an_override_end(
    flux: Flux, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with overrides.opened(flux, tmp_path) as shop:
        for path, value in overrides.files(shop.space).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(yaml.safe_dump(value))
        (tmp_path / "firstlight.yaml").write_text(DECLARED)
        at = shop.ground()
        await shop.next("begin")
        container = {"name": "main", "image": "registry.example.org/web:2", "env": [{"name": "MODE", "value": "safe"}]}
        (opened,) = await shop.open()
        async with lease_held(at):
            opened = await apply.apply_objects(
                opened, [part(shop.space, {"replicas": 4, "template": {"spec": {"containers": [container]}}})], at
            )
            opened = await apply.delete_object(opened, overrides.map_id(shop.space), at)

        way = ["--repo", str(tmp_path), "--kubeconfig", str(flux.lab.kubeconfig), "--offline", "--output", "json"]
        code = await asyncio.to_thread(main.run, ["override", "align", "--write", *way])
        answer = json.loads(capsys.readouterr().out)
        assert (code, answer["open"], answer["written"]) == (0, [], True)
        assert {each["field"]: each["file"] for each in answer["aligned"]} == {
            "spec.replicas": "shop/web.yaml",
            "spec.template.spec.containers[name=main].image": "shop/web.yaml",
            "spec.template.spec.containers[name=main].env": "shop/web.yaml",
            "": "shop/map.yaml",
        }
        assert not (tmp_path / "shop/map.yaml").exists()
        assert await asyncio.to_thread(main.run, ["override", "align", *way]) == 0

        mended = yaml.safe_load((tmp_path / "shop/web.yaml").read_text())
        commit = await flux.commit(shop.space, {"shop/web.yaml": mended, "shop/map.yaml": None})
        async with lease_held(at):
            wanted = {web_id(shop.space): placed(mended, shop.space)}
            over = await end.end_override(
                await session.read_override(at, opened.id), at, git=RenderedGit(wanted=wanted, revision=commit)
            )
        assert (over.standing, over.notes) == (OverrideStanding.ENDED, ())
        assert await shop.replicas() == 4
        assert await flux.config_map("map", shop.space) is None
        assert await shop.marks() == []

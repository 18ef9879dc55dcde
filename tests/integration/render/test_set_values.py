"""Single values against Helm itself: what it makes of the same lines."""

import asyncio
import json
from pathlib import Path

from firstlight.clients import command
from firstlight.render.renderer_programs import RendererPrograms
from tests.unit.render.test_helm_set import BAD, LINES

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: echo\nversion: 1.0.0\n",
    "templates/a.yaml": "# {{ .Values | toJson }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
}


async def test_helm_reads_the_same_lines_the_same_way(render_programs: RendererPrograms, tmp_path: Path) -> None:
    for name, text in CHART.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    turns = asyncio.Semaphore(2)

    async def helm(line: str) -> object:
        async with turns:
            argv = [str(render_programs.helm), "template", "x", str(tmp_path), f"--set={line}"]
            done = await command.run(argv, check=False)
        found = [each for each in done.stdout.decode().splitlines() if each.startswith("# {")]
        return json.loads(found[0][2:]) if found else None

    assert dict(zip(LINES, await asyncio.gather(*map(helm, LINES)), strict=True)) == LINES
    refused = [line for line in BAD if line.count(".") < 30]
    assert await asyncio.gather(*map(helm, refused)) == [None] * len(refused)

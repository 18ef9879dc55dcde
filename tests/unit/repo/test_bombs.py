"""Small repos that would become large, and long lines: read within bounds that the kernel holds.

Recipes are data in ``tests/scenarios/bombs``. What grew with the square of a line took minutes for these.
The bounds are several times what is needed, so that a slow computer does not matter.
"""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.clients import command
from firstlight.clients.sandbox.program_limits import ProgramLimits

SCENARIOS = Path(__file__).parents[2] / "scenarios/bombs"
RECIPES = yaml.safe_load((SCENARIOS / "recipes.yaml").read_text())
BOUNDS = ProgramLimits(name="reading a bomb", data=512 << 20, cpu=40)
LINE = 1_000_000


def expanded(text: str) -> str:
    """What ``⟦TEXT⟧N`` stands for."""
    return re.sub(r"⟦([^⟧]*)⟧(\d+)", lambda match: match[1] * int(match[2]), text)


async def bounded(*words: str, cwd: Path) -> command.Completed:
    """A program that must stay within bounds; LimitExceeded where it does not."""
    return await command.run([sys.executable, *words], within=BOUNDS, cwd=cwd, check=False, timeout=300)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe["name"])
async def test_a_small_repo_does_not_become_large(recipe: dict[str, Any], tmp_path: Path) -> None:
    for name, content in recipe["files"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(expanded(content))

    done = await bounded("-m", "firstlight", "inventory", "--output", "json", cwd=tmp_path)

    printed = done.stdout.decode() + done.stderr
    assert recipe["says"] in printed
    assert len(printed) < 32_000_000
    assert "Traceback" not in printed


LINES = {
    "letters": "a",
    "words": "a ",
    "commands": "helm ",
    "quotes": '"',
    "dashes": "- ",
    "commas": "a,",
    "escapes": "\x1b[0ma",
    "URLs": "a://",
    "accounts": "a://b@",
    "schemes": "ssh:",
    "dollars": "${a}",
    "unknown variables": "${b:=${c}}",
}
WORK = {
    "URLs without passwords": "from firstlight.model import remote_url; remote_url.without_credentials(line)",
    "wrapping": "from firstlight.drawing import table; table.wrap(line, 80)",
    "commands that write": "from firstlight.repo.changes import line_changes; line_changes.writers(line)",
    "variables": "from firstlight.repo.flux import envsubst; envsubst.expand(line, {'a': 'b'}.get)",
    "variables of Talos files": "from firstlight.repo.talos.config_files import substitute as s; s(line, {'a': 'b'})",
    "YAML": "from firstlight.document import yaml_reader; yaml_reader.read(('a: ' + line).encode(), 'a.yaml')",
}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("piece", LINES)
async def test_a_long_line_takes_time_that_grows_with_its_length(piece: str, work: str, tmp_path: Path) -> None:
    """One million letters: with the square of that, what takes a microsecond a letter would take eleven days."""
    script = f"line = ({LINES[piece]!r} * {LINE})[:{LINE}]\n{WORK[work]}\nprint('done')"

    done = await bounded("-c", script, cwd=tmp_path)

    assert done.stdout == b"done\n", done.stderr[-400:]

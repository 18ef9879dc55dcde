"""What is left of a way back that was carried out: a record, however it ends, unless it was refused at once."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.cli import main
from firstlight.commands.recover import incident
from firstlight.execute.means import Means
from firstlight.execute.world import RunPrograms
from firstlight.journal import incident_records, state_files
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place

PLATFORM = "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: home}\nclusters: {home: {}}\n"
HOME = Cluster(name="home", place=Place("firstlight.yaml", 4))


def means_of(root: Path) -> Means:
    nothing: Any = None
    return Means(
        programs=RunPrograms(), state=state_files.directory_of(root), open_renderer=nothing, resolve=nothing,
        talos_secrets=nothing, now=lambda: 1.77e9,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        (0, "| How | done |"),
        (1, "| How | failed, with exit code 1 |"),
        (errors.Unreachable("no route"), "| How | failed: no route |"),
        (asyncio.CancelledError(), "| How | interrupted: the same command goes on |"),
        (errors.Refused("another cluster"), ""),
    ],
    ids=["done", "failed", "error", "interrupted", "refused"],
)
async def test_a_record_says_what_was_done_and_how_it_ended(
    ends: int | BaseException, says: str, tmp_path: Path
) -> None:
    async def carry_out() -> int:
        if isinstance(ends, BaseException):
            raise ends
        return ends

    with pytest.raises(type(ends)) if isinstance(ends, BaseException) else contextlib.nullcontext():
        await incident.recorded(carry_out, HOME, means_of(tmp_path), option="rebuild-machine cp-3")

    found = incident_records.listed(tmp_path / ".firstlight")
    assert len(found) == bool(says)
    for each in found:
        text = incident_records.path_of(tmp_path / ".firstlight", "home", each.id).read_text()
        assert says in text
        assert "| Way back | rebuild-machine cp-3 |" in text
        assert not each.is_reviewed


def test_its_blanks_are_filled_in_by_override_review(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "firstlight.yaml").write_text(PLATFORM)

    async def carry_out() -> int:
        return 0

    asyncio.run(incident.recorded(carry_out, HOME, means_of(tmp_path), option="cni"))
    assert "firstlight override review home --id 2026" in capsys.readouterr().err
    words = ["override", "review", "home", "--repo", str(tmp_path)]

    assert main.run(words) == 0
    assert "✘ no cause and no follow-ups" in capsys.readouterr().out
    assert main.run([*words, "--cause", "A switch died.", "--follow-up", "a second one, Ada, May"]) == 0
    assert main.run(words) == 0
    assert "every incident of home on this computer has its cause" in capsys.readouterr().out
    assert main.run([*words, "--cause", "Another."]) == 64

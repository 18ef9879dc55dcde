"""Repos and what would go wrong in their handover: a directory has a ``case.yaml``, and what is found in ``found.txt``.

A case has the files of a repo, and what its components render to. Offers are diffs, and are applied to see that they
help: of what an offer is for, nothing is found any more.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from firstlight.clients import command
from firstlight.commands.handover import offers as handover_offers
from firstlight.commands.up import preflight, tasks
from firstlight.document import yaml_reader
from firstlight.model.component import Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.handover import Offer
from firstlight.model.rendition import Rendition
from firstlight.plan import build, cluster_facts
from firstlight.repo import platform_reader
from tests.unit.plan.platforms import objects

HERE = Path(__file__).parent
SCENARIOS = sorted(each.name for each in HERE.iterdir() if (each / "case.yaml").is_file())


@pytest.mark.parametrize("name", SCENARIOS)
async def test_found(name: str, tmp_path: Path) -> None:
    (document,) = yaml_reader.read((HERE / name / "case.yaml").read_bytes(), "case.yaml").documents
    case, expected = document.value, HERE / name / "found.txt"
    for path, text in case["files"].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    problems, offers = found(case, tmp_path)

    printed = "\n".join(_printed(problems, offers)) + "\n"
    if os.environ.get("FIRSTLIGHT_RECORD"):  # read every line of it afterwards
        expected.write_text(printed)
    assert printed == expected.read_text()
    for each in offers:
        await command.run(["git", "apply", "-"], cwd=tmp_path, stdin=each.diff.encode())
    after, left = found(case, tmp_path)
    assert left == ()
    assert "handover-server-side" not in {each.code for each in after}


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) > 5


def found(case: Mapping[str, Any], root: Path) -> tuple[list[Diagnostic], tuple[Offer, ...]]:
    platform = platform_reader.read(root)
    (cluster,) = platform.clusters
    renditions = [
        Rendition(component=name, cluster=cluster.name, side=side, objects=objects(text))
        for name, sides in case.get("renditions", {}).items()
        for side, text in _sides(sides)
    ]
    plan = build.build(platform, cluster, renditions=renditions)
    work = tasks.work(
        platform, cluster, plan, renditions=renditions, installations={}, drafts=(), revision="c0ffee"
    )  # fmt: skip
    problems = preflight.handover_problems(platform, cluster, work, renditions, is_strict=case.get("strict", True))
    known = cluster_facts.of(platform, cluster, renditions)
    return problems, handover_offers.offers(known, preflight.passing_of(work), platform.root)


def _sides(texts: Mapping[str, str] | str) -> Iterator[tuple[Side, str]]:
    if isinstance(texts, str):
        yield from ((side, texts) for side in (Side.BOOTSTRAP, Side.GITOPS))
    else:
        yield from ((Side(side), text) for side, text in texts.items())


def _printed(problems: list[Diagnostic], offers: tuple[Offer, ...]) -> Iterator[str]:
    for problem in problems:
        yield f"{problem.severity} {problem.code} ({problem.subject}): {problem.message}"
        for link in problem.evidence:
            yield f"    {link.where}: {link.text}" + (f" ({link.place})" if link.place else "")
        yield f"    → {problem.fix}"
    for offer in offers:
        yield f"offer for {offer.component} in {offer.path}"
        yield from (f"    {each}" for each in offer.why)
        yield offer.diff.rstrip("\n")

"""Whole repos as people have them, against all rules: what is found there is what a person who knows would say.

tests/scenarios/audit/common, a file a repo: ``files``, and ``finds``, how often each rule fires; no other does.
"""

import collections
import datetime
from pathlib import Path

import pytest

from firstlight.commands.audit import rulebook
from firstlight.document import yaml_reader
from firstlight.repo import platform_reader
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.secrecy import secret_search
from firstlight.repo.work_tree import WorkTree

COMMON = Path(__file__).parents[3] / "scenarios" / "audit" / "common"


@pytest.mark.parametrize("file", sorted(COMMON.glob("*.yaml")), ids=lambda file: file.stem)
def test_nothing_else_is_found(file: Path, tmp_path: Path) -> None:
    (document,) = yaml_reader.read(file.read_bytes(), file.name).documents
    for path, text in document.value["files"].items():
        written = tmp_path / path
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(text)
    tree = WorkTree(tmp_path)
    scene = PlatformView(
        platform=platform_reader.read_tree(tree),
        files=tree,
        clear_secrets=secret_search.clear_secrets_of(tree),
        today=datetime.date(2026, 11, 1),
    )

    found = rulebook.findings(scene, rulebook.read_rulebook())

    shown = "\n".join(f"{each.code}: {each.place} {each.message}" for each in found)
    assert collections.Counter(each.code for each in found) == document.value["finds"], shown

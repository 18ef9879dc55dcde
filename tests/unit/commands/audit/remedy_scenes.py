"""Scenes for remedies: a repo with two clusters of a mesh, on the disk, so that patches can be tried."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight.commands.audit import rule_remedy, rulebook
from firstlight.commands.audit.rule_remedy import Remedy
from firstlight.document import yaml_reader
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import Finding
from firstlight.repo import file_patch, platform_reader
from firstlight.repo.platform_view import LiveObjects, PlatformView
from firstlight.repo.work_tree import WorkTree

MESH = Path(__file__).parents[3] / "scenarios" / "audit" / "repos" / "mesh.yaml"
STORE = """\
apiVersion: external-secrets.io/v1
kind: ClusterSecretStore
metadata: {name: vault}
spec: {provider: {fake: {data: []}}}
"""
STORES: Mapping[str, str] = {
    "kubernetes/clusters/infra/store.yaml": STORE,
    "kubernetes/clusters/apps/store.yaml": STORE,
}


def mesh() -> Mapping[str, str]:
    """The files of the repo, by path."""
    found: Mapping[str, str] = yaml_reader.read(MESH.read_bytes(), MESH.name).documents[0].value
    return found


def made(
    root: Path, files: Mapping[str, str | None], *, live: Mapping[str, Sequence[Mapping[str, Any]]] | None = None
) -> PlatformView:
    """A scene of the repo mesh.yaml with other files."""
    base = mesh()
    for path, text in {**base, **files}.items():
        if text is not None:
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return read(root, live=live or {})


def read(root: Path, *, live: Mapping[str, Sequence[Mapping[str, Any]]]) -> PlatformView:
    """What is on the disk now."""
    tree = WorkTree(root)
    answers = {
        name: LiveObjects(objects={key: tuple(o for o in objects if _kind(o) == key) for key in map(_kind, objects)})
        for name, objects in live.items()
    }
    return PlatformView(
        platform=platform_reader.read_tree(tree), files=tree, today=datetime.date(2026, 11, 1), live=answers
    )


def _kind(value: Mapping[str, Any]) -> tuple[str, str]:
    named = ObjectId.of(value)
    return named.group, named.kind


def remedy(rule: str, scene: PlatformView, **answers: str) -> Remedy:
    """What the findings of a rule lead to; there must be some. ``__`` in an answer's name stands for the dot."""
    findings = rulebook.findings(scene, rulebook.read_rulebook(), only=[rule])
    assert findings
    found = rule_remedy.remedy_of(rule, scene, findings, answers_of(**answers))
    assert found is not None
    assert found.rule == rule
    return found


def answers_of(**answers: str) -> dict[str, str]:
    """Answers by their keys."""
    return {key.replace("__", ".").replace("_", "-"): value for key, value in answers.items()}


def asked(remedy: Remedy) -> list[str]:
    """What it asks, without how to answer."""
    return [each.text for each in remedy.open_questions]


def apply(root: Path, remedy: Remedy) -> dict[str, str]:
    """Write the patch, as ``--remedy`` would show it; the files that it changes."""
    finding = Finding(code=remedy.rule, severity=Severity.WARNING, message=remedy.title, edits=remedy.edits)
    patch = file_patch.patch(WorkTree(root), [finding])
    assert [why for _, why in patch.refused] == []
    texts = {path: (content or b"").decode() for path, content in patch.after.items()}
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return texts


def finds(root: Path, *rules: str) -> list[str]:
    """What rules find in what is on the disk now."""
    found = rulebook.findings(read(root, live={}), rulebook.read_rulebook(), only=rules)
    return [f"{each.code} {each.place} {each.message}" for each in found]

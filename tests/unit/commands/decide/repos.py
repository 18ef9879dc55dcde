"""Small repos on the disk, before and after a change, for tests of what is decided upon it."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight.commands.decide import judgement, rule_files
from firstlight.commands.decide.file_components import taken_in
from firstlight.model.decision import Decision
from firstlight.repo import platform_reader
from firstlight.repo.changes import repo_changes
from firstlight.repo.work_tree import WorkTree

FLUX = "clusters/home/flux-system/gotk-sync.yaml"
SYNC = """
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, ref: {branch: trunk}, url: "https://git.example.org/home.git"}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/home, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""


def kustomization(name: str, path: str, **more: str) -> str:
    """A Kustomization of Flux."""
    fields = "".join(f", {key}: {value}" for key, value in more.items())
    return (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        f"metadata: {{name: {name}, namespace: flux-system}}\n"
        f"spec: {{interval: 10m, path: ./{path}, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}"
        f"{fields}}}\n"
    )


def judged(before: Mapping[str, str], after: Mapping[str, str | None], **more: Any) -> Decision:
    """The decision upon files that differ; ``after`` has only those, None where one is gone."""
    with tempfile.TemporaryDirectory() as made:
        old, new = (_tree(Path(made) / name, files) for name, files in (("old", before), ("new", {**before, **after})))
        first, then = platform_reader.read_tree(old), platform_reader.read_tree(new)
        changes = repo_changes.changes(old, new, list(after), platforms=(first, then))
        return judgement.decide(
            changes,
            platform=then,
            before=first,
            book=rule_files.book(),
            taken=taken_in(new, old, list(after)),
            **more,
        )


def touched(decision: Decision) -> set[str]:
    """The components that a decision names."""
    return {each.component for item in decision.items for each in item.touched}


def rules(decision: Decision) -> set[str]:
    """The rules that it rests on."""
    return {each.rule for item in decision.items for each in item.rulings}


def _tree(root: Path, files: Mapping[str, str | None]) -> WorkTree:
    for path, text in files.items():
        if text is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
    return WorkTree(root)

"""A small repo before and after a change, with its decision, for tests of checks."""

import dataclasses
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight.commands.decide import judgement, rule_files
from firstlight.commands.decide.checks.check_input import CheckInput, RenderedRevision
from firstlight.commands.decide.team_rules import RuleAuthority
from firstlight.model.component import Component, Side
from firstlight.model.decision import Decision
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.source import DirectorySource
from firstlight.plan import cluster_facts
from firstlight.repo import platform_reader
from firstlight.repo.changes import repo_changes
from firstlight.repo.work_tree import WorkTree

DECLARED = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
gitops: {engine: flux}
clusters:
  home: {path: clusters/home}
"""


def kustomization(name: str, *needs: str, prune: bool = True) -> str:
    """What makes Flux apply ``apps/NAME``."""
    depends = f"\n  dependsOn: [{', '.join(f'{{name: {each}}}' for each in needs)}]" if needs else ""
    return textwrap.dedent(
        f"""\
        apiVersion: kustomize.toolkit.fluxcd.io/v1
        kind: Kustomization
        metadata: {{name: {name}, namespace: flux-system}}
        spec:
          path: ./apps/{name}
          prune: {str(prune).lower()}
          interval: 10m
          sourceRef: {{kind: GitRepository, name: flux-system}}{{depends}}
        """
    ).replace("{depends}", depends)


def deployment(
    name: str = "web", *, namespace: str = "web", cpu: str = "100m", image: str = "web:1.0.0", replicas: int = 1,
    more: str = "",
) -> str:  # fmt: skip
    """A Deployment; ``more`` goes into its container."""
    return textwrap.dedent(
        f"""\
        apiVersion: apps/v1
        kind: Deployment
        metadata: {{name: {name}, namespace: {namespace}}}
        spec:
          replicas: {replicas}
          selector: {{matchLabels: {{app: {name}}}}}
          template:
            metadata: {{labels: {{app: {name}}}}}
            spec:
              containers:
                - name: {name}
                  image: {image}
                  resources: {{requests: {{cpu: {cpu}, memory: 16Mi}}}}
        """
    ) + (f"          {more}\n" if more else "")


REPO = {
    "firstlight.yaml": DECLARED,
    "clusters/home/web.yaml": kustomization("web"),
    "clusters/home/shop.yaml": kustomization("shop", "web"),
    "apps/web/web.yaml": deployment(),
    "apps/shop/shop.yaml": deployment("shop", namespace="shop"),
}


def made(
    at: Path,
    after: Mapping[str, str | None],
    *,
    before: Mapping[str, str] | None = None,
    is_rendered: bool = True,
    **more: Any,
) -> tuple[Decision, CheckInput]:
    """A decision and its scene.

    Args:
        at: A directory for the files.
        after: What becomes of files; None for what goes.
        before: The repo as it was.
        is_rendered: Whether its components are rendered.
        more: Of the scene.
    """
    first = {**(REPO if before is None else before)}
    then = {path: text for path, text in {**first, **after}.items() if text is not None}
    old, new = _version(at / "before", first, is_rendered), _version(at / "after", then, is_rendered)
    paths = tuple(sorted(path for path in {**first, **then} if first.get(path) != then.get(path)))
    changes = repo_changes.changes(old.tree, new.tree, paths, platforms=(old.platform, new.platform))
    decision = judgement.decide(
        changes, platform=new.platform, before=old.platform, book=rule_files.book(), title="a test"
    )
    known = {
        "before": old, "after": new, "paths": paths, "unrendered": "" if is_rendered else "--no-render",
        "authorities": (RuleAuthority(name="base", tree=old.tree),),
    }  # fmt: skip
    return decision, CheckInput(**{**known, **more})


def _version(root: Path, files: Mapping[str, str], is_rendered: bool) -> RenderedRevision:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    tree = WorkTree(root)
    platform = platform_reader.read(root)
    return RenderedRevision(tree=tree, platform=platform, renditions=_renditions(tree, platform) if is_rendered else ())


def _renditions(tree: WorkTree, platform: Platform) -> tuple[Rendition, ...]:
    """The plain manifests of components as they stand in files, which is what kustomize makes of them."""
    return tuple(
        Rendition(component=each.name, cluster=each.cluster, side=side, objects=tuple(_objects(tree, each, side)))
        for each in platform.components
        for side in cluster_facts.sides(each)
    )


def _objects(tree: WorkTree, component: Component, side: Side) -> list[Object]:
    found = []
    for origin in component.origins:
        if isinstance(origin.source, DirectorySource) and origin.side == side:
            path = origin.source.path.removeprefix("./")
            for file in tree.below(path, ".yaml"):
                found += [Object(each.value) for each in tree.documents(file) if isinstance(each.value, Mapping)]
    return found


def without_before(scene: CheckInput) -> CheckInput:
    """The same where nothing was before."""
    return dataclasses.replace(scene, before=None)

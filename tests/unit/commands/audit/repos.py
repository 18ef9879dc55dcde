"""A small made-up repo, with a rule of its own, whose answer does not depend on ours."""

from pathlib import Path

RULE = "web-scaled"
RULES = """\
rules:
  - id: web-scaled
    title: A Deployment with one replica
    group: ours
    severity: error
    why: one is none.
    fix: Write two.
    find: [{kinds: [apps/Deployment], has: {spec.replicas: 1}}]
    says: "{name} has {value} replica"
    set: {spec.replicas: 2}
"""
SYNC = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, ref: {branch: main}, url: "https://git.example.org/me/fleet"}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/home, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
spec:
  replicas: 1   # for now
"""
FILES = {
    "firstlight-rules/audit/ours.yaml": RULES,
    "clusters/home/flux-system/gotk-sync.yaml": SYNC,
    "clusters/home/web.yaml": WEB,
}


def make(root: Path, **more: str) -> Path:
    """The repo on the disk; more files by path, with __ for a slash and _ for a dot."""
    for path, text in {**FILES, **{_path(name): text for name, text in more.items()}}.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def _path(name: str) -> str:
    return name.replace("__", "/").replace("_yaml", ".yaml")

"""ApplicationSets read without running anything, against Argo CD's own controller: the same Applications."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.repo import argocd as repo_argocd
from firstlight.repo.work_tree import WorkTree
from tests.argocd import API, HOME, ArgoCD
from tests.labs import until

FILES = {
    "apps/net/dns/x.yaml": "{}",
    "apps/net/Load_Balancer/x.yaml": "{}",
    "apps/net/Load_Balancer/deep/x.yaml": "{}",
    "apps/web/front.end/x.yaml": "{}",
    "apps/web/off/x.yaml": "{}",
    "apps/web/.hidden/x.yaml": "{}",
    "config/a/config.json": '{"app": {"name": "one", "replicas": 3, "big": 1234567, "ratio": 0.5, "no": null}}',
    "config/b/deeper/config.json": '{"app": {"name": "two", "replicas": 1000000, "tags": ["x", "y"]}}',
    "config/c/config.json": '{"app": {"name": "three", "on": false}}',
    "lists/many.yaml": "- {name: first, port: 8080}\n- {name: second, port: 1e3}\n",
}
SPEC = """
      project: default
      destination: {server: "https://kubernetes.default.svc", namespace: x}
"""
CASES = {
    "list": """
  generators:
    - list:
        elements: [{name: a, env: dev}, {name: b, env: prod, values: {env: qa}}]
  template:
    metadata: {name: "SITE-{{name}}", labels: {"env-{{ name }}": "x{{env}}"}}
    spec:SPEC
      source: {repoURL: "@GIT@", path: "apps/{{name}}/{{values.env}}/{{nothing}}", targetRevision: main}
""",
    "list-go": """
  goTemplate: true
  generators:
    - list:
        elements:
          - {name: a, port: 8080, big: 1000000, ratio: 2.50, nested: {list: [x, z]}}
          - {name: b, port: 1, big: 999999, ratio: 1, nested: {list: []}}
      selector: {matchExpressions: [{key: name, operator: NotIn, values: [c]}]}
  template:
    metadata:
      name: 'SITE-{{ .name }}'
      annotations:
        port: '{{ .port }} {{ .big }} {{ .ratio }} {{ .missing }} {{ len .nested.list }}'
        list: '{{ range $i, $e := .nested.list }}{{ $i }}={{ $e | upper }},{{ else }}none{{ end }}'
        more: '{{ default "d" .absent }} {{ .name | quote }} {{ printf "%s-%v" .name .port }}'
        either: '{{ if eq .name "a" }}A{{ else }}B{{ end }} {{ normalize "A_b." }}'
        slug: '{{ slugify 12 true "One/Two_three four" }} {{ slugify 12 false "One/Two_three four" }}'
    spec:SPEC
      source: {repoURL: "@GIT@", path: apps, targetRevision: '{{ .name | trimPrefix "a" | default "main" }}'}
  templatePatch: |
    metadata:
      labels: {patched: {{ .name | quote }}}
    {{- if gt (len .nested.list) 0 }}
    spec:
      project: stolen
      source: {directory: {recurse: true}}
    {{- end }}
""",
    "directories": """
  generators:
    - git:
        repoURL: "@GIT@"
        revision: main
        directories: [{path: apps/*/*}, {path: apps/*/off, exclude: true}]
        values: {full: "{{path[1]}}.{{path.basenameNormalized}}"}
  template:
    metadata: {name: "SITE-{{values.full}}", annotations: {base: "{{path.basename}} {{path[0]}} {{path[9]}}"}}
    spec:SPEC
      source: {repoURL: "@GIT@", path: "{{path}}", targetRevision: main}
""",
    "directories-go": """
  goTemplate: true
  generators:
    - git:
        repoURL: "@GIT@"
        revision: main
        pathParamPrefix: it
        directories: [{path: "apps/w*/*"}, {path: "apps/net/[a-d]*"}]
        values: {full: '{{ index .it.path.segments 1 }}-{{ .it.path.basenameNormalized }}'}
  template:
    metadata: {name: 'SITE-{{ .values.full }}'}
    spec:SPEC
      source: {repoURL: "@GIT@", path: '{{ .it.path.path }}', targetRevision: main}
""",
    "files": """
  generators:
    - git:
        repoURL: "@GIT@"
        revision: main
        files: [{path: "config/*/config.json"}, {path: "config/c/*", exclude: true}]
  template:
    metadata:
      name: "SITE-{{app.name}}"
      annotations:
        numbers: "{{app.replicas}} {{app.big}} {{app.ratio}} {{app.no}} {{app.tags.1}}"
        path: "{{path}} {{path.basename}} {{path.filename}} {{path.filenameNormalized}} {{path[1]}}"
    spec:SPEC
      source: {repoURL: "@GIT@", path: "{{path}}", targetRevision: main}
""",
    "files-go": """
  goTemplate: true
  goTemplateOptions: ["missingkey=error"]
  generators:
    - git: {repoURL: "@GIT@", revision: main, files: [{path: "lists/*.yaml"}]}
  template:
    metadata:
      name: 'SITE-{{ .name }}'
      annotations: {port: '{{ .port }}', path: '{{ .path.path }} {{ .path.filename }} {{ join "+" .path.segments }}'}
    spec:SPEC
      source: {repoURL: "@GIT@", path: lists, targetRevision: main}
""",
    "matrix": """
  generators:
    - matrix:
        generators:
          - list: {elements: [{base: "apps/net/*", env: n}, {base: "apps/web/*", env: w}]}
          - git:
              repoURL: "@GIT@"
              revision: main
              directories: [{path: "{{base}}"}]
              values: {id: "{{env}}-{{path.basenameNormalized}}"}
  template:
    metadata: {name: "SITE-{{values.id}}"}
    spec:SPEC
      source: {repoURL: "@GIT@", path: "{{path}}", targetRevision: main}
""",
    "matrix-go": """
  goTemplate: true
  generators:
    - matrix:
        generators:
          - git: {repoURL: "@GIT@", revision: main, files: [{path: "lists/*.yaml"}]}
          - list: {elements: [{name: over, kind: 'k-{{ .name }}'}, {kind: "l-{{ .path.basename }}", extra: {a: 1}}]}
  template:
    metadata: {name: 'SITE-{{ .name }}-{{ .kind }}', annotations: {extra: '{{ .extra }}'}}
    spec:SPEC
      source: {repoURL: "@GIT@", path: lists, targetRevision: main}
""",
    "merge": """
  generators:
    - merge:
        mergeKeys: [name]
        generators:
          - list: {elements: [{name: a, v: one}, {name: b, v: one}]}
          - list: {elements: [{name: b, v: two}, {name: c, v: three}]}
    - list:
        elements: [{name: own}]
        template:
          metadata: {annotations: {own: "{{name}}"}}
          spec: {project: default, destination: {namespace: other}, source: {repoURL: "@GIT@", targetRevision: v9}}
  template:
    metadata: {name: "SITE-{{name}}", annotations: {v: "{{v}}"}}
    spec:SPEC
      source: {repoURL: "@GIT@", path: "apps", targetRevision: main}
""",
    "clusters": """
  goTemplate: true
  generators:
    - clusters: {values: {v: '{{ .name }}-{{ .nameNormalized }}'}}
  template:
    metadata: {name: 'SITE-{{ .values.v }}'}
    spec:
      project: default
      destination: {server: '{{ .server }}', namespace: x}
      source: {repoURL: "@GIT@", path: "apps", targetRevision: main}
""",
}


@pytest.mark.parametrize("case", CASES)
async def test_the_controller_makes_the_same_applications(argocd: ArgoCD, site: str, case: str, tmp_path: Path) -> None:
    await argocd.commit(site, FILES)
    text = CASES[case].replace("SPEC\n", SPEC).replace("SITE", site).replace("@GIT@", argocd.git(site))
    one = {
        "apiVersion": API,
        "kind": "ApplicationSet",
        "metadata": {"name": site, "namespace": HOME},
        "spec": {**yaml.safe_load(text), "syncPolicy": {"preserveResourcesOnDeletion": True}},
    }

    ours = read(tmp_path, one, argocd.git(site))
    await argocd.kube.apply(one, manager="tests")
    theirs: dict[str, Any] = {}

    async def are_made() -> bool:
        theirs.clear()
        theirs.update({each["metadata"]["name"]: shape(each) for each in await _made(argocd, site)})
        return set(theirs) == set(ours)

    try:
        await until(are_made, f"{', '.join(ours)} to be made")
    except AssertionError as error:
        status = (await argocd.get(site, "ApplicationSet")).get("status", {}).get("conditions")
        raise AssertionError(f"{error}; made were {', '.join(theirs)}: {status}") from None

    assert ours == theirs
    assert ours
    await argocd.kube.delete(API, "ApplicationSet", site, namespace=HOME)
    await until(lambda: _are_gone(argocd, site), "the Applications to go with their set")


async def _made(argocd: ArgoCD, site: str) -> list[dict[str, Any]]:
    found = (await argocd.kube.list(API, "Application", namespace=HOME)).items
    return [dict(each) for each in found if each["metadata"]["name"].startswith(f"{site}-")]


async def _are_gone(argocd: ArgoCD, site: str) -> bool:
    return not await _made(argocd, site)


def read(root: Path, one: dict[str, Any], url: str) -> dict[str, Any]:
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "set.yaml").write_text(json.dumps(one))  # in YAML some texts would be read as something else
    found = repo_argocd.read(WorkTree(root), urls=[url])
    assert not [each for each in found.diagnostics if "ApplicationSet" in each.message]
    return {each.name: shape(each.definition) for each in found.origins}


def shape(app: Any) -> dict[str, Any]:
    metadata = app["metadata"]
    return {"spec": app["spec"], **{each: metadata.get(each) or {} for each in ("labels", "annotations")}}

"""A small book, changes and platforms for tests of the engine; what our own rules say is tested elsewhere."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from firstlight.commands.decide import rule_files
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.cluster import Cluster, Engine, Machine, MachineRole
from firstlight.model.component import Component, ObjectId, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import DirectorySource, Embedded

TREES = """
trees:
  - id: architecture
    title: of the architecture
    questions:
      - {id: restart, text: Does it require a restart?, ifYes: bootstrap, ifNo: kubernetes-resource}
      - {id: kubernetes-resource, text: Is it a Kubernetes resource?, ifYes: gitops, ifNo: node-os}
      - {id: node-os, text: Does it affect the OS?, ifYes: bootstrap, ifNo: gitops}
  - id: framework
    title: of the framework
    questions:
      - {id: operational, text: Is the cluster operational?, ifYes: foundation, ifNo: bootstrap, usually: true}
      - {id: foundation, text: Does it affect the foundation?, ifYes: os-access, ifNo: gitops}
      - {id: os-access, text: Does it need the OS?, ifYes: bootstrap, ifNo: kubernetes-api}
      - {id: kubernetes-api, text: Can the API do it?, ifYes: gitops, ifNo: bootstrap}
criteria:
  - {id: network-foundation, side: bootstrap, title: Network, text: it affects core networking}
procedures:
  - id: gitops
    title: by Git
    steps:
      - {stage: engine, side: gitops, engine: flux, each: kustomization, text: "{name} follows",
         command: "flux reconcile kustomization {name} -n {namespace}"}
      - {stage: engine, side: gitops, engine: argocd, each: application, text: "{name} follows",
         command: "argocd app sync {name}"}
      - {stage: commit, side: gitops, text: a branch, command: "git add {files}"}
      - {stage: merge, side: gitops, text: "merged to {branch}", command: "git push origin {topic}"}
    rollback:
      - {stage: merge, side: gitops, text: taken back, command: "git revert --no-edit {revert}"}
  - id: bootstrap
    title: by up
    steps:
      - {stage: bootstrap, side: bootstrap, each: component, text: "{component}, which {dependents} need",
         command: "firstlight up {cluster} --only {component}"}
  - id: machine
    title: by machines
    steps:
      - {stage: bootstrap, side: bootstrap, each: cluster, text: look, command: "firstlight up {cluster} --dry-run"}
      - {stage: verify, side: bootstrap, each: machine, text: "{machine}", command: "talosctl -n {address} health"}
  - id: careful
    title: with a snapshot first
    like: [gitops]
    steps:
      - {stage: prepare, text: a snapshot, command: "talosctl etcd snapshot db"}
    rollback:
      - {stage: verify, text: this cannot be taken back}
  - id: emergency-cluster
    title: nothing works
    steps:
      - {stage: prepare, side: bootstrap, each: cluster, text: recover, command: "firstlight up {cluster} --check"}
checks:
  - {id: syntax, moment: pre, title: Syntax, usual: true}
  - {id: etcd, moment: pre, title: etcd, sides: [bootstrap]}
  - {id: extra, moment: post, title: Extra, says: look at it}
"""
RULES = """
rules:
  - {id: machine-network, title: Change node networking, side: bootstrap, risk: high, why: it needs a machine config,
     when: [{matter: [machine], paths: ["machine.network.**"]}], criteria: [network-foundation]}
  - {id: node-label, title: Add node labels, side: bootstrap, risk: medium, why: it is the node's,
     when: [{matter: [machine], paths: ["machine.nodeLabels.*"]}],
     answers: {kubernetes-resource: true, foundation: false, os-access: false}, words: [label a node],
     asks: [Which nodes?]}
  - {id: wrong-side, title: Wrong, side: gitops, risk: low, why: it is wrong,
     when: [{matter: [machine], paths: ["machine.wrong"]}]}
  - {id: chart-major, title: A new major version of a chart, side: owner, risk: high, why: it breaks things,
     when: [{paths: ["spec.chart.spec.version"], bump: [major]}], procedure: careful, words: [major upgrade of a chart]}
  - {id: chart, title: A version of a chart, side: owner, risk: medium, why: it changes things,
     when: [{paths: ["spec.chart.spec.version"]}], checks: [extra], words: [upgrade a chart, bump a release]}
  - {id: goes, title: Something goes, side: owner, risk: medium, why: it goes, when: [{verb: [removed], whole: true}]}
  - {id: nothing, title: Documentation, side: none, risk: low, why: no cluster sees it,
     when: [{matter: [documentation, tooling]}, {files: ["examples/**"]}], words: [write documentation]}
  - {id: rest, title: Anything else, side: owner, risk: low, why: it is the rest,
     when: [{matter: [object, values, kustomize, machine, release, script, chart, secret]}]}
factors:
  - {id: privileged, risk: critical, why: it may do anything, when: [{paths: ["**.privileged"], after: [true]}]}
  - {id: crd, risk: high, why: it is a CRD, when: [{kinds: ["*/CustomResourceDefinition"], whole: true}]}
"""


@functools.cache
def book(*more: str) -> RuleBook:
    """The small book, with these files before it."""
    own = [(f"team/{number}.yaml", each.encode()) for number, each in enumerate(more)]
    return rule_files.alone([*own, ("z/rules.yaml", RULES.encode()), ("z/trees.yaml", TREES.encode())])


def field(path: str, before: Any = None, after: Any = None, *, verb: ChangeVerb = ChangeVerb.CHANGED) -> ChangedField:
    """A field that differs."""
    return ChangedField(steps=tuple(path.split(".")), verb=verb, place=Place("", 1), before=before, after=after)


def change(path: str, *fields: ChangedField, matter: Matter = Matter.OBJECT, **more: Any) -> Change:
    """A change of a file; without fields it is an object that comes."""
    more.setdefault("verb", ChangeVerb.CHANGED if fields else ChangeVerb.ADDED)
    return Change(matter=matter, place=Place(path, 1), title=path, fields=fields, **more)


def release(
    name: str, *fields: ChangedField, path: str = "", verb: ChangeVerb = ChangeVerb.CHANGED, **more: Any
) -> Change:
    """A change of a HelmRelease."""
    found = ObjectId("helm.toolkit.fluxcd.io", "HelmRelease", name, name)
    return change(path or f"apps/{name}/release.yaml", *fields, object=found, kind="HelmRelease", verb=verb, **more)


def component(name: str, *, path: str = "", **more: Any) -> Component:
    """A component that a HelmRelease in a directory of its own declares."""
    text = f"{{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {{name: {name}}}}}"
    origin = Origin(
        form=SourceForm.HELM_RELEASE,
        side=Side.GITOPS,
        place=Place(path or f"apps/{name}/release.yaml", 1),
        name=name,
        namespace=name,
        source=DirectorySource(path=f"apps/{name}"),
        definition=yaml.safe_load(text),
    )
    given = {"cluster": "home", "phase": Phase.GITOPS, "side": Side.GITOPS, "owner": Owner.GITOPS, "why": ""}
    return Component(name=name, origins=(origin, *more.pop("origins", ())), **{**given, **more})


def kustomization(name: str, path: str, *, namespace: str = "flux-system", **more: Any) -> Component:
    """A component that a Kustomization of Flux applies."""
    kind = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name}}
    origin = Origin(
        form=SourceForm.KUSTOMIZATION,
        side=Side.GITOPS,
        place=Place("clusters/home/all.yaml", 1),
        name=name,
        namespace=namespace,
        source=DirectorySource(path=path),
        definition=kind,
        objects=more.pop("objects", ()),
    )
    given = {"cluster": "home", "phase": Phase.GITOPS, "side": Side.GITOPS, "owner": Owner.GITOPS, "why": ""}
    return Component(name=f"kustomization/{name}", origins=(origin,), **{**given, **more})


def inline(name: str, number: int, *, path: str = "talos/patch.yaml", **more: Any) -> Component:
    """A component that stands inline in a patch."""
    steps = ("cluster", "inlineManifests", number, "contents")
    source = Embedded(place=Place(path, 1), steps=steps)
    origin = Origin(
        form=SourceForm.INLINE_MANIFEST, side=Side.BOOTSTRAP, place=Place(path, 3), name=name, source=source
    )
    given = {"cluster": "home", "phase": Phase.INLINE, "side": Side.BOOTSTRAP, "owner": Owner.GITOPS, "why": ""}
    return Component(name=name, origins=(origin,), **{**given, **more})


def platform(*components: Component, engine: Engine = Engine.FLUX, names: Sequence[str] = ("home",)) -> Platform:
    """A platform with clusters of two machines each."""
    machines = tuple(
        Machine(
            name=f"cp-{number}",
            role=MachineRole.CONTROL_PLANE,
            place=Place("talos/talconfig.yaml", number),
            address=f"10.0.0.{number}",
            patches=(Place(f"talos/cp-{number}.yaml"),),
        )
        for number in (1, 2)
    )
    files = tuple(Place(each) for each in ("talos/talconfig.yaml", "talos/patch.yaml", "talos/cp-1.yaml"))
    clusters = tuple(
        Cluster(name=each, place=Place("clusters"), engine=engine, branch="trunk", machines=machines, files=files)
        for each in names
    )
    return Platform(name="test", root=Path("/"), engine=engine, clusters=clusters, components=components)

"""What a cluster is compared with: who owns what Git renders, and what bootstrap keeps."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Form, Origin, Owner, Phase, Side
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.rendition import Object, Rendition
from firstlight.model.source import Unresolved
from firstlight.operate import drift_revisions, drift_scene
from firstlight.plan.facts import Facts

HERE = Place("x.yaml", 1)
APPS = ObjectOwner(Party.FLUX, "Kustomization flux-system/apps")


def config_map(name: str, **annotations: str) -> Object:
    metadata: dict[str, Any] = {"name": name, "namespace": "shop"}
    if annotations:
        metadata["annotations"] = {each.replace("_", "/"): value for each, value in annotations.items()}
    return Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


def component(name: str, form: Form, side: Side, owner: Owner = Owner.GITOPS, phase: Phase = Phase.GITOPS) -> Component:
    source = Unresolved(text="", reason="")
    origin = Origin(form=form, side=side, place=HERE, name=name, namespace="flux-system", source=source,
                    definition={"kind": form.value})  # fmt: skip
    return Component(name=name, cluster="lab", phase=phase, side=side, owner=owner, why="", origins=(origin,))


def facts(components: Iterable[Component], *renditions: Rendition) -> Facts:
    return Facts(
        cluster=Cluster(name="lab", place=HERE), components=tuple(components),
        renditions={(each.component, each.side): each for each in renditions},
    )  # fmt: skip


def rendition(name: str, *objects: Object, side: Side = Side.GITOPS, remarks: tuple[Remark, ...] = ()) -> Rendition:
    return Rendition(component=name, cluster="lab", side=side, objects=objects, remarks=remarks)


def test_what_git_brings_is_the_engines() -> None:
    apps = component("apps", Form.KUSTOMIZATION, Side.GITOPS)
    hook = config_map("hook", **{"helm.sh_hook": "test"})
    nameless = Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}})
    found = drift_scene.of(facts([apps], rendition("apps", config_map("a"), hook, nameless)), revision="abc")
    (one,) = found.wanted
    assert (one.id.name, one.manager, one.owner, one.definition) == (
        "a", "kustomize-controller", APPS, {"kind": "Kustomization"},
    )  # fmt: skip
    assert found.owners == {APPS: "apps"}
    assert found.revision == "abc"


def test_what_bootstrap_keeps_is_compared_with_its_own_rendition() -> None:
    cilium = component("cilium", Form.INLINE_MANIFEST, Side.BOOTSTRAP, Owner.BOOTSTRAP, Phase.INLINE)
    found = drift_scene.of(facts([cilium], rendition("cilium", config_map("a"), side=Side.BOOTSTRAP)))
    (one,) = found.wanted
    assert (one.manager, one.owner) == ("talos", ObjectOwner(Party.TALOS, "cilium"))
    assert found.kept == {"cilium"}
    assert found.owners == {}


def test_what_was_not_rendered_is_unread_and_nothing_of_its_owner_is_extra() -> None:
    apps, more = (component(name, Form.KUSTOMIZATION, Side.GITOPS) for name in ("apps", "more"))
    wrong = Remark(HERE, Grade.ERROR, "no such chart")
    found = drift_scene.of(facts([apps, more], rendition("apps", remarks=(wrong,)), rendition("more")))
    assert found.unread == ("apps could not be rendered: no such chart",)
    assert list(found.owners.values()) == ["more"]
    assert drift_scene.of(facts([apps])).unread == ("apps was not rendered",)
    unknown = Remark(HERE, Grade.UNKNOWN, "its source is not in the repo")
    part = drift_scene.of(facts([apps], rendition("apps", remarks=(unknown,))))
    assert (part.unread, part.owners) == (("apps was rendered in part: its source is not in the repo",), {})


def test_some_components_only() -> None:
    apps, more = (component(name, Form.KUSTOMIZATION, Side.GITOPS) for name in ("apps", "more"))
    known = facts([apps, more], rendition("apps", config_map("a")), rendition("more", config_map("b")))
    found = drift_scene.of(known, components=["more"])
    assert [each.id.name for each in found.wanted] == ["b"]
    assert list(found.owners.values()) == ["more"]
    assert {each.name for each in found.known} == {"a", "b"}


def test_an_expression_that_is_not_understood_is_told() -> None:
    rule = {"kind": "ConfigMap", "jqPathExpressions": [".data | to_entries"]}
    definition = {"kind": "Application", "spec": {"ignoreDifferences": [rule]}}
    made = component("web", Form.APPLICATION, Side.GITOPS)
    app = dataclasses.replace(made, origins=(dataclasses.replace(made.origins[0], definition=definition),))
    (note,) = drift_scene.of(facts([app], rendition("web", config_map("a"), config_map("b")))).notes
    assert note.startswith("Application web: '.data | to_entries' in ignoreDifferences is not understood")


URL = "https://git.example.org/me/fleet"
SOURCE = {
    "metadata": {"name": "fleet", "namespace": "flux-system"},
    "spec": {"url": "ssh://git@git.example.org/me/fleet.git"},
}


def kustomization(source: str) -> dict[str, Any]:
    return {
        "kind": "Kustomization", "metadata": {"name": "apps", "namespace": "flux-system"},
        "spec": {"sourceRef": {"kind": "GitRepository", "name": source}},
        "status": {"lastAppliedRevision": "main@sha1:abc"},
    }  # fmt: skip


def test_the_commit_that_was_applied_is_one_of_this_repo() -> None:
    assert drift_revisions.of(kustomization("fleet"), [SOURCE], url=URL) == "main@sha1:abc"
    assert drift_revisions.of(kustomization("other"), [SOURCE], url=URL) == ""
    elsewhere = {**SOURCE, "spec": {"url": "https://git.example.org/me/other"}}
    assert drift_revisions.of(kustomization("fleet"), [elsewhere], url=URL) == ""
    sources = [{"repoURL": "https://charts.example.org", "chart": "web"}, {"repoURL": URL}]
    app = {"kind": "Application", "spec": {"sources": sources}, "status": {"sync": {"revisions": ["1.2.3", "abc"]}}}
    assert drift_revisions.of(app, [], url=URL) == "abc"
    assert drift_revisions.of({"kind": "HelmRelease"}, [], url=URL) == ""

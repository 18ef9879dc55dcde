"""What a cluster is compared with: who owns what Git renders, and what bootstrap keeps."""

import dataclasses
from collections.abc import Iterable
from typing import Any, cast

import pytest

from firstlight.clients import kube
from firstlight.commands.drift import applied_commit, expected_state
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.drift import DriftKind
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.rendition import Object, Rendition
from firstlight.model.source import Unresolved
from firstlight.observe import drift
from firstlight.observe.drift import DriftResult
from firstlight.observe.live_objects import LiveObjectsOfKind
from firstlight.ownership.drift_judgement import Judgement
from firstlight.plan.cluster_facts import ClusterFacts

HERE = Place("x.yaml", 1)
APPS = ObjectOwner(Party.FLUX, "Kustomization flux-system/apps")


def config_map(name: str, **annotations: str) -> Object:
    metadata: dict[str, Any] = {"name": name, "namespace": "shop"}
    if annotations:
        metadata["annotations"] = {each.replace("_", "/"): value for each, value in annotations.items()}
    return Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


def component(
    name: str, form: SourceForm, side: Side, owner: Owner = Owner.GITOPS, phase: Phase = Phase.GITOPS
) -> Component:
    source = Unresolved(text="", reason="")
    origin = Origin(form=form, side=side, place=HERE, name=name, namespace="flux-system", source=source,
                    definition={"kind": form.value})  # fmt: skip
    return Component(name=name, cluster="lab", phase=phase, side=side, owner=owner, why="", origins=(origin,))


def declared(name: str, form: SourceForm, spec: dict[str, Any]) -> Component:
    made = component(name, form, Side.GITOPS)
    definition = {"kind": form.value, "metadata": {"name": name, "namespace": "flux-system"}, "spec": spec}
    return dataclasses.replace(made, origins=(dataclasses.replace(made.origins[0], definition=definition),))


def facts(components: Iterable[Component], *renditions: Rendition) -> ClusterFacts:
    return ClusterFacts(
        cluster=Cluster(name="lab", place=HERE), components=tuple(components),
        renditions={(each.component, each.side): each for each in renditions},
    )  # fmt: skip


def rendition(
    name: str, *objects: Object, side: Side = Side.GITOPS, diagnostics: tuple[Diagnostic, ...] = ()
) -> Rendition:
    return Rendition(component=name, cluster="lab", side=side, objects=objects, diagnostics=diagnostics)


def test_what_git_brings_is_the_engines() -> None:
    apps = component("apps", SourceForm.KUSTOMIZATION, Side.GITOPS)
    hook = config_map("hook", **{"helm.sh_hook": "test"})
    migration = config_map("migration", **{"argocd.argoproj.io_hook": "PreSync"})
    nameless = Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}})
    found = expected_state.expected_state_of(
        facts([apps], rendition("apps", config_map("a"), hook, migration, nameless)), revision="abc"
    )
    (one,) = found.wanted
    assert (one.id.name, one.manager, one.owner, one.definition) == (
        "a", "kustomize-controller", APPS, {"kind": "Kustomization"},
    )  # fmt: skip
    assert found.owners == {APPS: "apps"}
    assert found.revision == "abc"


def test_what_bootstrap_keeps_is_compared_with_its_own_rendition() -> None:
    cilium = component("cilium", SourceForm.INLINE_MANIFEST, Side.BOOTSTRAP, Owner.BOOTSTRAP, Phase.INLINE)
    found = expected_state.expected_state_of(facts([cilium], rendition("cilium", config_map("a"), side=Side.BOOTSTRAP)))
    (one,) = found.wanted
    assert (one.manager, one.owner) == ("talos", ObjectOwner(Party.TALOS, "cilium"))
    assert found.kept == {"cilium"}
    assert found.owners == {}


def test_what_was_not_rendered_is_unread_and_nothing_of_its_owner_is_extra() -> None:
    apps, more = (component(name, SourceForm.KUSTOMIZATION, Side.GITOPS) for name in ("apps", "more"))
    wrong = Diagnostic.error("?", "no such chart", at=HERE)
    found = expected_state.expected_state_of(
        facts([apps, more], rendition("apps", diagnostics=(wrong,)), rendition("more"))
    )
    assert found.unread == ("apps could not be rendered: no such chart",)
    assert list(found.owners.values()) == ["more"]
    assert expected_state.expected_state_of(facts([apps])).unread == ("apps was not rendered",)
    unknown = Diagnostic.unknown("?", "its source is not in the repo", at=HERE)
    part = expected_state.expected_state_of(facts([apps], rendition("apps", diagnostics=(unknown,))))
    assert (part.unread, part.owners) == (("apps was rendered in part: its source is not in the repo",), {})


LEFT = Diagnostic.unknown("flux-variable-unknown", "the variable TOKEN is left as text", at=HERE, subject="TOKEN")


def with_data(name: str, **data: str) -> Object:
    return Object({**config_map(name).value, "data": data})


def test_what_has_a_variable_of_a_secret_is_only_looked_for() -> None:
    apps = component("apps", SourceForm.KUSTOMIZATION, Side.GITOPS)
    objects = (with_data("a", x="${TOKEN}"), with_data("b", x="${OTHER}"), with_data("c-${TOKEN}"))
    found = expected_state.expected_state_of(facts([apps], rendition("apps", *objects, diagnostics=(LEFT,))))
    assert {each.id.name: each.is_known for each in found.wanted} == {"a": False, "b": True}
    assert found.unread == (
        f"apps was rendered in part: {LEFT.message}",
        f"apps: 2 objects were only looked for, since not all values are known here: {LEFT.message}",
    )
    assert found.owners == {}


def test_what_a_chart_makes_of_a_variable_is_not_known() -> None:
    apps = component("apps", SourceForm.KUSTOMIZATION, Side.GITOPS)
    web = component("web", SourceForm.HELM_RELEASE, Side.GITOPS)
    release = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "web", "namespace": "flux-system"},
        "spec": {"values": {"x": "${TOKEN}"}},
    }
    parent = rendition("apps", Object(release), with_data("b"), diagnostics=(LEFT,))
    found = expected_state.expected_state_of(
        facts([apps, web], parent, rendition("web", with_data("checksum", x="abc")))
    )
    assert {each.id.name: each.is_known for each in found.wanted} == {"web": False, "b": True, "checksum": False}
    assert found.owners == {}


@pytest.mark.parametrize("optional", [{}, {"optional": True}])
def test_a_release_with_values_in_a_secret_is_only_looked_for(optional: dict[str, bool]) -> None:
    secret = {"kind": "Secret", "name": "values", **optional}
    web = declared("web", SourceForm.HELM_RELEASE, {"valuesFrom": [secret]})
    found = expected_state.expected_state_of(facts([web], rendition("web", with_data("a"))))
    assert [each.is_known for each in found.wanted] == [False]
    assert found.unread == (
        "web: 1 object was only looked for, since not all values are known here: values of it are in the Secret values",
    )
    assert found.owners == {}
    settings = declared("web", SourceForm.HELM_RELEASE, {"valuesFrom": [{"kind": "ConfigMap", "name": "values"}]})
    assert expected_state.expected_state_of(facts([settings], rendition("web", with_data("a")))).wanted[0].is_known


def test_other_doubts_are_of_all_objects_but_not_what_a_chart_asks_the_cluster() -> None:
    apps = component("apps", SourceForm.KUSTOMIZATION, Side.GITOPS)
    defaulted = Diagnostic.unknown("?", "the variable A has its default: its value is in Secret flux-system/x", at=HERE)
    found = expected_state.expected_state_of(facts([apps], rendition("apps", with_data("a"), diagnostics=(defaulted,))))
    assert [each.is_known for each in found.wanted] == [False]
    asks = Diagnostic.unknown("helm-apis-unknown", "the chart asks for more", at=HERE)
    found = expected_state.expected_state_of(facts([apps], rendition("apps", with_data("a"), diagnostics=(asks,))))
    assert [each.is_known for each in found.wanted] == [True]
    assert len(found.unread) == 1


def test_what_may_be_of_a_secret_that_git_does_not_have_is_masked() -> None:
    reference = {"kind": "Secret", "name": "mine", "optional": True}
    apps = declared("apps", SourceForm.KUSTOMIZATION, {"postBuild": {"substituteFrom": [reference]}})
    (one,) = expected_state.expected_state_of(facts([apps], rendition("apps", with_data("a")))).wanted
    assert (one.is_known, one.is_masked, one.is_applicable) == (True, True, False)
    secret = Object({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine", "namespace": "flux-system"}})
    found = expected_state.expected_state_of(facts([apps], rendition("apps", with_data("a"), secret)))
    assert [each.is_masked for each in found.wanted] == [False, False]


def test_a_variable_with_its_default_is_in_doubt_where_it_stands_and_the_rest_is_compared() -> None:
    apps = component("apps", SourceForm.KUSTOMIZATION, Side.GITOPS)
    assumed = Diagnostic.unknown("flux-variable-by-default", "the variable A has its default", at=HERE, subject="A")
    made = rendition("apps", with_data("a", x="1"), with_data("b", x="2"), diagnostics=(assumed,))
    made = dataclasses.replace(made, by_default=(dataclasses.replace(made.objects[0].id, namespace=""),))

    found = expected_state.expected_state_of(facts([apps], made))

    assert {each.id.name: each.is_known for each in found.wanted} == {"a": False, "b": True}
    assert found.unread[-1].startswith("apps: 1 object was only looked for")


async def test_nothing_is_asked_about_what_is_not_known() -> None:
    apps = component("apps", SourceForm.KUSTOMIZATION, Side.GITOPS)
    (one,) = expected_state.expected_state_of(
        facts([apps], rendition("apps", with_data("a", x="${TOKEN}"), diagnostics=(LEFT,)))
    ).wanted
    live = {**one.object.value, "data": {"x": "hunter2"}}
    nobody = cast(kube.Client, None)
    assert await drift.judge(one, live, nobody, kind=LiveObjectsOfKind(None)) == DriftResult(
        judgement=Judgement(), is_compared=False
    )
    gone = (await drift.judge(one, None, nobody, kind=LiveObjectsOfKind(None))).judgement.drifted
    assert gone is not None
    assert gone.difference == DriftKind.MISSING


def test_what_the_program_of_flux_makes_is_a_note() -> None:
    made = component("flux", SourceForm.FLUX_INSTANCE, Side.GITOPS)
    origin = dataclasses.replace(made.origins[0], parent="kustomization/flux-system/flux-system")
    instance = dataclasses.replace(made, origins=(origin,))
    unknown = Diagnostic.unknown("?", "it cannot be rendered", at=HERE)
    found = expected_state.expected_state_of(facts([instance], rendition("flux", diagnostics=(unknown,))))
    assert (found.unread, found.owners) == ((), {})
    assert found.notes == ("flux was rendered in part: it cannot be rendered",)


def test_some_components_only() -> None:
    apps, more = (component(name, SourceForm.KUSTOMIZATION, Side.GITOPS) for name in ("apps", "more"))
    known = facts([apps, more], rendition("apps", config_map("a")), rendition("more", config_map("b")))
    found = expected_state.expected_state_of(known, components=["more"])
    assert [each.id.name for each in found.wanted] == ["b"]
    assert list(found.owners.values()) == ["more"]
    assert {each.name for each in found.known} == {"a", "b"}


def test_an_expression_that_is_not_understood_is_told() -> None:
    rule = {"kind": "ConfigMap", "jqPathExpressions": [".data | to_entries"]}
    definition = {"kind": "Application", "spec": {"ignoreDifferences": [rule]}}
    made = component("web", SourceForm.APPLICATION, Side.GITOPS)
    app = dataclasses.replace(made, origins=(dataclasses.replace(made.origins[0], definition=definition),))
    (note,) = expected_state.expected_state_of(facts([app], rendition("web", config_map("a"), config_map("b")))).notes
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
    assert applied_commit.revisions_of(kustomization("fleet"), [SOURCE], url=URL) == "main@sha1:abc"
    assert applied_commit.revisions_of(kustomization("other"), [SOURCE], url=URL) == ""
    elsewhere = {**SOURCE, "spec": {"url": "https://git.example.org/me/other"}}
    assert applied_commit.revisions_of(kustomization("fleet"), [elsewhere], url=URL) == ""
    sources = [{"repoURL": "https://charts.example.org", "chart": "web"}, {"repoURL": URL}]
    app = {"kind": "Application", "spec": {"sources": sources}, "status": {"sync": {"revisions": ["1.2.3", "abc"]}}}
    assert applied_commit.revisions_of(app, [], url=URL) == "abc"
    assert applied_commit.revisions_of({"kind": "HelmRelease"}, [], url=URL) == ""

"""Origins made components: what deploys the same thing is one."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from firstlight.model.component import Component, ComponentNeed, ObjectId, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, DirectorySource, Embedded, RemoteSource, SeveralSources
from firstlight.repo.join import join_components

HERE = Place("here.yaml", 1)


def release(form: SourceForm, name: str, namespace: str = "kube-system", **more: Any) -> Origin:
    """A Helm release in one of the forms that repos have for it."""
    side = Side.GITOPS if form in {SourceForm.HELM_RELEASE, SourceForm.APPLICATION} else Side.BOOTSTRAP
    own = {"helmrelease": "flux-system", "application": "argocd"}.get(form.value.lower(), namespace)
    chart = ChartSource(name=name, repository="oci://charts.example.org", release=name, namespace=namespace)
    return Origin(form=form, side=side, place=HERE, name=name, namespace=own, **{"source": chart, **more})


def kustomization(name: str, path: str, **more: Any) -> Origin:
    """A Flux Kustomization of a directory."""
    return Origin(
        form=SourceForm.KUSTOMIZATION, side=Side.GITOPS, place=HERE, name=name, namespace="flux-system",
        **{"source": DirectorySource(path=path), **more},
    )  # fmt: skip


def command(name: str, path: str, **more: Any) -> Origin:
    """A script that applies files."""
    source = DirectorySource(path=path, kustomize=False)
    return Origin(form=SourceForm.KUBECTL_COMMAND, side=Side.BOOTSTRAP, place=HERE, name=name, source=source, **more)


def inline(name: str) -> Origin:
    """An inline manifest of Talos."""
    source = Embedded(place=HERE, steps=("cluster", "inlineManifests", 0, "contents"))
    return Origin(
        form=SourceForm.INLINE_MANIFEST, side=Side.BOOTSTRAP, place=HERE, name=name, phase=Phase.INLINE, source=source
    )


def joined(*origins: Origin) -> dict[str, Component]:
    return {each.name: each for each in join_components.join("infra", origins)}


@pytest.mark.parametrize("form", [SourceForm.HELMFILE, SourceForm.HELM_COMMAND])
@pytest.mark.parametrize("owner", [SourceForm.HELM_RELEASE, SourceForm.APPLICATION])
def test_a_release_of_both_sides_is_one_hybrid_that_git_owns_in_the_end(form: SourceForm, owner: SourceForm) -> None:
    found = joined(release(form, "cilium"), release(owner, "cilium"))

    assert list(found) == ["cilium"]
    assert (found["cilium"].side, found["cilium"].owner) == (Side.HYBRID, Owner.GITOPS)
    assert [len(half) for half in found["cilium"].halves] == [1, 1]


def test_equal_names_in_different_namespaces_are_different_releases() -> None:
    found = joined(release(SourceForm.HELMFILE, "db", "one"), release(SourceForm.HELM_RELEASE, "db", "two"))

    assert set(found) == {"one/db", "two/db"}


def test_a_release_that_only_bootstrap_has_stays_with_it() -> None:
    found = joined(release(SourceForm.HELMFILE, "cilium"))

    assert found["cilium"].owner == Owner.BOOTSTRAP
    assert found["cilium"].phase == Phase.CORE
    assert found["cilium"].role == "cni"
    assert found["cilium"].why == "nodes are NotReady without it"


def test_a_chart_of_nothing_but_crds_is_one_component() -> None:
    name = "prometheus-operator-crds"
    found = joined(release(SourceForm.HELMFILE, name, phase=Phase.CRDS), release(SourceForm.HELM_RELEASE, name))

    assert list(found) == [name]
    assert (found[name].side, found[name].phase, found[name].owner) == (Side.HYBRID, Phase.CRDS, Owner.GITOPS)


def test_crds_of_a_chart_are_a_component_of_their_own() -> None:
    found = joined(
        release(SourceForm.HELMFILE, "cert-manager", phase=Phase.CRDS), release(SourceForm.HELM_COMMAND, "cert-manager")
    )

    assert sorted(each.phase for each in found.values()) == [Phase.CORE, Phase.CRDS]


def test_a_script_that_applies_a_directory_of_a_kustomization_is_its_first_half() -> None:
    found = joined(kustomization("connect", "infra/connect"), command("connect-now", "infra/connect"))

    assert list(found) == ["connect"]
    assert found["connect"].side == Side.HYBRID


def test_a_script_that_applies_objects_of_a_kustomization_is_its_first_half() -> None:
    deployment = ObjectId("apps", "Deployment", "", "connect")
    namespace = ObjectId("", "Namespace", "", "connect")
    found = joined(
        kustomization("namespaces", "namespaces", objects=(namespace,)),
        kustomization("connect", "connect", objects=(dataclasses.replace(deployment, namespace="connect"),)),
        command("deployment", "connect/deployment.yaml", objects=(namespace, deployment)),
        command("other", "connect/unused.yaml", objects=(ObjectId("", "ConfigMap", "", "unused"),)),
    )

    assert set(found) == {"connect", "namespaces", "other"}
    assert [len(half) for half in found["connect"].halves] == [1, 1]
    assert found["namespaces"].side == Side.GITOPS


@pytest.mark.parametrize("name", ["cilium", "cilium-install"])
def test_an_inline_manifest_is_the_first_half_of_what_it_is_called_after(name: str) -> None:
    found = joined(inline(name), release(SourceForm.APPLICATION, "cilium"))

    assert list(found) == ["cilium"]
    assert (found["cilium"].phase, found["cilium"].owner) == (Phase.INLINE, Owner.GITOPS)


def test_an_inline_manifest_of_an_unknown_name_stands_alone() -> None:
    found = joined(inline("my-things"), release(SourceForm.APPLICATION, "cilium"))

    assert set(found) == {"my-things", "cilium"}


def test_an_application_with_several_sources_is_the_release_among_them() -> None:
    chart = ChartSource(name="cilium", release="cilium", namespace="kube-system")
    sources = SeveralSources(each=(RemoteSource(url="https://git.example.org/x"), chart))
    found = joined(
        release(SourceForm.HELM_COMMAND, "cilium"), release(SourceForm.APPLICATION, "network", source=sources)
    )

    assert len(found) == 1


def test_a_kustomization_makes_way_for_the_release_that_bears_its_name() -> None:
    found = joined(
        kustomization("cilium", "apps/cilium"),
        release(SourceForm.HELM_RELEASE, "cilium", parent="kustomization/flux-system/cilium"),
    )

    assert set(found) == {"cilium", "kustomization/cilium"}
    assert found["cilium"].parent == "kustomization/cilium"


def test_needs_are_names_and_what_nobody_meets_is_missing() -> None:
    needs = (
        ComponentNeed(id="kustomization/flux-system/cilium", place=HERE, why="dependsOn"),
        ComponentNeed(id="kustomization/flux-system/gone", place=HERE, why="dependsOn"),
    )
    found = joined(kustomization("cilium", "a"), kustomization("apps", "b", needs=needs))

    assert found["apps"].needs == ("cilium",)
    assert [each.id for each in found["apps"].missing] == ["kustomization/flux-system/gone"]


def test_what_only_configures_a_bootstrap_component_is_its_other_half() -> None:
    def having(*groups: str) -> Sequence[ObjectId]:
        return tuple(ObjectId(group, "Thing", "", group) for group in groups)

    found = joined(
        release(SourceForm.HELMFILE, "cilium"),
        kustomization("bgp", "bgp", objects=having("cilium.io")),
        kustomization("mixed", "mixed", objects=having("cilium.io", "apps")),
    )

    assert found["bgp"].part_of == "cilium"
    assert found["mixed"].part_of == ""
    assert (found["cilium"].side, found["cilium"].owner) == (Side.HYBRID, Owner.BOOTSTRAP)


def test_every_form_of_flux_itself_is_one_engine() -> None:
    flux = RemoteSource(url="https://git.example.org/fleet", path="clusters/infra")
    found = joined(
        Origin(
            form=SourceForm.FLUX_COMMAND, side=Side.BOOTSTRAP, place=HERE, name="flux", phase=Phase.ENGINE, source=flux
        ),
        Origin(form=SourceForm.FLUX_COMPONENTS, side=Side.BOOTSTRAP, place=HERE, name="flux", source=flux),
        Origin(
            form=SourceForm.FLUX_INSTANCE, side=Side.GITOPS, place=HERE, name="flux", phase=Phase.ENGINE, source=flux
        ),
    )

    assert found["flux"].role == "engine"
    assert found["flux"].side == Side.HYBRID


def test_components_stand_in_the_order_of_their_phases() -> None:
    found = joined(release(SourceForm.HELM_RELEASE, "a"), release(SourceForm.HELMFILE, "b"), inline("c"))

    assert list(found) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("form", "owner"), [(SourceForm.HELM_RELEASE, Owner.GITOPS), (SourceForm.HELMFILE, Owner.BOOTSTRAP)]
)
def test_crds_belong_to_whom_their_component_belongs(form: SourceForm, owner: Owner) -> None:
    found = joined(release(SourceForm.HELMFILE, "database-crds", phase=Phase.CRDS), release(form, "database"))

    assert found["database-crds"].owner == owner
    assert found["database-crds"].why == "kinds must be served before anything uses them"


def test_a_hook_that_applies_the_root_is_its_first_half() -> None:
    root = kustomization("cluster", "clusters/infra", definition={"apiVersion": "kustomize.toolkit.fluxcd.io/v1"})
    applied = ObjectId("kustomize.toolkit.fluxcd.io", "Kustomization", "flux-system", "cluster")
    found = joined(root, command("gotk-sync", "clusters/infra/flux-system/gotk-sync.yaml", objects=(applied,)))

    assert list(found) == ["cluster"]


def test_a_script_that_applies_sources_is_the_first_half_of_what_has_their_file() -> None:
    source = ObjectId("source.toolkit.fluxcd.io", "HelmRepository", "flux-system", "charts")
    found = joined(kustomization("sources", "infra/sources"), command("c", "infra/sources/c.yaml", objects=(source,)))

    assert list(found) == ["sources"]

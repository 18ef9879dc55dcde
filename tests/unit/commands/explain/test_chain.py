"""The chain from the machines to the apps."""

import dataclasses
from pathlib import Path

import pytest

from firstlight.commands.explain import chain
from firstlight.commands.explain.explanation import ChainLink, ExplainInput
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import Unresolved
from firstlight.repo import platform_reader
from tests.unit.commands.explain import repos
from tests.unit.repo import trees


def links(root: Path, cluster: str = "") -> list[ChainLink]:
    scene = repos.scene(root)
    found = next(each for each in scene.clusters if not cluster or each.name == cluster)
    return list(chain.chain(scene, found).links)


def test_the_chain_of_a_platform() -> None:
    found = links(repos.HOME)

    assert [(each.level, each.name, str(each.side)) for each in found] == [
        (0, "Talos", "bootstrap"),
        (1, "Kubernetes API", "bootstrap"),
        (2, "cilium", "hybrid"),
        (3, "foundation secret", "bootstrap"),
        (3, "cert-manager", "hybrid"),
        (3, "external-secrets", "hybrid"),
        (4, "flux", "hybrid"),
        (5, "2 components", "gitops"),
        (6, "2 components", "gitops"),
        (7, "notes", "gitops"),
    ]
    assert found[3].members == ("external-secrets/onepassword-token",)
    assert found[7].members == ("flux-system", "whoami")
    assert found[8].members == ("addresses", "secret-store")


def test_a_script_that_makes_a_first_secret_is_not_shown_twice() -> None:
    names = [each.name for each in links(repos.SCRIPTED)]

    assert "foundation secret" in names
    assert "sops-age" not in names


@pytest.mark.parametrize(
    "root", [*repos.EXAMPLES, *repos.SCENARIOS], ids=lambda each: f"{each.parent.name}-{each.name}"
)
def test_everything_is_in_the_chain_once_and_levels_only_grow(root: Path) -> None:
    scene = repos.scene(root)
    for cluster in scene.clusters:
        found = chain.chain(scene, cluster).links
        shown = [name for each in found for name in (each.members or (each.name,))]

        assert [each.level for each in found] == sorted(each.level for each in found)
        assert len(shown) == len(set(shown))
        for component in scene.components:
            if component.cluster == cluster.name and not scene.is_foundation(component):
                assert component.name in shown or component.name.startswith("kustomization/")


def test_components_that_need_each_other_do_not_keep_it_from_ending(tmp_path: Path) -> None:
    kustomization = (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "metadata: {{name: {0}, namespace: flux-system}}\n"
        "spec:\n  path: ./apps/{0}\n  dependsOn: [{{name: {1}}}]\n"
        "  sourceRef: {{kind: GitRepository, name: flux-system}}\n---\n"
    )
    trees.make(
        tmp_path,
        {
            "clusters/home/all.yaml": kustomization.format("a", "b") + kustomization.format("b", "a"),
            "firstlight.yaml": (
                "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: x}\n"
                "gitops: {engine: flux, url: 'https://git.example.org/x'}\nclusters: {home: {path: clusters/home}}\n"
            ),
        },
    )
    scene = ExplainInput(platform_reader.read(tmp_path))

    found = chain.chain(scene, scene.clusters[0]).links

    assert {name for each in found for name in each.members} >= {"a", "b"}


def test_many_of_which_nothing_is_known_are_one_link() -> None:
    many = [_release(number) for number in range(9)]
    home = repos.scene(repos.HOME).platform
    assert home is not None
    scene = ExplainInput(dataclasses.replace(home, components=(*home.components, *many)))

    found = next(each for each in chain.chain(scene, scene.clusters[0]).links if each.name == "9 components")

    assert found.says == "helmfile release"
    assert found.members == tuple(each.name for each in many)


def test_the_first_secrets_do_not_stand_beside_kinds() -> None:
    kinds = dataclasses.replace(_release(1), name="external-secrets-crds", phase=Phase.CRDS, role="secrets")
    home = repos.scene(repos.HOME).platform
    assert home is not None
    scene = ExplainInput(dataclasses.replace(home, components=(*home.components, kinds)))

    levels = {each.name: each.level for each in chain.chain(scene, scene.clusters[0]).links}

    assert levels["external-secrets-crds"] < levels["foundation secret"] == levels["external-secrets"]


def _release(number: int) -> Component:
    place = Place("helmfile.yaml", number)
    origin = Origin(
        form=SourceForm.HELMFILE,
        side=Side.BOOTSTRAP,
        place=place,
        name=f"r{number}",
        source=Unresolved(text="x", reason="y"),
    )
    return Component(
        name=f"r{number}", cluster="home", phase=Phase.CORE, side=Side.BOOTSTRAP, owner=Owner.BOOTSTRAP,
        why="helmfile release in helmfile.yaml", is_why_only_form=True, origins=(origin,),
    )  # fmt: skip

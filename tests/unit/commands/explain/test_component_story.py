"""Components of real repos, explained."""

from pathlib import Path

import pytest

from firstlight.commands.explain import chain, explain
from firstlight.commands.explain.explanation import ExplainInput, Explanation, ExplanationKind
from firstlight.plan.dependents import DependencyGraph
from firstlight.repo import platform_reader
from tests import command_lines
from tests.unit.commands.explain import repos
from tests.unit.repo import trees


def told(found: Explanation, part: str) -> str:
    """What is said under a heading, with places and commands."""
    lines = [each for one in found.parts if one.name == part for each in one.sentences]
    return "\n".join(f"{each.text} {each.place or ''} {each.command}".strip() for each in lines)


def one(root: Path, name: str, cluster: str = "") -> Explanation:
    found = [
        each
        for each in explain.explain(name, repos.scene(root))
        if each.sort == ExplanationKind.COMPONENT and (not cluster or cluster in each.clusters)
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    "root", [*repos.EXAMPLES, *repos.SCENARIOS], ids=lambda each: f"{each.parent.name}-{each.name}"
)
def test_every_component_can_be_explained(root: Path) -> None:
    scene = repos.scene(root)

    assert scene.components
    for component in scene.components:
        found = [each for each in explain.explain(component.name, scene) if component.cluster in each.clusters]
        parts = {part.name for each in found for part in each.parts}
        assert {"what", "where", "phase", "side", "owner", "without it", "change"} <= parts, component.name
        assert all(explain.explain(see, scene) for each in found for see in each.see), component.name


def test_a_component_that_git_takes_over() -> None:
    found = one(repos.HOME, "cilium")

    assert told(found, "what").startswith("A network plugin")
    assert "CNI: " in told(found, "what")
    assert told(found, "why") == "Nodes are NotReady without it. firstlight.yaml:30:3"
    assert "kubernetes/infrastructure/cilium/release.yaml:1" in told(found, "where")
    assert told(found, "version") == "1.20.2"
    assert "Flux cannot start without" in told(found, "phase")
    assert "Flux takes it over" in told(found, "side")
    assert "same files" in told(found, "side")
    assert "undoes what is changed by hand" in told(found, "owner")
    assert told(found, "needs") == ""
    assert "cert-manager, external-secrets, flux: pods get no network without it" in told(found, "needed by")
    assert "notes" in told(found, "needed by")
    assert "cni: the network plugin runs on every node" in told(found, "gates")
    assert "firstlight drift home --component cilium" in told(found, "change")
    assert "firstlight up" not in told(found, "change")
    assert {"hybrid", "core", "CNI", "HelmRelease"} <= set(found.see)


def test_a_component_that_bootstrap_keeps_is_changed_by_a_command() -> None:
    found = one(repos.FLEET, "cilium")

    assert found.clusters == ("apps", "infra")
    assert "bootstrap keeps the core" in told(found, "side")
    assert "Its other half is cilium-bgp. kubernetes/infrastructure/bgp.yaml:1" in told(found, "side")
    assert "a merge alone changes nothing" in told(found, "owner")
    assert "firstlight up apps --only cilium --dry-run" in told(found, "change")
    assert "Then the same for infra." in told(found, "change")
    assert "Merge it;" not in told(found, "change")


def test_the_half_that_git_has() -> None:
    found = one(repos.FLEET, "cilium-bgp")

    assert "Settings of cilium" in told(found, "what")
    assert "1 CiliumBGPClusterConfig" in told(found, "what")
    assert "other half of cilium" in told(found, "side")
    assert "cilium: it configures cilium" in told(found, "needs")
    assert "kustomization/flux-system/gone: nothing deploys it here" in told(found, "needs")
    assert told(found, "without it") == "Nothing else in this repo is known to need it."


def test_two_clusters_that_differ_are_told_apart() -> None:
    assert told(one(repos.FLEET, "cert-manager", "apps"), "version").startswith(
        "v1.19.1 in bootstrap and v1.19.2 in Git"
    )
    assert told(one(repos.FLEET, "cert-manager", "infra"), "version") == "v1.19.1"


def test_halves_in_two_files_are_both_named() -> None:
    found = told(one(repos.FLEET, "cert-manager", "apps"), "change")

    assert "Edit the HelmRelease kubernetes/infrastructure/cert-manager.yaml:6" in found
    assert "for bootstrap, the helmfile release bootstrap/helmfile.yaml:17:5" in found
    assert "firstlight boundary apps --component cert-manager" in found


def test_what_a_component_brings_and_then_waits_for_counts_as_needing_it() -> None:
    found = told(one(repos.HOME, "cert-manager"), "needed by")

    assert "kustomization/cert-manager: it waits until cert-manager is ready" in found
    assert "secret-store" in found


def test_bootstrap_without_need_is_told() -> None:
    assert "Flux could bring it by itself" in told(one(repos.HOME, "cert-manager"), "phase")
    assert "could bring it" not in told(one(repos.HOME, "cilium"), "phase")
    assert "could bring it" not in told(one(repos.HOME, "flux"), "phase")


def test_an_inline_component_is_embedded_again() -> None:
    found = one(repos.EDGE, "cilium")

    assert "Talos applies it from the machine config" in told(found, "phase")
    assert "firstlight render cilium --inline --cluster edge" in told(found, "change")


def test_the_engine_is_needed_by_all_that_git_brings() -> None:
    found = one(repos.HOME, "flux")

    assert "the engine keeps itself" in told(found, "side")
    assert "what it brings from Git: " in told(found, "needed by")
    assert "Git is no longer applied" in told(found, "without it")
    assert "what Talos itself brings" in told(found, "needs")


def test_a_script_that_makes_a_first_secret() -> None:
    found = one(repos.SCRIPTED, "sops-age")

    assert "must be there before anything can fetch the others" in told(found, "what")
    assert "a script does it in this order Taskfile.yaml:9" in told(found, "needs")
    assert "firstlight up home --only secrets" in told(found, "change")


@pytest.mark.parametrize("root", [repos.HOME, repos.CHANGED], ids=lambda each: each.name)
def test_whom_a_decision_counts_is_told(root: Path) -> None:
    scene = repos.scene(root)
    assert scene.platform is not None
    graph = DependencyGraph(scene.platform)

    for each in scene.components:
        found, counted = chain.dependents(scene, each), {*graph.dependents(each.cluster, each.name)}
        assert counted <= {*(bond.name for bond in found.direct), *found.through}, each.name
        assert {*found.through} <= counted, each.name
        assert not {*found.besides} & counted, each.name
        assert found.counted == len(counted), each.name
        page = next(page for page in explain.explain(each.name, scene) if each.cluster in page.clusters)
        if counted:
            assert f"{len(counted)} component" in told(page, "without it"), each.name


def test_where_the_version_stands_is_named() -> None:
    change = told(one(repos.HOME, "cilium"), "change")

    assert "Its version, 1.20.2, stands in its source kubernetes/infrastructure/cilium/source.yaml:1" in change


def test_a_chart_without_a_version(tmp_path: Path) -> None:
    trees.make(
        tmp_path,
        {
            "Taskfile.yaml": (
                "version: '3'\ntasks: {up: {cmds: [helm install web web --repo https://charts.example.org -n web]}}\n"
            ),
            "firstlight.yaml": (
                "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: x}\n"
                "gitops: {engine: flux, url: 'https://git.example.org/x'}\nclusters: {home: {path: clusters/home}}\n"
            ),
        },
    )
    found = one(tmp_path, "web")

    assert told(found, "version").startswith("none is given")
    assert " ," not in told(found, "where")


def test_the_order_of_a_script_makes_nobody_depend_on_anything() -> None:
    found = one(repos.SCRIPTED, "extras")

    assert told(found, "needed by") == "sops-age: a script does it in this order"
    assert told(found, "without it") == "Nothing else in this repo is known to need it."


def test_what_a_component_shares_with_git_is_edited_once(tmp_path: Path) -> None:
    trees.make(
        tmp_path,
        {
            "clusters/home/web.yaml": (
                "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
                "metadata: {name: web, namespace: flux-system}\n"
                "spec: {path: ./apps/web, sourceRef: {kind: GitRepository, name: flux-system}}\n"
            ),
            "apps/web/all.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: web}\n",
            "Taskfile.yaml": "version: '3'\ntasks: {up: {cmds: [kubectl apply -f apps/web/all.yaml]}}\n",
            "firstlight.yaml": (
                "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: x}\n"
                "gitops: {engine: flux, url: 'https://git.example.org/x'}\nclusters: {home: {path: clusters/home}}\n"
            ),
        },
    )
    scene = ExplainInput(platform_reader.read(tmp_path))

    found = next(each for each in explain.explain("web", scene) if each.sort == ExplanationKind.COMPONENT)

    assert "hybrid" in told(found, "side")
    assert "Both halves come from the same files" in told(found, "side")
    assert "for bootstrap" not in told(found, "change")
    assert "boundary" not in told(found, "change")


def test_what_is_not_certain_is_said() -> None:
    assert "This is not certain: NOWHERE is only known when it runs" in told(one(repos.SCRIPTED, "extras"), "where")


def test_an_application_is_explained_by_what_it_applies() -> None:
    found = one(repos.HOME, "notes")

    assert "the glossary does not know it by name" in told(found, "what")
    assert "1 Deployment" in told(found, "what")
    assert "secret-store: the repo says so (dependsOn)" in told(found, "needs")
    assert "in kubernetes/apps/notes" in told(found, "change")
    assert {"Deployment", "Service", "gitops"} <= set(found.see)


def test_commands_can_be_typed_as_they_are() -> None:
    for scene in map(repos.scene, (*repos.EXAMPLES, *repos.SCENARIOS)):
        names = {each.name for each in scene.components}
        for cluster in scene.clusters:
            names |= {cluster.name, *(each.name for each in cluster.machines)}
        for name in names:
            parts = [part for each in explain.explain(name, scene) for part in each.parts]
            for command in (each.command for part in parts for each in part.sentences if each.command):
                command_lines.understand(command)

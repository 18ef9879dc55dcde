"""What a change may be hidden as: documentation, a tool, a move, something unreadable. No answer is milder for it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from firstlight.model.component import Side
from firstlight.model.decision import Decision, Risk
from firstlight.repo import platform_reader
from firstlight.repo.overlaid_tree import OverlaidTree
from tests.scenarios.decide.changes.deciding import Base, base

HOME = Path(__file__).parents[4] / "examples/home"
ALL = "talos/home/all.yaml"
DECLARED = "firstlight.yaml"
NOTES = "kubernetes/apps/notes"
PODS = "cluster:\n  network:\n    podSubnets: [10.{}.0.0/16]\n"


def repo() -> Base:
    return base(HOME)


def text(path: str) -> str:
    data = repo().tree.bytes(path)
    assert data is not None
    return data.decode()


def with_files(files: Mapping[str, str | None]) -> Base:
    """The example with other files in it."""
    tree = OverlaidTree(repo().tree, {path: None if each is None else each.encode() for path, each in files.items()})
    return Base(tree, platform_reader.read_tree(tree), repo().book)


def decided(before: Mapping[str, str | None], after: Mapping[str, str | bytes | None]) -> Decision:
    found = with_files(before) if before else repo()
    return found.decided({path: each.encode() if isinstance(each, str) else each for path, each in after.items()})


def declaring(path: str) -> str:
    return text(DECLARED).replace(f"patches: [{ALL}]", f"patches: [{ALL}, {path}]")


@pytest.mark.parametrize("path", ["foo/README.md", "m/values.yaml", "docs/patch.yaml", "renovate.yaml", "x/LICENSE"])
def test_a_declared_patch_is_one_whatever_it_is_called(path: str) -> None:
    found = decided({DECLARED: declaring(path), path: PODS.format(1)}, {path: PODS.format(2)})

    assert (found.side, found.risk) == (Side.BOOTSTRAP, Risk.CRITICAL)


def test_a_patch_that_is_called_values() -> None:
    found = decided({"foo/my-values.yaml": PODS.format(1)}, {"foo/my-values.yaml": PODS.format(2)})

    assert (found.side, found.risk) == (Side.BOOTSTRAP, Risk.CRITICAL)


@pytest.mark.parametrize("more", ["", "# a word\n", "machine:\n  nodeLabels: {a: b}\n"])
def test_a_patch_that_no_machine_gets_any_more(more: str) -> None:
    found = decided({}, {ALL: None, "attic/old.yaml": text(ALL) + more})
    gone = decided({}, {ALL: None})

    assert (found.side, found.risk) == (Side.BOOTSTRAP, gone.risk)
    assert found.risk >= Risk.HIGH


def test_a_patch_for_other_machines() -> None:
    path = "talos/home/controlplane.yaml"
    other = text(DECLARED).replace("controlPlane: {", "worker: {")
    found = decided(
        {}, {path: None, "talos/home/agent.yaml": text(path), DECLARED: other.replace(path, "talos/home/agent.yaml")}
    )

    assert {str(each.change.verb) for each in found.items if each.change.place.path != DECLARED} == {"removed", "added"}


def test_a_patch_with_another_name() -> None:
    named = text(DECLARED).replace(ALL, "talos/home/every.yaml")
    found = decided({}, {ALL: None, "talos/home/every.yaml": text(ALL), DECLARED: named})

    assert {str(each.change.verb) for each in found.items if each.change.place.path != DECLARED} == {"moved"}


@pytest.mark.parametrize("more", ["", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"])
def test_a_release_that_nobody_applies_any_more(more: str) -> None:
    path = "kubernetes/infrastructure/cilium/release.yaml"
    found = decided({}, {path: None, "attic/release.yaml": text(path) + more})
    gone = decided({}, {path: None})

    assert found.risk == gone.risk
    assert found.risk >= Risk.HIGH


@pytest.mark.parametrize(
    "name",
    ["renovate.yaml", "lefthook.yaml", "skaffold.yaml", "aqua.yaml", "dependabot.yaml", "cspell.yaml", "README.md"],
)
def test_an_object_that_is_called_like_a_tool(name: str) -> None:
    path, listed = f"{NOTES}/{name}", text(f"{NOTES}/kustomization.yaml") + f"  - {name}\n"
    cron = (
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: 1 * * * *, jobTemplate: {spec: "
        "{template: {spec: {containers: [{name: a, image: 'ghcr.io/example/a:1.0.0'}]}}}}}\n"
    )
    before = {f"{NOTES}/kustomization.yaml": listed, path: cron}

    found = decided(before, {path: cron.replace("1.0.0", "2.0.0")})
    plain = decided({**before, f"{NOTES}/a.yaml": cron}, {f"{NOTES}/a.yaml": cron.replace("1.0.0", "2.0.0")})

    assert found.side is Side.GITOPS
    assert found.risk == plain.risk
    assert found.items[0].change.object is not None


def test_rights_in_a_file_that_is_called_like_documentation() -> None:
    path, listed = f"{NOTES}/README.md", text(f"{NOTES}/kustomization.yaml") + "  - README.md\n"
    binding = (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\n"
        "roleRef: {kind: ClusterRole, name: view, apiGroup: rbac.authorization.k8s.io}\n"
        "subjects: [{kind: Group, name: all, apiGroup: rbac.authorization.k8s.io}]\n"
    )
    before = {f"{NOTES}/kustomization.yaml": listed, path: binding}

    found = decided(before, {path: binding.replace("name: view", "name: cluster-admin")})

    assert found.side is Side.GITOPS
    assert found.risk >= Risk.HIGH
    assert decided({}, before).risk >= Risk.HIGH


def test_a_resource_that_is_documentation_elsewhere() -> None:
    listed = text(f"{NOTES}/kustomization.yaml") + "  - ../../../docs/a.yaml\n"
    made = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"

    found = decided(
        {f"{NOTES}/kustomization.yaml": listed, "docs/a.yaml": made}, {"docs/a.yaml": made.replace("b}", "c}")}
    )

    assert found.side is Side.GITOPS


def test_an_example_stays_one() -> None:
    made = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"
    before = {"docs/app/kustomization.yaml": "resources: [a.yaml]\n", "docs/app/a.yaml": made}

    assert decided(before, {"docs/app/a.yaml": made.replace("b}", "c}")}).risk is Risk.LOW


@pytest.mark.parametrize(
    "broken",
    ["# a\n" * (9 << 18), "\nx: [\n", "\n\0", "\n" + "a: b\n" * 30_000],
    ids=["large", "broken", "binary", "long"],
)
def test_a_patch_that_cannot_be_looked_into(broken: str) -> None:
    path = "talos/home/pods.yaml"
    before = {DECLARED: declaring(path), path: PODS.format(1)}

    assert decided(before, {path: PODS.format(2)}).risk is Risk.CRITICAL
    assert decided(before, {path: PODS.format(2) + broken}).risk is Risk.CRITICAL


def test_an_object_beside_one_that_is_broken() -> None:
    path = "kubernetes/apps/whoami/namespace.yaml"
    labels = "  labels: {pod-security.kubernetes.io/enforce: privileged}\n"
    made = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: apps\n"

    plain = decided({path: made}, {path: made + labels})
    found = decided({path: made}, {path: made + labels + "---\nx: [\n"})

    assert found.risk >= plain.risk
    assert found.risk >= Risk.HIGH


@pytest.mark.parametrize(("command", "risk"), [("talosctl reset", Risk.HIGH), ("talosctl bootstrap", Risk.CRITICAL)])
def test_a_command_behind_many_other_lines(command: str, risk: Risk) -> None:
    before = (
        "#!/bin/sh\nkubectl get pods\n" + "".join(f"echo {each}\ntrue {each}\n" for each in range(1_100)) + "true\n"
    )
    after = (
        "#!/bin/sh\nkubectl get pods\n"
        + "".join(f"echo a{each}\ntrue {each}\n" for each in range(1_100))
        + f"{command}\n"
    )

    assert decided({"scripts/a.sh": before}, {"scripts/a.sh": after}).risk is risk


@pytest.mark.parametrize(
    "commands",
    [
        "# no kind create here\n        kubectl delete ns --all", "kubectl \\\n          delete ns --all",
        'kubectl --context="prod" delete ns --all', "kubectl --context='a b' delete ns --all",
        "helm -n x upgrade --force a b", 'talosctl -n "$IP" reset', "kubectl $VERB ns --all --force",
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", [".github/workflows/d.yaml", ".gitlab-ci.yml", "scripts/x.sh"])
def test_commands_that_are_written_in_another_way(path: str, commands: str) -> None:
    found = decided({}, {path: f"run: |\n        {commands}\n"})

    assert (found.side, found.risk) == (Side.BOOTSTRAP, Risk.HIGH)


@pytest.mark.parametrize(("path", "risk"), [(".github/workflows/d.yaml", Risk.HIGH), ("scripts/x.sh", Risk.MEDIUM)])
def test_a_cluster_for_tests_excuses_little(path: str, risk: Risk) -> None:
    plain = decided({}, {path: "run: |\n  kind create cluster\n  kubectl apply -f .\n"})
    machines = decided({}, {path: "run: |\n  k3d cluster create\n  talosctl reset\n"})

    assert plain.risk is risk
    assert (machines.side, machines.risk) == (Side.BOOTSTRAP, Risk.HIGH)


@pytest.mark.parametrize("other", ["reset --wait", "version --wait && talosctl reset", "version --wait; rm -rf /a"])
def test_another_verb_of_the_same_command(other: str) -> None:
    before, after = (f"#!/bin/sh\ntalosctl -n 10.0.0.1 {each}\n" for each in ("version --wait", other))

    assert decided({"scripts/x.sh": before}, {"scripts/x.sh": after}).risk is Risk.HIGH


def test_a_list_that_is_an_object() -> None:
    path = f"{NOTES}/notes.yaml"
    made = "apiVersion: example.org/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [%s]\n"

    assert decided({path: made % "10.0.0.1"}, {path: made % ""}).items
    assert decided({path: text(path)}, {path: text(path) + "---\n" + made % ""}).items


@pytest.mark.parametrize(
    "file", ["foo/x.patch", "foo/x", "foo/x.json.txt"]
)  # fmt: skip
def test_machines_in_a_file_of_another_name(file: str) -> None:
    said = '{"cluster": {"network": {"podSubnets": ["10.%d.0.0/16"]}}, "machine": {"type": "worker"}}\n'

    found = decided({file: said % 1}, {file: said % 2})

    assert (found.side, found.risk) == (Side.BOOTSTRAP, Risk.CRITICAL)


MACHINES_INSIDE = {
    "TalosControlPlane": (
        "apiVersion: controlplane.cluster.x-k8s.io/v1alpha3\nkind: TalosControlPlane\nmetadata: {name: a}\nspec:\n"
        "  controlPlaneConfig:\n    controlplane:\n      strategicPatches:\n        - |\n          machine:\n"
        "            sysctls: {a: '%d'}\n"
    ),
    "ConfigMap": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a.yaml: |\n    machine:\n"
        "      sysctls: {a: '%d'}\n"
    ),
}


@pytest.mark.parametrize("said", MACHINES_INSIDE.values(), ids=MACHINES_INSIDE)
def test_machines_inside_of_objects(said: str) -> None:
    path = f"{NOTES}/notes.yaml"

    assert decided({path: said % 1}, {path: said % 2}).risk >= Risk.HIGH
    assert decided({path: text(path)}, {path: text(path) + "---\n" + said % 2}).risk >= Risk.HIGH

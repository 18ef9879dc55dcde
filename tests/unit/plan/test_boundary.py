"""Bootstrap against GitOps: what differs, in words, what comes of it, and that no Secret is shown."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.model.boundary import Boundary, BoundaryStanding, ComparedObject, LifecycleEvent
from firstlight.model.component import Side
from firstlight.model.diagnostic import Severity
from firstlight.model.rendition import Object, Rendition
from firstlight.plan import boundary
from tests.unit.plan import platforms

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: operator, namespace: kube-system, labels: {{helm.sh/chart: cilium-{version}}}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {selector}}}}}
  template:
    spec: {{containers: [{{name: operator, image: "quay.io/cilium/operator:v{version}@sha256:{version}"}}]}}
"""


def deployment(*, version: str = "1.18.2", replicas: int = 2, selector: str = "operator") -> str:
    return DEPLOYMENT.format(version=version, replicas=replicas, selector=selector)


def compare(left: str, right: str) -> dict[str, ComparedObject]:
    found = boundary.compare(platforms.objects(left), platforms.objects(right))
    return {f"{each.id.kind}/{each.id.name}": each for each in found}


def words(compared: ComparedObject) -> list[str]:
    return [each.words for each in compared.differences]


def test_objects_stand_as_they_are() -> None:
    one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: a}, data: {x: '1'}}"
    two = "{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: a}}"
    three = "{apiVersion: v1, kind: ConfigMap, metadata: {name: three, namespace: a}}"

    found = compare(f"{one}\n---\n{two}", f"{one.replace('1', '2')}\n---\n{three}\n---\n{two}")
    alone = compare(two, three)

    assert {name: each.standing for name, each in found.items()} == {
        "ConfigMap/one": BoundaryStanding.DIFFERENT,
        "ConfigMap/two": BoundaryStanding.EQUAL,
        "ConfigMap/three": BoundaryStanding.ONLY_GITOPS,
    }
    assert alone["ConfigMap/two"].standing == BoundaryStanding.ONLY_BOOTSTRAP


def test_versions_and_replicas_are_named_in_words() -> None:
    found = compare(deployment(replicas=1), deployment(version="1.18.3"))["Deployment/operator"]

    assert words(found) == [
        "chart cilium-1.18.2 › cilium-1.18.3",
        "replicas 1 › 2",
        "image operator v1.18.2 › v1.18.3",
    ]
    assert [each.rolls for each in found.differences] == [False, False, True]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("image: a/b:1", "image: a/b:1@sha256:1", "image b 1: another digest"),
        ("image: a/b:1", "image: c/b:1", "image a/b:1 › c/b:1"),
        ("image: a/b", "image: a/b:2", "image b latest › 2"),
        ("image: 'host:5000/b'", "image: 'host:5000/b:2'", "image b latest › 2"),
        ("data: {config: \"a\\nb\\nc\"}", "data: {config: \"a\\nB\\nc\"}", "value config: 2 of 3 lines differ"),
        ("data: {a: '1'}", "data: {a: '2'}", "value a 1 › 2"),
        ("data: {a: '1'}", "data: {}", "value a only in bootstrap"),
        ("metadata: {labels: {app.kubernetes.io/version: '1'}}", "metadata: {labels: {app.kubernetes.io/version: '2'}}",
         "version label 1 › 2"),
        ("metadata: {annotations: {a: b}}", "metadata: {annotations: {a: c}}", "annotation a b › c"),
        ("spec: {template: {spec: {containers: [{name: a, env: [{name: X, value: '1'}]}]}}}",
         "spec: {template: {spec: {containers: [{name: a, env: [{name: X, value: '2'}]}]}}}", "environment X 1 › 2"),
        ("spec: {template: {spec: {containers: [{name: a, tty: true}]}}}",
         "spec: {template: {spec: {containers: [{name: a, tty: false}]}}}", "a: tty True › False"),
        ("spec: {template: {spec: {hostNetwork: true}}}", "spec: {template: {spec: {}}}",
         "pods: spec.hostNetwork only in bootstrap"),
        ("spec: {a: [{b: 1}, 2]}", "spec: {a: {}}", "spec.a differs"),
    ],
)  # fmt: skip
def test_words(left: str, right: str, expected: str) -> None:
    head = "apiVersion: v1\nkind: Thing\n"

    (found,) = compare(head + left, head + right).values()

    assert words(found) == [expected]


def test_what_a_secret_holds_is_never_shown() -> None:
    def secret(value: str) -> str:
        return (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {plain: seen}, "
            f"annotations: {{last: CANARY-{value}}}}}\ndata: {{password: CANARY-{value}, both: CANARY}}\n"
            f"stringData: CANARY-{value}\n"
        )

    (found,) = compare(secret("left"), secret("right")).values()
    (alone,) = compare(
        secret("left"), "apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {plain: other}}"
    ).values()

    assert words(found) == ["annotation last differs", "value password differs", "stringData differs"]
    assert "CANARY" not in repr(found) + repr(alone)
    assert "label plain seen › other" in words(alone)
    assert {each.bootstrap for each in found.differences} == {"•••"}


def test_a_namespace_that_one_side_leaves_open_is_no_difference() -> None:
    bare = "{apiVersion: v1, kind: Service, metadata: {name: a}}"
    placed = "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: x}}"
    elsewhere = "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: y}}"

    (found,) = compare(bare, placed).values()
    several = boundary.compare(platforms.objects(bare), platforms.objects(f"{placed}\n---\n{elsewhere}"))

    assert (found.standing, found.id.namespace) == (BoundaryStanding.EQUAL, "x")
    assert [each.standing for each in several] == [
        BoundaryStanding.ONLY_BOOTSTRAP,
        BoundaryStanding.ONLY_GITOPS,
        BoundaryStanding.ONLY_GITOPS,
    ]


OBJECTS = st.lists(
    st.builds(
        lambda kind, name, value: Object(
            {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "a"}, "data": value}
        ),
        st.sampled_from(["ConfigMap", "Secret"]),
        st.sampled_from("abc"),
        st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["1", "2"])),
    ),
    max_size=4,
)


@given(OBJECTS)
def test_equal_sets_are_equal(objects: list[Object]) -> None:
    again = [Object(copy.deepcopy(dict(each.value))) for each in objects]

    assert all(each.standing == BoundaryStanding.EQUAL for each in boundary.compare(objects, again))


@given(OBJECTS, OBJECTS)
def test_both_ways_find_the_same(left: list[Object], right: list[Object]) -> None:
    swapped = {
        BoundaryStanding.EQUAL: BoundaryStanding.EQUAL,
        BoundaryStanding.DIFFERENT: BoundaryStanding.DIFFERENT,
        BoundaryStanding.ONLY_BOOTSTRAP: BoundaryStanding.ONLY_GITOPS,
        BoundaryStanding.ONLY_GITOPS: BoundaryStanding.ONLY_BOOTSTRAP,
    }

    there, back = boundary.compare(left, right), boundary.compare(right, left)

    assert [(each.id, each.standing) for each in there] == [(each.id, swapped[each.standing]) for each in back]
    for one, other in zip(there, back, strict=True):
        assert {(each.path, each.bootstrap, each.gitops) for each in one.differences} == {
            (each.path, each.gitops, each.bootstrap) for each in other.differences
        }


def told(
    spec: dict[str, Any], left: str, right: str, *, talos: str = ""
) -> dict[tuple[str, LifecycleEvent], tuple[Severity, str]]:
    """What comes of each object, by name and event."""
    found = made(spec, left, right, talos=talos)
    return {
        (each.id.name, item.event): (item.severity, item.effect) for each in found.objects for item in each.consequences
    }


def made(spec: dict[str, Any], left: str, right: str, *, talos: str = "") -> Boundary:
    platform, _ = platforms.make(
        {"clusters": {"home": {"talos": talos}}, "components": {"cilium": {"side": "hybrid", "role": "cni", **spec}}}
    )
    sides = [
        Rendition(component="cilium", cluster="home", side=side, objects=platforms.objects(text))
        for side, text in ((Side.BOOTSTRAP, left), (Side.GITOPS, right))
    ]
    return boundary.of(platform.clusters[0], platform.components[0], *sides)


ONE = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}"
TWO = "{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}"
HELM = {"phase": "core", "chart": "cilium", "form": "HelmRelease"}
INLINE = {"phase": "inline", "inline": 1, "form": "Kustomization"}
KUBECTL = {"phase": "core", "bootstrapForm": "kubectl command", "form": "Kustomization"}


def test_helm_and_a_helm_release() -> None:
    changed = told(HELM, deployment(), deployment(version="1.18.3"))
    alone = told(HELM, ONE, TWO)

    assert changed["operator", LifecycleEvent.RECONCILE] == (
        Severity.WARNING,
        "one helm upgrade makes it Git's; its pods are replaced",
    )
    assert changed["operator", LifecycleEvent.RERUN] == (
        Severity.WARNING,
        "makes it bootstrap's until helm-controller upgrades again; its pods are replaced twice",
    )
    # Helm deletes what the last revision has and the next one has not, whoever made the last one.
    assert alone["one", LifecycleEvent.RECONCILE][1] == "deletes it: the release's next revision does not have it"
    assert alone["two", LifecycleEvent.RERUN] == (
        Severity.ERROR,
        "deletes it: bootstrap's release does not have it; helm-controller brings it back",
    )
    assert LifecycleEvent.UPGRADE not in {event for _, event in alone}


def test_a_field_that_cannot_be_changed_fails_the_first_reconcile() -> None:
    found = told(HELM, deployment(selector="a"), deployment(selector="b"))

    assert found["operator", LifecycleEvent.RECONCILE] == (
        Severity.ERROR,
        "fails: spec.selector cannot be changed",
    )


@pytest.mark.parametrize(
    ("talos", "different", "only_bootstrap", "equal"),
    [
        ("v1.12.4", "writes the whole object as bootstrap has it; Flux puts Git's back at its next reconcile",
         "writes it again; never deletes it", "writes it without the labels of Flux, which puts them back"),
        ("v1.13.0", "takes bootstrap's values back by force until the next reconcile",
         "deletes it once it has left the machine config, unless it was released from Talos's inventory",
         "changes nothing; deletes it if it left the config before its release"),
        ("", "to 1.12: writes the whole object as bootstrap has it; Flux puts Git's back at its next reconcile; "
             "from 1.13: takes bootstrap's values back by force until the next reconcile",
         "to 1.12: writes it again; never deletes it; "
         "from 1.13: deletes it once it has left the machine config, unless it was released from Talos's inventory",
         "to 1.12: writes it without the labels of Flux, which puts them back; "
         "from 1.13: changes nothing; deletes it if it left the config before its release"),
    ],
)  # fmt: skip
def test_an_inline_manifest_and_upgrade_k8s(talos: str, different: str, only_bootstrap: str, equal: str) -> None:
    changed = "{apiVersion: v1, kind: ConfigMap, metadata: {name: three}, data: {a: '%s'}}"

    found = told(INLINE, "\n---\n".join([ONE, TWO, changed % 1]), "\n---\n".join([TWO, changed % 2]), talos=talos)

    assert found["three", LifecycleEvent.UPGRADE] == (Severity.WARNING, different)
    assert found["one", LifecycleEvent.UPGRADE][1] == only_bootstrap
    assert found["two", LifecycleEvent.UPGRADE] == (Severity.NOTE, equal)
    assert found["one", LifecycleEvent.RECONCILE][1] == "leaves it alone: Git does not know it, nobody updates it"
    assert (LifecycleEvent.RERUN) not in {event for _, event in found}


@pytest.mark.parametrize(
    ("talos", "different", "all_of_it"),
    [
        ("v1.12.4", "writes the whole object as bootstrap has it, for good",
         "writes whole objects as the manifest has them: all that was changed since is lost; never deletes any"),
        ("v1.13.0", "takes bootstrap's values back by force, for good",
         "takes the manifest's values back by force, keeps fields that it does not name, and deletes objects that have "
         "left it"),
    ],
)  # fmt: skip
def test_what_talos_keeps_is_taken_back_by_an_upgrade_and_by_nobody_else(
    talos: str, different: str, all_of_it: str
) -> None:
    changed = "{apiVersion: v1, kind: ConfigMap, metadata: {name: three}, data: {a: '%s'}}"
    kept = {**INLINE, "owner": "bootstrap"}

    found = told(kept, changed % 1, changed % 2, talos=talos)
    whole = made(kept, changed % 1, changed % 2, talos=talos)

    assert found["three", LifecycleEvent.UPGRADE] == (Severity.WARNING, different)
    assert whole.stays is not None
    assert (whole.stays.event, whole.stays.effect) == (LifecycleEvent.UPGRADE, all_of_it)
    assert made(INLINE, changed % 1, changed % 2, talos=talos).stays is None, "the engine takes it over"


def test_what_only_talos_has_and_keeps_is_told_too() -> None:
    platform, _ = platforms.make({
        "clusters": {"home": {"talos": "v1.13.0"}},
        "components": {
            "flannel": {"side": "bootstrap", "phase": "inline", "inline": 1, "owner": "bootstrap"},
            "dns": {"side": "bootstrap", "phase": "core", "chart": "dns", "owner": "bootstrap"},
        },
    })  # fmt: skip

    found = {each.name: boundary.staying(platform.clusters[0], each) for each in platform.components}

    assert found["dns"] is None
    assert found["flannel"] is not None
    assert found["flannel"].is_equal


def test_fields_that_git_does_not_have_stay_unless_owners_are_migrated() -> None:
    more = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: '1', b: '2'}}"

    found = told(KUBECTL, more, "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: '1'}}")

    assert found["one", LifecycleEvent.RECONCILE][1] == (
        "Flux's apply makes it Git's; 1 field stays that Git does not have, unless owners are migrated"
    )
    assert found["one", LifecycleEvent.RERUN][1] == "makes it bootstrap's until Flux's next reconcile"


def test_argo_cd_without_server_side_apply_is_told() -> None:
    plain = {**KUBECTL, "form": "Application"}
    applied = {**plain, "definition": {"spec": {"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}}}}
    left = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: '1'}}"
    right = left.replace("'1'", "'2'")

    assert (
        "without ServerSideApply bootstrap stays an owner"
        in told(plain, left, right)["one", LifecycleEvent.RECONCILE][1]
    )
    assert told(applied, left, right)["one", LifecycleEvent.RECONCILE] == (
        Severity.NOTE,
        "Argo CD's apply makes it Git's",
    )


def test_what_could_not_be_rendered_is_not_compared() -> None:
    spec = {
        "components": {"cilium": {**HELM, "side": "hybrid"}},
        "renditions": {"cilium": {"bootstrap": ONE, "gitops": "ERROR no chart"}},
    }
    platform, (left, right) = platforms.make(spec)

    found = boundary.of(platform.clusters[0], platform.components[0], left, right)

    assert found.objects == ()
    assert not found.is_equal
    assert [each.message for each in found.diagnostics] == ["ERROR no chart"]

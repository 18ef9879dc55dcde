"""What pods need: references, images, tolerations, and whether two of them can share a node."""

import pytest

from firstlight.model.rendition import Object
from firstlight.plan import pod_needs, supplies
from tests.unit.plan import platforms


def pod(spec: str, *, kind: str = "Deployment", labels: str = "{}") -> Object:
    (found,) = platforms.objects(
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: a, namespace: b}}\n"
        f"spec: {{template: {{metadata: {{labels: {labels}}}, spec: {spec}}}}}\n"
    )
    return found


def test_references_are_found_everywhere_and_optional_ones_are_left_out() -> None:
    spec = """
      {initContainers: [{envFrom: [{secretRef: {name: one}}, {configMapRef: {name: two}}]}],
       containers: [{env: [{valueFrom: {secretKeyRef: {name: three}}}, {valueFrom: {configMapKeyRef: {name: four}}},
                           {valueFrom: {secretKeyRef: {name: no, optional: true}}}]}],
       imagePullSecrets: [{name: pull}],
       volumes: [{secret: {secretName: five}}, {configMap: {name: six}}, {secret: {secretName: no, optional: true}},
                 {projected: {sources: [{secret: {name: seven}}, {configMap: {name: eight, optional: true}}]}}]}
    """
    found = [(each.kind, each.name) for each in pod_needs.references(pod(spec.replace("\n", " ")))]

    assert found == [
        ("Secret", "one"), ("ConfigMap", "two"), ("Secret", "three"), ("ConfigMap", "four"),
        ("Secret", "five"), ("ConfigMap", "six"), ("Secret", "seven"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "spec",
    [
        "[]",
        "3",
        "{containers: 7, volumes: {a: b}}",
        "{containers: [1, null, {env: [x], envFrom: 5}]}",
        "{volumes: [[]]}",
    ],
)
def test_odd_manifests_do_no_harm(spec: str) -> None:
    item = pod(spec)

    assert list(pod_needs.references(item)) == []
    assert list(pod_needs.images(item)) == []
    assert not pod_needs.tolerates_control_planes(item)
    assert pod_needs.one_per_node(item) == ""


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ("{operator: Exists}", True),
        ("{operator: Exists, effect: NoSchedule}", True),
        ("{operator: Exists, effect: NoExecute}", False),
        ("{key: node-role.kubernetes.io/control-plane}", True),
        ("{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}", True),
        ("{key: node-role.kubernetes.io/control-plane, operator: Equal, value: x}", False),
        ("{key: node-role.kubernetes.io/control-plane, effect: PreferNoSchedule}", False),
        ("{key: node-role.kubernetes.io/master, operator: Exists}", False),
        ("{}", False),
    ],
)
def test_tolerations(toleration: str, expected: bool) -> None:
    assert pod_needs.tolerates_control_planes(pod(f"{{tolerations: [{toleration}]}}")) is expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("{matchLabels: {app: x}}", True),
        ("{matchLabels: {app: other}}", False),
        ("{matchExpressions: [{key: app, operator: In, values: [x, z]}]}", True),
        ("{matchExpressions: [{key: app, operator: NotIn, values: [x]}]}", False),
        ("{matchExpressions: [{key: app, operator: Exists}]}", True),
        ("{matchExpressions: [{key: app, operator: DoesNotExist}]}", False),
        ("{matchExpressions: [{key: app, operator: Weird}]}", False),
        ("{}", False),
    ],
)
def test_required_anti_affinity_with_itself(selector: str, expected: bool) -> None:
    rule = f"{{topologyKey: kubernetes.io/hostname, labelSelector: {selector}}}"
    spec = f"{{affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{rule}]}}}}}}"

    assert bool(pod_needs.one_per_node(pod(spec, labels="{app: x}"))) is expected


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("busybox", "docker.io"),
        ("library/busybox:1", "docker.io"),
        ("quay.io/a/b:1", "quay.io"),
        ("localhost/a", "localhost"),
        ("registry:5000/a", "registry:5000"),
        ("registry.example.org:5000/a@sha256:x", "registry.example.org:5000"),
    ],
)
def test_registries(image: str, expected: str) -> None:
    assert pod_needs.registry(image) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://Git.Example.org/a.git", "git.example.org"),
        ("ssh://git@git.example.org:2222/a", "git.example.org"),
        ("git@git.example.org:me/a.git", "git.example.org"),
        ("oci://registry.example.org:5000/charts", "registry.example.org"),
        ("https://user:pass@[2001:db8::1]:8443/x", "2001:db8::1"),
        ("https://example.org?x=@evil.example.net/", "example.org"),
        ("file:///srv/git", ""),
        ("./charts/a", ""),
        ("", ""),
    ],
)
def test_hosts_of_urls(url: str, expected: str) -> None:
    assert supplies.host_of_url(url) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("registry.images.svc.cluster.local", ("images", "registry")),
        ("registry.images.svc", ("images", "registry")),
        ("registry.images.svc.cluster.local.", ("images", "registry")),
        ("registry.example.org", None),
        ("a.b.c.svc", None),
    ],
)
def test_services_by_their_names(host: str, expected: tuple[str, str] | None) -> None:
    assert supplies.service_of_host(host, "cluster.local") == expected

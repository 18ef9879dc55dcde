"""Values that every rendering makes anew."""

import base64
import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from firstlight.model.diagnostic import Severity
from firstlight.model.rendition import Object
from firstlight.render.inline import unstable_values
from tests.unit.render.inline.sample import PLACE, a_secret, an_object

NOW = datetime.datetime(2026, 5, 4, 12, 0, tzinfo=datetime.UTC)


def certificate(begins: datetime.datetime) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, begins, begins + datetime.timedelta(days=9))
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    return base64.b64encode(made).decode()


def rendering(ca: str, *, checksum: str = "1", image: str = "a:1", extra: str = "") -> list[Object]:
    pod = {"metadata": {"annotations": {"checksum/ca": checksum}}, "spec": {"containers": [{"image": image}]}}
    found = [
        a_secret("cilium-ca", **{"ca.crt": ca, "ca.key": f"{ca}-key"}),
        an_object("DaemonSet", "agent", namespace="kube-system", api="apps/v1", spec={"template": pod}),
        an_object("ConfigMap", "c", namespace="kube-system", data={"a": "b"}),
    ]
    return [*found, an_object("ConfigMap", f"job-{extra}", namespace="kube-system")] if extra else found


def shown(found: Any) -> list[str]:
    return [str(each) for each in found]


def test_two_renderings_tell_what_changes() -> None:
    found = unstable_values.between(rendering("x", checksum="1"), rendering("y", checksum="2"))

    assert shown(found) == [
        "Secret kube-system/cilium-ca data.ca.crt",
        "Secret kube-system/cilium-ca data.ca.key",
        "DaemonSet kube-system/agent spec.template.metadata.annotations.checksum/ca",
    ]
    assert [each.is_checksum for each in found] == [False, False, True]


def test_nothing_changes() -> None:
    assert unstable_values.between(rendering("x"), rendering("x")[::-1]) == ()


def test_a_name_that_changes() -> None:
    found = unstable_values.between(rendering("x", extra="abc"), rendering("x", extra="def"))

    assert shown(found) == ["ConfigMap kube-system/job-abc", "ConfigMap kube-system/job-def"]


def test_a_list_of_another_length_changes_as_a_whole() -> None:
    one, other = ([an_object("W", "w", spec={"a": [1] * n})] for n in (1, 2))

    assert shown(unstable_values.between(one, other)) == ["W w spec.a"]


def test_each_object_is_told_once_with_its_remedy() -> None:
    one = rendering("x")

    first, second = unstable_values.diagnostics(
        unstable_values.between(one, rendering("y", checksum="2")), one, place=PLACE
    )

    assert (first.severity, first.message) == (
        Severity.WARNING,
        "data.ca.crt, data.ca.key of Secret kube-system/cilium-ca: every rendering makes it anew",
    )
    assert "hubble.tls.auto.method" in first.fix
    assert second.fix.startswith("Give the chart a fixed value")


def test_a_remedy_is_that_of_the_chart() -> None:
    mine = an_object(
        "Secret", "thing-grafana", namespace="x", labels={"app.kubernetes.io/name": "grafana"}, data={"p": "x"}
    )
    foreign = an_object(
        "Secret", "thing-grafana", namespace="x", labels={"app.kubernetes.io/name": "other"}, data={"p": "x"}
    )

    hints = [
        unstable_values.diagnostics([unstable_values.UnstableValue(each.id, ("data", "p"))], [each], place=PLACE)[0].fix
        for each in (mine, foreign)
    ]

    assert hints[0] == "Set grafana.adminPassword, or grafana.admin.existingSecret."
    assert hints[1].startswith("Give the chart")


def test_a_checksum_of_ciliums_config_has_a_remedy_of_its_own() -> None:
    each = an_object("DaemonSet", "cilium", namespace="kube-system", api="apps/v1")
    steps = ("spec", "template", "metadata", "annotations", "cilium.io/cilium-configmap-checksum")

    (diagnostic,) = unstable_values.diagnostics([unstable_values.UnstableValue(each.id, steps)], [each], place=PLACE)

    assert diagnostic.fix.startswith("Set rollOutCiliumPods")


def test_no_value_is_told() -> None:
    one = rendering("c2VjcmV0")
    said = unstable_values.diagnostics(unstable_values.between(one, rendering("b3RoZXI=")), one, place=PLACE)

    assert "c2VjcmV0" not in repr(said)


def test_a_certificate_of_this_hour_was_made_by_the_rendering() -> None:
    new, old = certificate(NOW - datetime.timedelta(minutes=1)), certificate(NOW - datetime.timedelta(days=1))
    objects = [
        a_secret("fresh", **{"tls.crt": new, "tls.key": "a2V5", "empty": ""}),
        a_secret("given", **{"tls.crt": old, "tls.key": "a2V5"}),
        an_object("ValidatingWebhookConfiguration", "w", webhooks=[{"clientConfig": {"caBundle": new}}]),
        an_object("ConfigMap", "c", namespace="x", data={"text": "z" * 400, "broken": f"LS0tLS1CRUdJTi{'B' * 400}"}),
    ]

    assert shown(unstable_values.suspects(objects, now=NOW)) == [
        "Secret kube-system/fresh data.tls.crt",
        "Secret kube-system/fresh data.tls.key",
        "ValidatingWebhookConfiguration w webhooks.0.clientConfig.caBundle",
    ]


def keep(new: list[Object], old: list[Object], *, image: str = "a:1") -> tuple[list[Object], list[str]]:
    found = unstable_values.between(new, rendering("other", checksum="other", image=image))
    kept, values = unstable_values.keep(new, old, found)
    return kept, shown(values)


def test_what_is_there_stays_if_nothing_else_changed() -> None:
    old = rendering("x", checksum="1")

    kept, values = keep(rendering("y", checksum="2"), old)

    assert [each.value for each in kept] == [each.value for each in old]
    assert len(values) == 3


def test_checksums_are_new_if_something_else_changed() -> None:
    kept, values = keep(rendering("y", checksum="2", image="a:2"), rendering("x", checksum="1"), image="a:2")

    found = {each.id.name: each.value for each in kept}
    template = found["agent"]["spec"]["template"]
    assert found["cilium-ca"]["data"] == {"ca.crt": "x", "ca.key": "x-key"}
    assert template["metadata"]["annotations"] == {"checksum/ca": "2"}
    assert template["spec"]["containers"] == [{"image": "a:2"}]
    assert len(values) == 2


def test_keys_are_kept_together_or_not_at_all() -> None:
    old = rendering("x")
    old[0] = a_secret("cilium-ca", **{"ca.crt": "x"})

    kept, values = keep(rendering("y"), old)

    assert kept[0].value["data"] == {"ca.crt": "y", "ca.key": "y-key"}
    assert values == []


def test_an_object_that_went_is_a_change() -> None:
    _, values = keep(rendering("y", checksum="2"), rendering("x", checksum="1", extra="more"))

    assert len(values) == 2

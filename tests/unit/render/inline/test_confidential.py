"""What holds secrets, and that none of it is seen."""

import base64
from typing import Any

import pytest

from firstlight.model.diagnostic import Severity
from firstlight.model.rendition import Object
from firstlight.model.secret import MASK
from firstlight.render.inline import confidential, manifest_contents
from tests.unit.render.inline.sample import PLACE, a_crd, a_secret, an_object

KEY = f"-----BEGIN EC PRIVATE KEY-----\n{'MHcCAQEEIBk' * 6}\n-----END EC PRIVATE KEY-----\n"
ENCODED = base64.b64encode(KEY.encode()).decode()


def found(*objects: Object) -> list[tuple[str, tuple[str, ...]]]:
    return [(str(each.id), each.where) for each in confidential.of(objects)]


def test_a_secret_with_data() -> None:
    assert found(a_secret("ca", crt="eA==", key="eQ==")) == [("Secret kube-system/ca", ("crt", "key"))]


def test_a_secret_with_string_data() -> None:
    one = an_object("Secret", "s", namespace="x", stringData={"password": "hunter2"})

    assert found(one) == [("Secret x/s", ("password",))]


@pytest.mark.parametrize(
    "fields", [{}, {"data": None}, {"data": {}}, {"data": {"empty": ""}}, {"data": {"null": None}}]
)
def test_a_secret_without_data_is_harmless(fields: dict[str, Any]) -> None:
    assert found(an_object("Secret", "argocd-secret", namespace="argocd", **fields)) == []


def test_a_secret_that_kubectl_applied_holds_its_data_twice() -> None:
    one = an_object("Secret", "s", namespace="x", annotations={confidential.LAST_APPLIED: '{"data":{"a":"eA=="}}'})

    assert found(one) == [("Secret x/s", (confidential.LAST_APPLIED,))]


@pytest.mark.parametrize("text", [KEY, ENCODED, f"# mine\n{KEY}", "\n".join([ENCODED[:64], ENCODED[64:]])])
def test_a_private_key_is_found_wherever_it_stands(text: str) -> None:
    one = an_object("ConfigMap", "c", namespace="x", data={"tls": text})

    assert found(one) == [("ConfigMap x/c", ("data.tls",))]


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----",
        "paste the -----BEGIN RSA PRIVATE KEY----- here",
        KEY.replace("PRIVATE", "PUBLIC"),
        base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB" * 9).decode(),
        "LS0tLS1CRUdJTi!",
    ],
)
def test_what_only_looks_like_a_key(text: str) -> None:
    assert found(an_object("ConfigMap", "c", namespace="x", data={"a": text})) == []


def test_descriptions_of_a_definition_are_no_keys() -> None:
    crd = a_crd("W", "ws", "example.org")

    assert found(Object({**crd.value, "spec": {**crd.value["spec"], "description": KEY}})) == []


def test_nothing_gets_in_without_being_named() -> None:
    (diagnostic,) = confidential.refused([a_secret("ca", key="c2VjcmV0")], [], place=PLACE)

    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.message.startswith("Secret kube-system/ca has real data (key)")
    assert "--allow-secret ca" in diagnostic.fix
    assert "c2VjcmV0" not in repr(diagnostic)


@pytest.mark.parametrize("name", ["ca", "kube-system/ca"])
def test_what_is_named_gets_in(name: str) -> None:
    assert confidential.refused([a_secret("ca", key="eA==")], [name], place=PLACE) == []


def test_a_name_of_another_namespace_allows_nothing() -> None:
    grades = [each.severity for each in confidential.refused([a_secret("ca", key="eA==")], ["x/ca"], place=PLACE)]

    assert grades == [Severity.ERROR, Severity.WARNING]


def test_a_name_that_allows_nothing_is_told() -> None:
    (diagnostic,) = confidential.refused([], ["typo"], place=PLACE)

    assert (diagnostic.severity, diagnostic.message) == (
        Severity.WARNING,
        "--allow-secret typo: there is no such Secret with data",
    )


def test_values_are_masked_and_a_change_is_still_seen() -> None:
    old, new = a_secret("s", a="eA==", b="eQ=="), a_secret("s", a="eA==", b="eg==", c="dw==")

    shown = confidential.masked(new, other=old).value["data"]

    assert shown == {"a": MASK, "b": f"{MASK} (another value)", "c": MASK}


def test_no_value_of_a_secret_is_shown_anywhere() -> None:
    one = Object(
        {
            **a_secret("s", a="c2VjcmV0").value,
            "stringData": {"b": "secret"},
            "metadata": {"name": "s", "annotations": {confidential.LAST_APPLIED: "secret"}},
        }
    )

    shown = manifest_contents.object_text(confidential.masked(one))

    assert "secret" not in shown
    assert "c2VjcmV0" not in shown


def test_a_key_elsewhere_is_masked_alone() -> None:
    one = an_object("ConfigMap", "c", namespace="x", data={"key": KEY, "other": "seen"})

    assert confidential.masked(one).value["data"] == {"key": MASK, "other": "seen"}

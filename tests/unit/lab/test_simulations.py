"""The pure parts of the simulations."""

import pytest

from firstlight.lab.simulations import absent_controllers, kubelets, webhooks


@pytest.mark.parametrize(
    ("wanted", "taken", "expected"),
    [
        ([], set(), ["10.5.0.1"]),
        ([], {"10.5.0.1"}, ["10.5.0.2"]),
        ([], {"10.5.0.1", "10.5.0.2"}, []),
        (["10.5.0.2"], set(), ["10.5.0.2"]),
        (["10.5.0.2", "10.9.9.9"], set(), []),
        (["10.5.0.2"], {"10.5.0.2"}, []),
        (["${LB_IP}"], set(), []),
    ],
)
def test_an_address_comes_from_the_pool_or_not_at_all(wanted: list[str], taken: set[str], expected: list[str]) -> None:
    assert absent_controllers.choose_addresses(wanted, ["${POOL}", "10.5.0.1-10.5.0.2"], taken) == expected


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ([{"hostPath": {"path": "/etc/cni/net.d"}}], True),
        ([{"hostPath": {"path": "/etc/cni/net.d/"}}], True),
        ([{"hostPath": {"path": "/opt/cni/bin"}}], False),
        ([{"configMap": {"name": "x"}}], False),
        ([], False),
    ],
)
def test_a_cni_pod_is_known_by_the_directory_it_mounts(volumes: list[dict[str, object]], expected: bool) -> None:
    assert kubelets.is_cni({"spec": {"volumes": volumes}}) is expected


def test_admission_is_allowed_under_the_same_uid() -> None:
    answer = webhooks.review({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}})

    assert answer["response"] == {"uid": "u", "allowed": True}


def test_conversion_changes_the_version_and_nothing_else() -> None:
    objects = [{"apiVersion": "a/v1", "kind": "K", "spec": {"x": 1}}]
    request = {"uid": "u", "desiredAPIVersion": "a/v2", "objects": objects}

    answer = webhooks.review({"apiVersion": "x", "kind": "ConversionReview", "request": request})

    assert answer["response"]["convertedObjects"] == [{"apiVersion": "a/v2", "kind": "K", "spec": {"x": 1}}]


def test_the_table_of_custom_resources_is_well_formed_and_names_each_kind_once() -> None:
    kinds = [(rule.group, rule.kind) for rule in absent_controllers.custom_resource_rules()]

    assert len(kinds) == len(set(kinds)) > 5


def test_a_status_is_written_once_for_each_generation() -> None:
    rule = absent_controllers.custom_resource_rules()[0]
    fresh = {"metadata": {"generation": 2}}

    written = absent_controllers.missing_status(rule, fresh)
    settled = absent_controllers.missing_status(rule, {**fresh, "status": written})
    later = absent_controllers.missing_status(rule, {"metadata": {"generation": 3}, "status": written})

    assert written["conditions"][0]["status"] == "True"
    assert settled == {}
    assert later["conditions"][0]["observedGeneration"] == 3

"""Whose fields may be taken, and in which order is written."""

import pytest

from firstlight import errors
from firstlight.clients.kube.kube_errors import FieldConflict
from firstlight.execute.apply import object_survey
from firstlight.execute.apply.object_survey import ObjectDifference
from firstlight.model.rendition import Object


def difference(kind: str = "ConfigMap", **more: object) -> ObjectDifference:
    value = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "b"}}
    return ObjectDifference(object=Object(value), manager="flux", live={"metadata": {}}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("manager", "is_own"),
    [("helm", True), ("talos", True), ("kubectl-client-side-apply", True), ("firstlight", True), ("flux", True),
     ("helm-controller", False), ("kube-controller-manager", False), ("argocd-controller", False), ("", False)],
)  # fmt: skip
def test_only_bootstraps_own_fields_are_taken(manager: str, is_own: bool) -> None:
    assert object_survey.is_own_manager(manager, applied_by="flux") is is_own


def test_everything_that_is_refused_is_named() -> None:
    conflicts = (FieldConflict(".data.a", "hpa"), FieldConflict(".data.b", "helm"))
    with pytest.raises(errors.Refused) as error:
        object_survey.check_refusals([difference(conflicts=conflicts), difference(downgrade="it is older")])
    assert str(error.value).splitlines() == [
        "fields of ConfigMap b/a are owned by others, with other values: .data.a by hpa",
        "ConfigMap b/a would be downgraded: it is older",
    ]
    object_survey.check_refusals([difference(conflicts=conflicts[1:])])


def test_webhooks_come_last_and_namespaces_first() -> None:
    kinds = ["ValidatingWebhookConfiguration", "Deployment", "Secret", "CustomResourceDefinition", "Namespace"]
    ordered = [those[0].object.id.kind for _, those in object_survey.stage_order([difference(each) for each in kinds])]
    assert ordered == kinds[::-1]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"live": None}, "create ConfigMap b/a"),
        ({}, "apply ConfigMap b/a"),
        ({"fields": ("x",)}, "change ConfigMap b/a (x)"),
        ({"fields": ("x", "y", "z", "w")}, "change ConfigMap b/a (x, y, z and 1 more)"),
        ({"live": {"metadata": {"deletionTimestamp": "t"}}}, "create ConfigMap b/a again, once it is gone"),
    ],
)
def test_sentences(more: dict[str, object], sentence: str) -> None:
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}
    given = {"object": Object(value), "manager": "flux", "live": {"metadata": {}}, **more}
    assert ObjectDifference(**given).sentence == sentence  # type: ignore[arg-type]

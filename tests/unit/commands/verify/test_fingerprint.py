"""Two looks at a cluster compared: who wrote what."""

import dataclasses
from typing import Any

import pytest

from firstlight.commands.verify.fingerprint import Print, compare
from firstlight.model.component import ObjectId

KEY = ObjectId("apps", "Deployment", "web", "shop")
APPLIED = ("kustomize-controller", "Apply")
CONTROLLER = ("kube-controller-manager", "Update")
OLD = Print(uid="1", version="10", writers={APPLIED: "a", CONTROLLER: "b"}, shape="s", has_status=True)
BY_US = "changed Deployment web/shop (kustomize-controller)"
BY_OTHERS = "changed Deployment web/shop (kube-controller-manager)"
OURS = {"kustomize-controller"}


def changed(**values: Any) -> Print:
    return dataclasses.replace(OLD, version="11", **values)


@pytest.mark.parametrize(
    ("old", "new", "written", "by_others"),
    [
        (OLD, OLD, (), ()),
        (OLD, changed(), (), ()),
        (OLD, changed(writers={APPLIED: "c", CONTROLLER: "b"}), (BY_US,), ()),
        (OLD, changed(writers={APPLIED: "a", CONTROLLER: "c"}), (), (BY_OTHERS,)),
        (OLD, changed(writers={CONTROLLER: "b"}), (BY_US,), ()),
        (OLD, changed(shape="t"), ("changed Deployment web/shop",), ()),
        (OLD, changed(has_status=False), ("changed Deployment web/shop",), ()),
        (OLD, changed(shape="t", is_owned=True), ("changed Deployment web/shop",), ()),
        (dataclasses.replace(OLD, is_owned=True), changed(shape="t"), (), ("changed Deployment web/shop",)),
        (None, OLD, ("created Deployment web/shop (kube-controller-manager, kustomize-controller)",), ()),
        (None, changed(writers={CONTROLLER: "b"}), (), ("created Deployment web/shop (kube-controller-manager)",)),
        (None, changed(writers={}), ("created Deployment web/shop",), ()),
        (OLD, changed(uid="2", writers={APPLIED: "a"}), ("created Deployment web/shop (kustomize-controller)",), ()),
        (OLD, None, ("deleted Deployment web/shop",), ()),
        (dataclasses.replace(OLD, is_owned=True), None, (), ("deleted Deployment web/shop",)),
    ],
    ids=["same", "status", "ours", "others", "field-dropped", "shape", "no-status", "adopted", "owned",
         "created", "created-by-others", "created-by-nobody", "recreated", "deleted", "owned-deleted"],
)  # fmt: skip
def test_who_wrote_what(old: Print | None, new: Print | None, written: tuple[str], by_others: tuple[str]) -> None:
    before = {} if old is None else {KEY: old}
    after = {} if new is None else {KEY: new}

    found = compare(before, after, ours=OURS)

    assert (found.written, found.by_others) == (written, by_others)
    assert found.objects == len(after)


def test_what_was_being_deleted_goes_by_itself() -> None:
    going = dataclasses.replace(OLD, is_going=True)
    namespace = ObjectId("", "Namespace", "", "web")

    alone = compare({KEY: going}, {}, ours=OURS)
    within = compare({KEY: OLD, namespace: going}, {}, ours=OURS)
    other = dataclasses.replace(namespace, name="other")
    too_late = compare({KEY: OLD, other: OLD}, {other: OLD}, ours=OURS)
    elsewhere = compare({KEY: OLD, namespace: OLD, other: going}, {namespace: OLD}, ours=OURS)
    unknown = compare({KEY: OLD}, {}, ours=OURS)

    assert alone.written == within.written == too_late.written == ()
    assert within.by_others == ("deleted Namespace web", "deleted Deployment web/shop")
    assert elsewhere.written == unknown.written == ("deleted Deployment web/shop",)

"""The mark on a node that firstlight works on; whatever else stands there is none."""

import pytest

from firstlight.gates import draining, node_marks
from firstlight.model.draining import MARK, Mark
from firstlight.model.verdict import Passed, Waiting


def test_a_mark_is_read_as_it_was_written() -> None:
    mark = Mark(command="node maintain", boot="one", is_ours=True)

    assert node_marks.of({"metadata": {"annotations": {MARK: node_marks.written(mark)}}}) == mark


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "null"])
def test_what_cannot_be_read_is_no_mark(text: str) -> None:
    assert node_marks.of({"metadata": {"annotations": {MARK: text}}}) is None


def test_a_mark_of_strange_values_makes_nothing_ours() -> None:
    found = node_marks.of({"metadata": {"annotations": {MARK: '{"boot": 1, "cordoned": "yes"}'}}})

    assert found == Mark(command="", boot="", is_ours=False)


def test_what_belongs_to_a_node_must_run_on_it_again() -> None:
    owner = [{"kind": "DaemonSet", "name": "cilium", "controller": True}]
    pod = {"metadata": {"name": "cilium-x", "namespace": "kube-system", "ownerReferences": owner}}
    ready = {**pod, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    other = {"metadata": {"name": "web", "namespace": "shop", "ownerReferences": [{**owner[0], "kind": "ReplicaSet"}]}}
    node = {"metadata": {"name": "worker-1"}}

    assert draining.settled(node, [pod, other]) == Waiting("not ready yet: kube-system/cilium-x")
    assert draining.settled(node, [ready, other]) == Passed("worker-1 takes pods; its own pod is ready")

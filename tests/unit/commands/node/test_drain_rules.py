"""The mark on a node that firstlight works on; whatever else stands there is none."""

import pytest

from firstlight.commands.node import drain_rules
from firstlight.commands.node.drain_rules import MAINTENANCE_MARK, MaintenanceMark
from firstlight.model.verdict import Passed, Waiting


def test_a_mark_is_read_as_it_was_written() -> None:
    mark = MaintenanceMark(command="node maintain", boot="one", is_ours=True)

    assert (
        drain_rules.mark_of({"metadata": {"annotations": {MAINTENANCE_MARK: drain_rules.written_mark(mark)}}}) == mark
    )


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "null"])
def test_what_cannot_be_read_is_no_mark(text: str) -> None:
    assert drain_rules.mark_of({"metadata": {"annotations": {MAINTENANCE_MARK: text}}}) is None


def test_a_mark_of_strange_values_makes_nothing_ours() -> None:
    found = drain_rules.mark_of({"metadata": {"annotations": {MAINTENANCE_MARK: '{"boot": 1, "cordoned": "yes"}'}}})

    assert found == MaintenanceMark(command="", boot="", is_ours=False)


def test_what_belongs_to_a_node_must_run_on_it_again() -> None:
    owner = [{"kind": "DaemonSet", "name": "cilium", "controller": True}]
    pod = {"metadata": {"name": "cilium-x", "namespace": "kube-system", "ownerReferences": owner}}
    ready = {**pod, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    other = {"metadata": {"name": "web", "namespace": "shop", "ownerReferences": [{**owner[0], "kind": "ReplicaSet"}]}}
    node = {"metadata": {"name": "worker-1"}}

    assert drain_rules.settled(node, [pod, other]) == Waiting("not ready yet: kube-system/cilium-x")
    assert drain_rules.settled(node, [ready, other]) == Passed("worker-1 takes pods; its own pod is ready")

"""The machines of a cluster as a page: what is not as it must be is seen at once, and hostile names do nothing."""

from firstlight.commands.node import list as node_list
from firstlight.commands.node.node_rows import ConfigEquality, ConfigStatus, NodeList, NodeRow
from firstlight.model.change import ChangedField, ChangeVerb
from firstlight.model.place import Place

EQUAL = ConfigStatus(equality=ConfigEquality.EQUAL)
WELL = NodeRow(
    name="cp-1", role="controlplane", address="10.25.10.11", state="running", is_seen=True, talos="v1.13.0",
    kubernetes="v1.36.0", node="ready", etcd="leader", is_schedulable=True, config=EQUAL,
)  # fmt: skip
RACK = ChangedField(steps=("machine", "nodeLabels", "rack"), verb=ChangeVerb.ADDED, place=Place(""), after="a")
OTHER = ConfigStatus(equality=ConfigEquality.DIFFERENT, fields=(RACK,), needs_reboot=True, reason="Applied\nmore")


def row(**facts: object) -> NodeRow:
    return NodeRow(**({"name": "a", "state": "running", "node": "ready", "config": EQUAL} | facts))  # type: ignore[arg-type]


def test_the_page() -> None:
    rows = (
        WELL,
        row(name="worker-1", role="worker", config=OTHER, is_schedulable=True),
        row(name="worker-2", role="worker", state="does not answer (refused)", node="absent", config=OTHER),
        row(
            name="worker-3",
            begun="node maintain",
            is_schedulable=False,
            node="not ready",
            diagnostics=("it is silent",),
        ),
        row(name="cp-9", is_declared=False, state="", is_schedulable=False),
    )

    shown = node_list.list_text(NodeList(cluster="infra", rows=rows, unseen=("worker-2: refused",)))

    assert shown.splitlines()[:8] == [
        "infra   1 of 5 as declared",
        "",
        "  machine    role           address       talos     kubelet   is                         etcd     config",
        "  cp-1       controlplane   10.25.10.11   v1.13.0   v1.36.0   ready                      leader   equal",
        "  worker-1   worker         -             -         -         ready                      -        reboots",
        "  worker-2   worker         -             -         -         does not answer, no node   -        reboots",
        "  worker-3   -              -             -         -         not ready, node maintain   -        equal",
        "  cp-9       -              -             -         -         not declared, cordoned     -        equal",
    ]
    assert "  worker-1\n    Applied\n    machine.nodeLabels.rack a added" in shown
    assert "  worker-3\n    it is silent" in shown
    assert "  not seen   worker-2: refused" in shown
    assert "firstlight node apply infra --all --dry-run" in shown


def test_all_is_well() -> None:
    assert node_list.list_text(NodeList(cluster="infra", rows=(WELL,))).startswith("infra   1 machine, all as declared")


def test_a_hostile_name_is_shown_and_not_obeyed() -> None:
    shown = node_list.list_text(NodeList(cluster="infra", rows=(row(name="a\x1b[2Jb", diagnostics=("c\rd",)),)))

    assert "\x1b" not in shown
    assert "\r" not in shown

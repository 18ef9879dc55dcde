"""What maintaining a machine would mean, as a page: who goes, who stays, what is asked and what is refused."""

import dataclasses

from firstlight.model.draining import Concern, Fate, Foreseen, PodFate, Weight
from firstlight.model.verdict import Passed, Waiting
from firstlight.report import node_maintain


def pod(name: str, fate: Fate, why: str = "") -> PodFate:
    return PodFate(namespace="shop", name=name, uid=name, fate=fate, why=why)


FOUND = Foreseen(
    machine="cp-1", node="cp-1", etcd=Passed("etcd keeps its quorum: 2 of 3 members stay"), is_cordoned=False, begun="",
    pods=(pod("bare", Fate.REFUSE, "none (--force)"), pod("web", Fate.EVICT), pod("own", Fate.LEAVE, "static")),
    concerns=(Concern(weight=Weight.REFUSE, text="the only replica"), Concern(weight=Weight.TELL, text="OSD 0")),
)  # fmt: skip
FREE = dataclasses.replace(FOUND, pods=(), concerns=())


def test_the_page() -> None:
    assert node_maintain.text(FOUND).splitlines() == [
        "cp-1   2 pods would go, 1 stay",
        "  refused    shop/bare   none (--force)",
        "  evicted    shop/web",
        "  stay       shop/own   static",
        "  storage    refused: the only replica",
        "             OSD 0",
        "  etcd       etcd keeps its quorum: 2 of 3 members stay",
    ]


def test_what_was_begun_and_what_somebody_else_cordoned() -> None:
    begun = dataclasses.replace(FREE, begun="node maintain", is_cordoned=True)

    assert "  begun      node maintain has not ended: the same command goes on" in node_maintain.text(begun)
    assert "by somebody else" in node_maintain.text(dataclasses.replace(FREE, is_cordoned=True))


def test_what_is_refused() -> None:
    last = dataclasses.replace(FREE, concerns=FOUND.concerns)
    without = dataclasses.replace(FREE, etcd=Waiting("etcd would lose its quorum"))

    assert not node_maintain.is_refused(FREE, is_storage_accepted=False)
    assert node_maintain.is_refused(dataclasses.replace(FREE, pods=FOUND.pods), is_storage_accepted=True)
    assert node_maintain.is_refused(last, is_storage_accepted=False)
    assert not node_maintain.is_refused(last, is_storage_accepted=True)
    assert node_maintain.is_refused(without, is_storage_accepted=True)
    assert "refused: etcd would lose its quorum" in node_maintain.text(without)

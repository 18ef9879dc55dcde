"""What maintaining a machine would mean, as a page: who goes, who stays, what is asked and what is refused."""

import dataclasses

from firstlight.commands.node import text
from firstlight.commands.node.drain_rules import DrainFate, MaintenanceForecast, PodFate
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.verdict import Passed, Waiting


def pod(name: str, fate: DrainFate, why: str = "") -> PodFate:
    return PodFate(namespace="shop", name=name, uid=name, fate=fate, why=why)


FOUND = MaintenanceForecast(
    machine="cp-1",
    node="cp-1",
    etcd=Passed("etcd keeps its quorum: 2 of 3 members stay"),
    is_cordoned=False,
    begun="",
    pods=(
        pod("bare", DrainFate.REFUSE, "none (--force)"),
        pod("web", DrainFate.EVICT),
        pod("own", DrainFate.LEAVE, "static"),
    ),
    concerns=(
        Diagnostic.error("longhorn-last-replica", "the only replica"),
        Diagnostic.note("ceph-osds-go", "OSD 0"),
    ),
)
FREE = dataclasses.replace(FOUND, pods=(), concerns=())


def test_the_page() -> None:
    assert text.maintenance_text(FOUND).splitlines() == [
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

    assert "  begun      node maintain has not ended: the same command goes on" in text.maintenance_text(begun)
    assert "by somebody else" in text.maintenance_text(dataclasses.replace(FREE, is_cordoned=True))


def test_what_is_refused() -> None:
    last = dataclasses.replace(FREE, concerns=FOUND.concerns)
    without = dataclasses.replace(FREE, etcd=Waiting("etcd would lose its quorum"))

    assert not text.is_maintenance_refused(FREE, is_storage_accepted=False)
    assert text.is_maintenance_refused(dataclasses.replace(FREE, pods=FOUND.pods), is_storage_accepted=True)
    assert text.is_maintenance_refused(last, is_storage_accepted=False)
    assert not text.is_maintenance_refused(last, is_storage_accepted=True)
    assert text.is_maintenance_refused(without, is_storage_accepted=True)
    assert "refused: etcd would lose its quorum" in text.maintenance_text(without)

"""What machines must be, and when etcd may be bootstrapped."""

import pytest

from firstlight.gates import etcd as gates_etcd
from firstlight.gates import hardware, machine_stage
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine import InstallDisk, NetworkLink
from firstlight.model.machine_report import EtcdData, EtcdSight, MachineReport, MachineStanding
from firstlight.model.place import Place
from firstlight.model.verdict import Failed, Passed, Waiting

EMPTY = EtcdSight(data=EtcdData.NONE, state="Preparing")


def report(
    name: str,
    standing: MachineStanding = MachineStanding.OURS,
    *,
    stage: str = "running",
    why: str = "",
    etcd: EtcdSight = EMPTY,
) -> MachineReport:
    role = MachineRole.WORKER if name.startswith("worker") else MachineRole.CONTROL_PLANE
    machine = Machine(name=name, role=role, place=Place("firstlight.yaml"), address="10.5.0.2")
    return MachineReport(machine=machine, standing=standing, stage=stage, why=why, etcd=etcd)


def member(id: str, *members: str, learners: tuple[str, ...] = (), leader: str = "a") -> EtcdSight:
    return EtcdSight(
        data=EtcdData.SOME, state="Running", member=id, members=frozenset(members), learners=frozenset(learners),
        leader=leader,
    )  # fmt: skip


class TestMachines:
    def test_machines_that_run_pass(self) -> None:
        assert machine_stage.judge([report("cp-1"), report("worker-1")]) == Passed("2 of 2 up")

    def test_a_control_plane_that_waits_for_a_bootstrap_is_far_enough(self) -> None:
        assert machine_stage.is_up(report("cp-1", stage="booting"))

    def test_a_boot_that_does_not_wait_for_a_bootstrap_is_waited_for(self) -> None:
        booting = report("cp-1", stage="booting", etcd=EtcdSight())

        assert machine_stage.judge([booting]) == Waiting("cp-1 is booting")
        assert machine_stage.judge([report("worker-1", stage="booting")]) == Waiting("worker-1 is booting")

    def test_every_machine_that_is_missing_is_named(self) -> None:
        verdict = machine_stage.judge([
            report("cp-1", MachineStanding.ABSENT, why="connection refused"),
            report("cp-2", MachineStanding.MAINTENANCE, stage="maintenance"),
            report("cp-3", MachineStanding.MAINTENANCE, stage="installing"),
        ])  # fmt: skip

        assert verdict == Waiting(
            "cp-1 does not answer (connection refused); cp-2 is in maintenance mode, without a config; "
            "cp-3 is installing"
        )

    def test_a_machine_of_another_cluster_fails(self) -> None:
        assert machine_stage.judge([report("cp-1", MachineStanding.FOREIGN, why="not ours")]) == Failed(
            "cp-1: not ours"
        )


class TestHistory:
    def test_etcd_may_be_bootstrapped_if_all_say_that_they_have_no_data(self) -> None:
        assert gates_etcd.history([report("cp-1"), report("cp-2")]) == gates_etcd.Virgin()

    @pytest.mark.parametrize(
        "silent",
        [
            report("cp-2", MachineStanding.ABSENT, why="no route to host", etcd=EtcdSight()),
            report("cp-2", etcd=EtcdSight(state="Failed")),
            report("cp-2", stage="booting", etcd=EtcdSight(state="Preparing")),
        ],
        ids=["absent", "failed", "early"],
    )
    def test_one_that_does_not_say_so_is_a_doubt(self, silent: MachineReport) -> None:
        found = gates_etcd.history([report("cp-1"), silent])

        assert isinstance(found, gates_etcd.Doubtful)
        assert found.reason.startswith("cp-2 ")

    def test_nobody_asked_is_a_doubt(self) -> None:
        assert isinstance(gates_etcd.history([]), gates_etcd.Doubtful)

    def test_data_anywhere_means_that_it_was_bootstrapped_even_if_another_is_silent(self) -> None:
        reports = [
            report("cp-1", MachineStanding.ABSENT, etcd=EtcdSight()),
            report("cp-2", etcd=member("b", "b")),
            report("cp-3"),
        ]

        assert gates_etcd.history(reports) == gates_etcd.Bootstrapped(("cp-2",))

    def test_two_members_that_do_not_know_each_other_are_a_split_brain(self) -> None:
        reports = [report("cp-1", etcd=member("a", "a")), report("cp-2", etcd=member("b", "b"))]

        assert gates_etcd.history(reports) == gates_etcd.SplitBrain(
            "cp-1 and cp-2 are members of two different etcd clusters: a split brain"
        )
        assert isinstance(gates_etcd.judge(reports), Failed)


class TestEtcd:
    def test_members_with_a_leader_pass(self) -> None:
        reports = [report("cp-1", etcd=member("a", "a", "b")), report("cp-2", etcd=member("b", "a", "b"))]

        assert gates_etcd.judge(reports) == Passed("2 of 2 members healthy")

    def test_a_member_of_a_machine_that_is_not_declared_is_told(self) -> None:
        assert gates_etcd.judge([report("cp-1", etcd=member("a", "a", "x"))]) == Passed(
            "1 of 1 members healthy, and 1 of machines that are not declared"
        )

    def test_everything_that_is_not_well_is_waited_for(self) -> None:
        reports = [
            report("cp-1", etcd=member("a", "a", "b", leader="")),
            report("cp-2", etcd=member("b", "a", "b", learners=("b",))),
            report("cp-3"),
        ]

        assert gates_etcd.judge(reports) == Waiting(
            "cp-1 knows no leader; cp-2 is still learning; cp-3 has not joined (its service is Preparing)"
        )

    @pytest.mark.parametrize(
        ("sights", "reason"),
        [
            ({"cp-1": "a", "cp-2": "b", "cp-3": "c"}, "etcd keeps its quorum: 2 of 3 members stay"),
            ({"cp-1": "", "cp-2": "b", "cp-3": "c"}, "etcd keeps its quorum: 2 of 2 members stay"),
            ({"cp-1": "a"}, "etcd has one member, and stops meanwhile, and the Kubernetes API with it"),
            ({"cp-1": "a", "cp-2": "b"}, "etcd has 2 members, and stops meanwhile, and the Kubernetes API with it"),
        ],
        ids=["three", "it is no member", "one", "two"],
    )
    def test_a_reboot_that_etcd_stands(self, sights: dict[str, str], reason: str) -> None:
        known = [each for each in sights.values() if each]
        reports = [
            report(name, etcd=member(own, *known) if own else EtcdSight(data=EtcdData.SOME, state="Failed"))
            for name, own in sights.items()
        ]

        assert gates_etcd.without(reports, "cp-1") == Passed(reason)

    @pytest.mark.parametrize(
        ("second", "reason"),
        [
            (report("cp-2", MachineStanding.ABSENT, why="no route to host", etcd=EtcdSight()), "cp-2 does not answer"),
            (
                report("cp-2", MachineStanding.MAINTENANCE, stage="maintenance", etcd=EtcdSight()),
                "cp-2 is in maintenance",
            ),
            (report("cp-2", etcd=EtcdSight(data=EtcdData.SOME, state="Failed", member="b")), "not well (Failed)"),
            (report("cp-2", etcd=member("b", "a", "b", "c", leader="")), "cp-2 is not well"),
        ],
        ids=["absent", "bare", "failed", "without a leader"],
    )
    def test_a_reboot_that_would_take_the_quorum(self, second: MachineReport, reason: str) -> None:
        others = [report(name, etcd=member(own, "a", "b", "c")) for name, own in (("cp-1", "a"), ("cp-3", "c"))]

        found = gates_etcd.without([*others, second], "cp-1")

        assert isinstance(found, Waiting)
        assert found.reason.startswith("etcd would lose its quorum: 1 of 3 members stay; ")
        assert reason in found.reason
        assert isinstance(gates_etcd.without([*others, second], "cp-2"), Passed), "the sick one itself may be rebooted"

    def test_members_of_machines_that_are_not_declared_count_and_not_as_healthy(self) -> None:
        reports = [report("cp-1", etcd=member("a", "a", "b", "x")), report("cp-2", etcd=member("b", "a", "b", "x"))]

        found = gates_etcd.without(reports, "cp-1")

        assert found == Waiting(
            "etcd would lose its quorum: 1 of 3 members stay; 1 of its members is not seen on any machine"
        )
        assert isinstance(
            gates_etcd.without([report("cp-1", MachineStanding.ABSENT, etcd=EtcdSight())], "cp-1"), Waiting
        )

    def test_nobody_is_a_member_yet(self) -> None:
        assert gates_etcd.judge([report("cp-1")]) == Waiting("no machine is a member of etcd yet")


NVME = InstallDisk(
    dev_path="/dev/nvme0n1", size=500_107_862_016, pretty_size="500 GB", model="Samsung SSD 970", serial="S4",
    transport="nvme", symlinks=("/dev/disk/by-id/nvme-S4",),
)  # fmt: skip
SPINNING = InstallDisk(dev_path="/dev/sda", size=4_000_000_000_000, model="WDC", rotational=True, transport="sata")
MEDIUM = InstallDisk(dev_path="/dev/sr0", size=1_000_000_000, readonly=True, cdrom=True)
DISKS = (NVME, SPINNING, MEDIUM)
LINKS = {
    "eth0": NetworkLink(type="ether", hardware_addr="02:00:00:00:00:01", driver="e1000", bus_path="0000:00:01.0"),
    "lo": NetworkLink(type="loopback"),
    "bond0": NetworkLink(type="ether", kind="bond"),
}


def lacking(**machine: object) -> tuple[str, ...]:
    return hardware.missing([{"machine": machine}], disks=DISKS, links=LINKS)


class TestHardware:
    @pytest.mark.parametrize("disk", ["/dev/nvme0n1", "/dev/disk/by-id/nvme-S4"])
    def test_a_disk_is_known_by_all_its_names(self, disk: str) -> None:
        assert lacking(install={"disk": disk}) == ()

    @pytest.mark.parametrize("disk", ["/dev/vda", "/dev/sr0"])
    def test_a_disk_that_is_not_there_or_cannot_be_written_is_missing(self, disk: str) -> None:
        assert lacking(install={"disk": disk}) == (
            f"there is no disk {disk}; there are: /dev/nvme0n1 (500 GB, Samsung SSD 970), /dev/sda (WDC)",
        )

    @pytest.mark.parametrize(
        ("match", "is_missing"),
        [
            ('disk.dev_path == "/dev/vda"', True),
            ("disk.dev_path == '/dev/nvme0n1'", False),
            ('disk.model == "gone"', False),  # Talos's to judge
            ('disk.dev_path == "/dev/vda" || disk.rotational', False),
        ],
    )
    def test_a_disk_that_a_document_names(self, match: str, *, is_missing: bool) -> None:
        document = {"kind": "UnattendedInstallConfig", "provisioning": {"diskSelector": {"match": match}}}
        old = {"machine": {"install": {"disk": "/dev/sda"}}}

        assert bool(hardware.missing([old, document], disks=DISKS, links=LINKS)) is is_missing

    @pytest.mark.parametrize(
        "selector",
        [
            {"model": "Samsung*"}, {"type": "nvme"}, {"type": "ssd"}, {"type": "hdd", "size": ">= 1TB"},
            {"size": "< 600GB"}, {"size": "<= 4TB", "serial": "S?"}, {"size": "4TB"}, {"modalias": "unknown here"},
        ],
        ids=str,
    )  # fmt: skip
    def test_a_selector_that_means_a_disk(self, selector: dict[str, str]) -> None:
        assert lacking(install={"diskSelector": selector, "disk": "/dev/gone"}) == ()

    @pytest.mark.parametrize(
        "selector",
        [{"model": "APPLE*"}, {"type": "sd"}, {"size": "> 4TB"}, {"type": "nvme", "size": ">= 1TiB"}],
        ids=str,
    )
    def test_a_selector_that_means_none(self, selector: dict[str, str]) -> None:
        assert lacking(install={"diskSelector": selector})[0].startswith("no disk matches ")

    @pytest.mark.parametrize(
        "interface",
        [
            {"interface": "eth0"},
            {"interface": "eth0.20"},
            {"interface": "eth9", "ignore": True},
            {"interface": "bond7", "bond": {"interfaces": ["eth0"]}},
            {"interface": "wg0", "wireguard": {"listenPort": 1}},
            {"deviceSelector": {"hardwareAddr": "02:00:*"}},
            {"deviceSelector": {"driver": "e1000"}},
            {"deviceSelector": {"pciID": "1af4:1000"}},
        ],
        ids=str,
    )
    def test_interfaces_that_are_there_or_made(self, interface: dict[str, object]) -> None:
        assert lacking(network={"interfaces": [interface]}) == ()

    @pytest.mark.parametrize(
        ("interface", "problem"),
        [
            ({"interface": "eth7"}, "there is no interface eth7"),
            ({"deviceSelector": {"hardwareAddr": "aa:*"}}, "no interface matches hardwareAddr: aa:*"),
            ({"interface": "bond7", "bond": {"interfaces": ["eth8"]}}, "there is no interface eth8"),
        ],
    )
    def test_interfaces_that_are_not_there(self, interface: dict[str, object], problem: str) -> None:
        assert lacking(network={"interfaces": [interface]}) == (f"{problem}; there are: eth0 (02:00:00:00:00:01)",)

    def test_links_of_documents_count_too(self) -> None:
        documents = [{"apiVersion": "v1alpha1", "kind": "LinkConfig", "name": "eth5"}]

        assert hardware.missing(documents, disks=DISKS, links=LINKS)[0].startswith("there is no interface eth5")

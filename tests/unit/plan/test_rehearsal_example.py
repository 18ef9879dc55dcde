"""The example platform of the demo: nothing stands in its way, and everything that it uses is in the catalogue."""

from pathlib import Path

from firstlight.commands.demo import demo
from firstlight.commands.rehearse import chart_copies, lab_mapping
from firstlight.model.diagnostic import Severity
from firstlight.plan import build
from firstlight.render.machines import machine_drafts
from firstlight.repo import platform_reader
from firstlight.tools import workshop

EXAMPLE = Path(__file__).parents[3] / "examples" / "home"


def test_nothing_stands_in_its_way() -> None:
    platform = platform_reader.read(EXAMPLE)

    plan = build.build(platform, platform.clusters[0])

    assert [each.message for each in plan.problems if each.severity != Severity.NOTE] == []
    assert plan.smallest.needed == ("cilium", "flux")
    assert not plan.stuck()


def test_its_machines_fit() -> None:
    platform = platform_reader.read(EXAMPLE)
    cluster = platform.clusters[0]
    drafts, diagnostics = machine_drafts.machine_drafts(platform, cluster)

    stage = lab_mapping.stage(platform, cluster, drafts)

    assert diagnostics == ()
    assert [each.name for each in stage.settings.machines] == ["cp-1", "cp-2", "cp-3", "worker-1"]
    assert [each.disks[0].device for each in stage.settings.machines] == ["/dev/nvme0n1"] * 3 + ["/dev/sda"]
    assert stage.settings.actors == ("flux",)


def test_its_charts_are_those_of_the_catalogue() -> None:
    platform = platform_reader.read(EXAMPLE)
    wanted = {
        each.wanted.url.rpartition("/")[2]: each.wanted.version.removeprefix("v")
        for each in chart_copies.uses(platform, "home")
    }
    catalogue = workshop.here().catalogue
    versions = {name.partition("-chart")[0]: catalogue.get_content(name).version for name in demo.CHARTS}

    assert wanted == versions

"""The example platform of the demo: nothing stands in its way, and everything that it uses is in the catalogue."""

from pathlib import Path

from firstlight.cli import demo
from firstlight.model.plan import Severity
from firstlight.operate.rehearsal import chart_copies, mapping
from firstlight.plan import build
from firstlight.render.machines import drafting
from firstlight.repo import platform as platforms
from firstlight.tools import workshop

EXAMPLE = Path(__file__).parents[3] / "examples" / "home"


def test_nothing_stands_in_its_way() -> None:
    platform = platforms.read(EXAMPLE)

    plan = build.build(platform, platform.clusters[0])

    assert [each.message for each in plan.problems if each.severity != Severity.INFO] == []
    assert plan.smallest.needed == ("cilium", "flux")
    assert not plan.stuck()


def test_its_machines_fit() -> None:
    platform = platforms.read(EXAMPLE)
    cluster = platform.clusters[0]
    drafts, remarks = drafting.drafts(platform, cluster)

    stage = mapping.stage(platform, cluster, drafts)

    assert remarks == ()
    assert [each.name for each in stage.settings.machines] == ["cp-1", "cp-2", "cp-3", "worker-1"]
    assert [each.disks[0].device for each in stage.settings.machines] == ["/dev/nvme0n1"] * 3 + ["/dev/sda"]
    assert stage.settings.actors == ("flux",)


def test_its_charts_are_those_of_the_catalogue() -> None:
    platform = platforms.read(EXAMPLE)
    wanted = {
        each.wanted.url.rpartition("/")[2]: each.wanted.version.removeprefix("v")
        for each in chart_copies.uses(platform, "home")
    }
    catalogue = workshop.here().catalogue
    versions = {name.partition("-chart")[0]: catalogue.get_content(name).version for name in demo.CHARTS}

    assert wanted == versions

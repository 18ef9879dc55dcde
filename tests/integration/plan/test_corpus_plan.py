"""Plans and pictures of the repos of others: whole, in order, and drawn."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from firstlight.commands.graph import layout, picture, svg
from firstlight.commands.plan import text
from firstlight.model.component import Side
from firstlight.model.diagnostic import Severity
from firstlight.plan import build
from firstlight.repo import platform_reader

CORPUS = Path(__file__).parents[3] / "../shared/corpus"
REPOS = sorted(each.name for each in CORPUS.iterdir() if each.is_dir()) if CORPUS.is_dir() else []

pytestmark = pytest.mark.skipif(not REPOS, reason="the corpus is not on this machine")


@pytest.mark.parametrize("repo", REPOS)
def test_every_component_has_its_steps_and_every_error_its_way_out(repo: str) -> None:
    platform = platform_reader.read(CORPUS / repo)

    for cluster in platform.clusters:
        plan = build.build(platform, cluster)
        planned = {each.component for each in plan.steps}
        for component in platform.components_of(cluster.name):
            is_foundation = all(
                made.kind == "Secret" for origin in component.origins for made in origin.objects
            ) and any(origin.objects for origin in component.origins)
            assert component.name in planned or (component.side == Side.BOOTSTRAP and is_foundation), component.name
        if plan.stuck():
            assert any(each.code == "cycle" for each in plan.problems)
        assert all(each.evidence and each.fix for each in plan.problems if each.severity is not Severity.UNKNOWN)
        assert text.text(plan, columns=120).startswith(cluster.name)


@pytest.mark.parametrize("repo", REPOS)
def test_pictures_are_drawn(repo: str) -> None:
    platform = platform_reader.read(CORPUS / repo)

    for cluster in platform.clusters:
        made = picture.of(build.build(platform, cluster), platform.components_of(cluster.name))
        laid = layout.layout(made)
        ElementTree.fromstring(svg.svg(made))
        assert all(laid.bottom(source)[1] < laid.top(target)[1] for source, target in laid.ordered.routes)
        assert laid.width < 2600

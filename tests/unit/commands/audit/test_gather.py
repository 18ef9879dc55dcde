"""Renditions for rules that look at them."""

import asyncio
import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from firstlight.commands.audit import audit
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.model.component import Component, Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.render.component_renderer import Progress, RenderOutcome
from firstlight.repo.work_tree import WorkTree
from tests.unit.commands.audit import repos


class Renderer:
    """Renders nothing, and says so of one component."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    async def render_all(self, components: Iterable[Component]) -> list[RenderOutcome]:
        done = []
        for each in components:
            diagnostic = Diagnostic.error("?", "the chart is not to be had", at=Place("a.yaml", 3))
            found = Rendition(component=each.name, cluster=each.cluster, side=Side.GITOPS, diagnostics=(diagnostic,))
            done.append(RenderOutcome(found, 0.1, is_cached=False))
            self._progress(each, Side.GITOPS, None)
            self._progress(each, Side.GITOPS, done[-1])
        return done


async def opened(platform: Platform, progress: Progress) -> Any:
    return Renderer(progress)


def test_what_is_rendered_is_seen_and_what_is_not_whole_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    wishes = AuditRequest(today=datetime.date(2026, 11, 1), rules=(repos.RULE,))
    means = audit.AuditMeans(open_renderer=opened)

    found = asyncio.run(audit.audit(WorkTree(repos.make(tmp_path)), wishes, means, say=said.append))

    assert [each.component for each in found.scene.renditions] == ["flux-system"]
    assert "flux-system in home is not rendered whole: the chart is not to be had (a.yaml:3)" in found.audit.skipped
    assert [each for each in said if "rendering" in each] == ["rendering, 0 of 1", "rendering, 1 of 1"]

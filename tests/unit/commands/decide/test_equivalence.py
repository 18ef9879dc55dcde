"""Kustomizations that build the same as before are no change; all others are."""

import dataclasses
from pathlib import Path

from firstlight.commands.decide import equivalence
from firstlight.commands.decide.checks.check_input import CheckInput, RenderedRevision
from firstlight.model.change import Change
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.rendition import Rendition
from firstlight.render.rendered_diff import RenderedDiff
from tests.unit.commands.decide import scenes

BEFORE = {**scenes.REPO, "apps/web/kustomization.yaml": "resources: [web.yaml]\n"}
SPLIT = {
    "apps/web/kustomization.yaml": "resources: [parts]\n",
    "apps/web/web.yaml": None,
    "apps/web/parts/kustomization.yaml": "resources: [web.yaml]\n",
    "apps/web/parts/web.yaml": scenes.deployment(),
}


def left(changes: list[Change], scene: CheckInput, rendered: RenderedDiff) -> list[str]:
    assert scene.before is not None
    platforms = (scene.before.platform, scene.after.platform)
    return [each.title for each in equivalence.differing(changes, rendered, platforms, taken={})]


def made(at: Path, after: dict[str, str | None]) -> tuple[list[Change], CheckInput, RenderedDiff]:
    decision, scene = scenes.made(at, after, before=BEFORE)
    assert scene.before is not None

    def plain(version: RenderedRevision) -> tuple[Rendition, ...]:
        """Without the kustomizations themselves, which no rendition has."""
        return tuple(
            dataclasses.replace(each, objects=tuple(one for one in each.objects if one.id.name))
            for each in version.renditions
        )

    rendered = RenderedDiff(before=plain(scene.before), after=plain(scene.after))
    return [item.change for item in decision.items], scene, rendered


def test_the_same_is_no_change(tmp_path: Path) -> None:
    changes, scene, rendered = made(tmp_path, SPLIT)

    assert "kustomization" in [each.title for each in changes]
    assert left(changes, scene, rendered) == ["Deployment web/web"]


def test_something_else_is_one(tmp_path: Path) -> None:
    changes, scene, rendered = made(tmp_path, {**SPLIT, "apps/web/parts/web.yaml": scenes.deployment(replicas=3)})

    assert "kustomization" in left(changes, scene, rendered)


def test_nobody_can_tell_without_a_rendering(tmp_path: Path) -> None:
    changes, scene, rendered = made(tmp_path, SPLIT)
    wrong = Diagnostic.error("?", "it failed", at=Place("a"))
    broken = tuple(dataclasses.replace(each, diagnostics=(wrong,)) for each in rendered.after)

    assert "kustomization" in left(changes, scene, RenderedDiff())
    assert "kustomization" in left(changes, scene, dataclasses.replace(rendered, after=broken))
    assert "kustomization" in left(changes, scene, dataclasses.replace(rendered, after=rendered.after[:0]))

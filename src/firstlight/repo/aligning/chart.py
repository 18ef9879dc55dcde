"""Edits for an object that a chart makes: its post-renderers, its values, and a new post-renderer at last."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import within
from firstlight.model.component import Form, Origin
from firstlight.model.source import Chart
from firstlight.repo.aligning import chart_places, holders, new_patches, patches, transformers, value_paths, written
from firstlight.repo.aligning.holders import Found, Holder
from firstlight.repo.aligning.sites import Repo
from firstlight.repo.aligning.wish import CLASS, Candidate, Obstacle, Wish

_NEW = 3 * CLASS


def candidates(
    repo: Repo,
    wish: Wish,
    origin: Origin,
    chart: Chart,
    *,
    value: Any,
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> Found:
    """What may be edited so that an object of a chart has a field, the best first.

    Args:
        repo: The repo and the cluster.
        wish: The field.
        origin: The HelmRelease or Application.
        chart: The chart.
        value: The object as it is made now.
        given: The values that the repo gives it, merged.
        defaults: The chart's own.
    """
    known = list(_post_renderers(repo, origin))
    for holder in known:
        names = {wish.object.name}
        for each in patches.candidates(repo.tree, holder, wish, value=value, names=names):
            if not isinstance(each, Candidate) or each.rank < CLASS:
                yield each
        yield from transformers.candidates(holder, wish, names=names)
    for setting in value_paths.settings(given, defaults, wish, value=value):
        yield from chart_places.candidates(repo, origin, chart, setting)
    for holder in known or _first(repo, origin):
        for each in new_patches.candidates(holder, wish, value=value, name=wish.object.name):
            yield dataclasses.replace(each, rank=_NEW + each.rank % CLASS) if isinstance(each, Candidate) else each
        return
    if origin.form is Form.APPLICATION and not origin.maker:
        why = f"no value of the chart of {origin.name} leads there, and Argo CD has no post-renderers"
        way = "let a kustomization inflate the chart (helmCharts) and patch it, or give the chart a value for it"
        yield Obstacle(origin.place, f"{why}: {way}")


def _post_renderers(repo: Repo, origin: Origin) -> Iterator[Holder]:
    if origin.form is not Form.HELM_RELEASE:
        return
    search = functools.partial(written.candidates, repo, depth=1)
    for number, each in enumerate(within.sequence(origin.definition, "spec", "postRenderers")):
        if within.mapping(each, "kustomize"):
            yield holders.of_object(origin.definition, ("spec", "postRenderers", number, "kustomize"), search)


def _first(repo: Repo, origin: Origin) -> Iterator[Holder]:
    if origin.form is Form.HELM_RELEASE:
        search = functools.partial(written.candidates, repo, depth=1)
        number = len(within.sequence(origin.definition, "spec", "postRenderers"))
        steps = ("spec", "postRenderers", number, "kustomize")
        yield dataclasses.replace(
            holders.of_object(origin.definition, steps, search), says=f"the post-renderers of {origin.name}"
        )

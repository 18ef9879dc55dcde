"""Which values of a chart may make a field: those that are in it now, and those that are called like it."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document import within, yaml_editor
from firstlight.model.component import ObjectId, Origin, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, Values
from firstlight.ownership.field_values import ABSENT
from firstlight.repo.field_edits import (
    component_sites,
    derived_values,
    field_steps,
    kustomization_edits,
    manifest_edits,
    patch_edits,
)
from firstlight.repo.field_edits.component_sites import ClusterRepo
from firstlight.repo.field_edits.edit_candidates import (
    RANKS_OF_VALUE,
    EditCandidate,
    EditRank,
    FoundEdits,
    Steps,
    WantedField,
)
from firstlight.repo.field_edits.kustomization_edits import PatchHolder

MOST_SETTINGS = 12
"""Values of one sort that are tried; a number such as 1 is everywhere in a chart."""
_GIVEN, _DEFAULT, _NAMED = 0, RANKS_OF_VALUE, 2 * RANKS_OF_VALUE
_ALSO = {"replicas": ("replicacount", "replicas"), "image": ("image",)}
_SWITCHES = ("enabled", "create", "install")


@dataclasses.dataclass(frozen=True)
class ChartSetting:
    """A value, and what it would have to be."""

    path: Steps
    value: Any = dataclasses.field(repr=False)
    rank: int

    @property
    def name(self) -> str:
        """As ``helm --set`` calls it."""
        return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.path).removeprefix(".")


def chart_settings(
    given: Mapping[str, Any], defaults: Mapping[str, Any], wish: WantedField, *, value: Any
) -> list[ChartSetting]:
    """Values that may bring a wish about, the likeliest first.

    Args:
        given: What the repo gives the chart.
        defaults: What the chart has itself.
        wish: The field of an object that the chart makes.
        value: The object as it is made now.
    """
    own = [(path, leaf) for path, leaf in field_steps.leaves(defaults) if field_steps.value_at(given, path) is ABSENT]
    if wish.is_gone:
        found = [*_switches(field_steps.leaves(given), _GIVEN), *_switches(own, _DEFAULT)]
    else:
        found = [
            *_limited(_derived(field_steps.leaves(given), wish, _GIVEN), wish),
            *_limited(_derived(own, wish, _DEFAULT), wish),
            *_limited(_named(given, wish, value), wish),
            *_limited(_named(defaults, wish, value), wish),
        ]
    made: dict[Any, ChartSetting] = {}
    for each in found:
        made.setdefault((each.path, repr(each.value)), each)
    return list(made.values())


def _derived(leaves: Any, wish: WantedField, rank: int) -> Iterator[ChartSetting]:
    if wish.before is ABSENT or wish.after is ABSENT:
        return
    for path, leaf in leaves:
        if path:
            for new in derived_values.derived(wish.before, wish.after, leaf):
                yield ChartSetting(path, new, rank)


def _named(values: Mapping[str, Any], wish: WantedField, value: Any) -> Iterator[ChartSetting]:
    """Values that are called like the field, or like something that it is in."""
    nodes = list(_nodes(values))
    target = field_steps.with_value(value, wish.steps, wish.after)
    for number in range(len(wish.steps) - 1, -1, -1):
        step, rest = wish.steps[number], wish.steps[number + 1 :]
        if isinstance(step, int):
            continue
        names = _ALSO.get(step, (step.lower(),))
        whole = field_steps.value_at(target, wish.steps[: number + 1])
        for path, node in nodes:
            if str(path[-1]).lower() not in names:
                continue
            if not any(isinstance(each, int) for each in rest):
                yield ChartSetting((*path, *rest), wish.after, _NAMED)
            elif isinstance(node, Mapping) and isinstance(wish.after, Mapping) and {"name", "value"} == set(wish.after):
                yield ChartSetting((*path, str(wish.after["name"])), wish.after["value"], _NAMED)
            elif isinstance(whole, list) and not isinstance(node, Mapping):
                yield ChartSetting(path, whole, _NAMED)
    yield from _tags(nodes, wish)


def _tags(nodes: list[tuple[Steps, Any]], wish: WantedField) -> Iterator[ChartSetting]:
    """The tag of an image, where the chart takes its own version for it."""
    if wish.steps[-1:] != ("image",) or not isinstance(wish.before, str) or not isinstance(wish.after, str):
        return
    old, new = kustomization_edits.parsed_image(wish.before), kustomization_edits.parsed_image(wish.after)
    for field in ("tag", "digest"):
        if new[field] and old["name"] == new["name"] and old[field] != new[field]:
            for path, node in nodes:
                if path[-1] == field and not isinstance(node, Mapping | list):
                    yield ChartSetting(path, new[field], _NAMED)


def _switches(leaves: Any, rank: int) -> Iterator[ChartSetting]:
    for path, leaf in leaves:
        if leaf is True and path[-1] in _SWITCHES:
            yield ChartSetting(path, False, rank)


def _nodes(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Everything in values that has a name; lists are not entered."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield (*steps, str(name)), inner
            yield from _nodes(inner, (*steps, str(name)))


def _limited(found: Iterator[ChartSetting], wish: WantedField) -> list[ChartSetting]:
    """Those that are called most like the field."""
    words = {str(each).lower() for each in wish.steps} | set(wish.object.name.lower().split("-"))
    words |= set(_ALSO.get(str(wish.steps[-1]), ()))

    def likeness(each: ChartSetting) -> tuple[int, int]:
        return -sum(str(step).lower() in words for step in each.path), len(each.path)

    return sorted(found, key=likeness)[:MOST_SETTINGS]


# Where a value of a chart is written, or would be: the HelmRelease or Application, a values file, a ConfigMap.


def setting_candidates(repo: ClusterRepo, origin: Origin, chart: ChartSource, setting: ChartSetting) -> FoundEdits:
    """The edits that give a chart another value, the place that gives it now first."""
    for each in _unranked(repo, origin, chart, setting):
        if isinstance(each, EditCandidate):
            says = f"{setting.name} in {each.says.replace('the manifest of', 'the values of')}"
            yield dataclasses.replace(each, rank=setting.rank + each.rank, means=setting.name, says=says)
        else:
            yield each


def _unranked(repo: ClusterRepo, origin: Origin, chart: ChartSource, setting: ChartSetting) -> FoundEdits:
    holding = [each for each in chart.values if _has(repo, each, setting.path)]
    if holding:
        # What comes later wins, so that the others need not be looked at.
        yield from _in(repo, origin, holding[-1], setting)
        return
    for each in sorted(chart.values, key=lambda each: each.inline is None or bool(each.reference)):
        if not each.target:
            yield from _in(repo, origin, each, setting)
    if not any(each.inline is not None and not each.reference for each in chart.values):
        yield from _made(repo, origin, setting)


def _has(repo: ClusterRepo, given: Values, path: Steps) -> bool:
    if given.target:
        return given.target == ".".join(map(str, path))
    if given.file:
        documents = repo.tree.documents(given.file) if repo.tree.is_file(given.file) else ()
        return bool(documents) and within.at(documents[0].value, *path) is not None
    return given.inline is not None and within.at(given.inline, *path) is not None


def _in(repo: ClusterRepo, origin: Origin, given: Values, setting: ChartSetting) -> FoundEdits:
    if given.file:
        yield from _in_file(repo, given.file, setting)
    elif given.reference.startswith("ConfigMap/"):
        yield from _in_config_map(repo, given, setting)
    elif given.reference:
        kind, _, name = given.reference.partition("/")
        message = f"the values of {origin.name} are in {kind} {name}, and are not edited"
        yield Diagnostic.warning("edit-values-elsewhere", message, at=given.place)
    else:
        yield from _in_object(repo, origin, setting)


def _in_file(repo: ClusterRepo, path: str, setting: ChartSetting) -> FoundEdits:
    documents = repo.tree.documents(path) if repo.tree.is_file(path) else ()
    if not documents:
        return
    if within.mapping(documents[0].value, "sops"):
        message = f"{path} is encrypted and not edited: set {setting.name} with sops {path}"
        yield Diagnostic.warning("edit-file-encrypted", message, at=Place(path))
        return
    edit = FileEdit(path=path, verb=EditVerb.SET, steps=setting.path, value=setting.value, document=documents[0].index)
    place = documents[0].place(*setting.path)
    yield EditCandidate(rank=EditRank.WRITTEN, place=Place(path, place.line), says=path, edits=(edit,))


def _in_config_map(repo: ClusterRepo, given: Values, setting: ChartSetting) -> FoundEdits:
    _, namespace, name = given.reference.split("/", 2)
    id = ObjectId("", "ConfigMap", namespace, name)
    known = repo.stating(id)
    if known is None:
        return
    origin, value = known
    for each in component_sites.sites_of(origin, repo.tree).kustomizations:
        holder = kustomization_edits.holder_of_file(each)
        found = holder and kustomization_edits.value_in_file(
            repo.tree, holder, id, given.key, setting.path, setting.value
        )  # fmt: skip
        if found:
            yield found
            return
    held = within.text(value, "data", given.key)
    if given.target:
        new = str(setting.value)
    else:
        made = _in_text(held, setting)
        if made is None:
            return
        new = made
    steps: Steps = ("data", given.key)
    yield from manifest_edits.manifest_candidates(
        repo, WantedField(object=id, steps=steps, before=held, after=new, path=f"data[{given.key}]")
    )


def _in_text(text: str, setting: ChartSetting) -> str | None:
    try:
        return yaml_editor.set_value(text, setting.path, setting.value)
    except errors.ConfigError:
        return None


def _in_object(repo: ClusterRepo, origin: Origin, setting: ChartSetting) -> FoundEdits:
    """The HelmRelease's or Application's own values."""
    if origin.form is SourceForm.HELM_RELEASE:
        yield from _wished(repo, origin, ("spec", "values", *setting.path), setting.value)
        return
    for steps in _helm_blocks(origin):
        block = within.mapping(origin.definition, *steps)
        for number, each in enumerate(within.sequence(block, "parameters")):
            if within.text(each, "name") == setting.name:
                yield from _wished(repo, origin, (*steps, "parameters", number, "value"), str(setting.value))
                return
        if block.get("valuesObject") is not None:
            yield from _wished(repo, origin, (*steps, "valuesObject", *setting.path), setting.value)
        elif isinstance(block.get("values"), str):
            made = _in_text(str(block["values"]), setting)
            if made is not None:
                yield from _wished(repo, origin, (*steps, "values"), made)


def _made(repo: ClusterRepo, origin: Origin, setting: ChartSetting) -> FoundEdits:
    """Values where there are none yet."""
    if origin.form is SourceForm.HELM_RELEASE:
        yield from _wished(repo, origin, ("spec", "values", *setting.path), setting.value)
    elif origin.form is SourceForm.APPLICATION:
        for steps in list(_helm_blocks(origin))[:1]:
            yield from _wished(repo, origin, (*steps, "valuesObject", *setting.path), setting.value)


def _helm_blocks(origin: Origin) -> Iterator[Steps]:
    spec = within.mapping(origin.definition, "spec")
    if spec.get("source"):
        yield ("spec", "source", "helm")
    for number, each in enumerate(within.sequence(spec, "sources")):
        if within.mapping(each, "helm") or within.text(each, "chart"):
            yield ("spec", "sources", number, "helm")


def _wished(repo: ClusterRepo, origin: Origin, steps: Steps, value: Any) -> FoundEdits:
    id = ObjectId.of(origin.definition)
    before = field_steps.value_at(origin.definition, steps)
    wish = WantedField(
        object=id, steps=steps, before=before, after=value, path=field_steps.steps_text(steps, origin.definition)
    )
    yield from manifest_edits.manifest_candidates(repo, wish, depth=1)


# Edits for an object that a chart makes: its post-renderers, its values, and a new post-renderer at last.


_NEW = 3 * RANKS_OF_VALUE


def chart_candidates(
    repo: ClusterRepo,
    wish: WantedField,
    origin: Origin,
    chart: ChartSource,
    *,
    value: Any,
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> FoundEdits:
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
        for each in patch_edits.patch_candidates(repo.tree, holder, wish, value=value, names=names):
            if not isinstance(each, EditCandidate) or each.rank < RANKS_OF_VALUE:
                yield each
        yield from kustomization_edits.transformer_candidates(holder, wish, names=names)
    for setting in chart_settings(given, defaults, wish, value=value):
        yield from setting_candidates(repo, origin, chart, setting)
    for holder in known or _first(repo, origin):
        for each in patch_edits.new_patch_candidates(holder, wish, value=value, name=wish.object.name):
            yield (
                dataclasses.replace(each, rank=_NEW + each.rank % RANKS_OF_VALUE)
                if isinstance(each, EditCandidate)
                else each
            )
        return
    if origin.form is SourceForm.APPLICATION and not origin.maker:
        why = f"no value of the chart of {origin.name} leads there, and Argo CD has no post-renderers"
        way = "let a kustomization inflate the chart (helmCharts) and patch it, or give the chart a value for it"
        yield Diagnostic.warning("edit-chart-without-value", f"{why}: {way}", at=origin.place)


def _post_renderers(repo: ClusterRepo, origin: Origin) -> Iterator[PatchHolder]:
    if origin.form is not SourceForm.HELM_RELEASE:
        return
    search = functools.partial(manifest_edits.manifest_candidates, repo, depth=1)
    for number, each in enumerate(within.sequence(origin.definition, "spec", "postRenderers")):
        if within.mapping(each, "kustomize"):
            yield kustomization_edits.holder_of_object(
                origin.definition, ("spec", "postRenderers", number, "kustomize"), search
            )


def _first(repo: ClusterRepo, origin: Origin) -> Iterator[PatchHolder]:
    if origin.form is SourceForm.HELM_RELEASE:
        search = functools.partial(manifest_edits.manifest_candidates, repo, depth=1)
        number = len(within.sequence(origin.definition, "spec", "postRenderers"))
        steps = ("spec", "postRenderers", number, "kustomize")
        yield dataclasses.replace(
            kustomization_edits.holder_of_object(origin.definition, steps, search),
            says=f"the post-renderers of {origin.name}",
        )

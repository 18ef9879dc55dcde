"""Where a value of a chart is written, or would be: the HelmRelease or Application, a values file, a ConfigMap."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from firstlight import errors
from firstlight.document import splicing, within
from firstlight.model.component import Form, ObjectId, Origin
from firstlight.model.finding import Edit, EditVerb
from firstlight.model.place import Place
from firstlight.model.source import Chart, Values
from firstlight.repo.aligning import generators, holders, sites, ways, written
from firstlight.repo.aligning.holders import Found
from firstlight.repo.aligning.sites import Repo
from firstlight.repo.aligning.value_paths import Setting
from firstlight.repo.aligning.wish import Candidate, Obstacle, Rank, Steps, Wish


def candidates(repo: Repo, origin: Origin, chart: Chart, setting: Setting) -> Found:
    """The edits that give a chart another value, the place that gives it now first."""
    for each in _unranked(repo, origin, chart, setting):
        if isinstance(each, Candidate):
            says = f"{setting.name} in {each.says.replace('the manifest of', 'the values of')}"
            yield dataclasses.replace(each, rank=setting.rank + each.rank, means=setting.name, says=says)
        else:
            yield each


def _unranked(repo: Repo, origin: Origin, chart: Chart, setting: Setting) -> Found:
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


def _has(repo: Repo, given: Values, path: Steps) -> bool:
    if given.target:
        return given.target == ".".join(map(str, path))
    if given.file:
        documents = repo.tree.documents(given.file) if repo.tree.is_file(given.file) else ()
        return bool(documents) and within.at(documents[0].value, *path) is not None
    return given.inline is not None and within.at(given.inline, *path) is not None


def _in(repo: Repo, origin: Origin, given: Values, setting: Setting) -> Found:
    if given.file:
        yield from _in_file(repo, given.file, setting)
    elif given.reference.startswith("ConfigMap/"):
        yield from _in_config_map(repo, given, setting)
    elif given.reference:
        kind, _, name = given.reference.partition("/")
        yield Obstacle(given.place, f"the values of {origin.name} are in {kind} {name}, and are not edited")
    else:
        yield from _in_object(repo, origin, setting)


def _in_file(repo: Repo, path: str, setting: Setting) -> Found:
    documents = repo.tree.documents(path) if repo.tree.is_file(path) else ()
    if not documents:
        return
    if within.mapping(documents[0].value, "sops"):
        yield Obstacle(Place(path), f"{path} is encrypted and not edited: set {setting.name} with sops {path}")
        return
    edit = Edit(path=path, verb=EditVerb.SET, steps=setting.path, value=setting.value, document=documents[0].index)
    place = documents[0].place(*setting.path)
    yield Candidate(rank=Rank.WRITTEN, place=Place(path, place.line), says=path, edits=(edit,))


def _in_config_map(repo: Repo, given: Values, setting: Setting) -> Found:
    _, namespace, name = given.reference.split("/", 2)
    id = ObjectId("", "ConfigMap", namespace, name)
    known = repo.stating(id)
    if known is None:
        return
    origin, value = known
    for each in sites.of(origin, repo.tree).kustomizations:
        holder = holders.of_file(each)
        found = holder and generators.value_in_file(
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
    yield from written.candidates(repo, Wish(object=id, steps=steps, before=held, after=new, path=f"data[{given.key}]"))


def _in_text(text: str, setting: Setting) -> str | None:
    try:
        return splicing.set_value(text, setting.path, setting.value)
    except errors.ConfigError:
        return None


def _in_object(repo: Repo, origin: Origin, setting: Setting) -> Found:
    """The HelmRelease's or Application's own values."""
    if origin.form is Form.HELM_RELEASE:
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


def _made(repo: Repo, origin: Origin, setting: Setting) -> Found:
    """Values where there are none yet."""
    if origin.form is Form.HELM_RELEASE:
        yield from _wished(repo, origin, ("spec", "values", *setting.path), setting.value)
    elif origin.form is Form.APPLICATION:
        for steps in list(_helm_blocks(origin))[:1]:
            yield from _wished(repo, origin, (*steps, "valuesObject", *setting.path), setting.value)


def _helm_blocks(origin: Origin) -> Iterator[Steps]:
    spec = within.mapping(origin.definition, "spec")
    if spec.get("source"):
        yield ("spec", "source", "helm")
    for number, each in enumerate(within.sequence(spec, "sources")):
        if within.mapping(each, "helm") or within.text(each, "chart"):
            yield ("spec", "sources", number, "helm")


def _wished(repo: Repo, origin: Origin, steps: Steps, value: Any) -> Found:
    id = ObjectId.of(origin.definition)
    before = ways.at(origin.definition, steps)
    wish = Wish(object=id, steps=steps, before=before, after=value, path=ways.text(steps, origin.definition))
    yield from written.candidates(repo, wish, depth=1)

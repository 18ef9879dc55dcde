"""Variables that Flux replaces: the parts of a text that are none, and what a variable would have to be."""

import dataclasses
import re
from collections.abc import Iterator

from firstlight.model.component import ObjectId, Origin
from firstlight.ownership.field_values import ABSENT
from firstlight.repo.aligning import deriving, ways
from firstlight.repo.aligning.sites import Repo
from firstlight.repo.aligning.wish import Candidate, Obstacle, Rank, Wish
from firstlight.repo.flux import variables
from firstlight.repo.flux.kinds import mapping

_VARIABLE = re.compile(r"\$\{(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)(?P<rest>[^}]*)\}")
_DEFAULT = re.compile(r"^:?[=-](?P<text>.+)$")


def literal_parts(now: str, before: object, after: object) -> Iterator[str]:
    """The text with one of its parts that are no variables changed, or the default of one."""
    if not isinstance(before, str) or not isinstance(after, str):
        return
    spans, end = [], 0
    for match in _VARIABLE.finditer(now):
        spans.append((end, match.start()))
        if default := _DEFAULT.match(match["rest"]):
            start = match.start("rest") + default.start("text")
            spans.append((start, start + len(default["text"])))
        end = match.end()
    for start, stop in [*spans, (end, len(now))]:
        for text in deriving.derived(before, after, now[start:stop]):
            yield f"{now[:start]}{text}{now[stop:]}"


def wishes(repo: Repo, origin: Origin, now: str, wish: Wish) -> Iterator[Wish]:
    """What the places of the variables in a text would have to say."""
    spec = mapping(origin.definition.get("spec"))
    own = mapping(mapping(spec.get("postBuild")).get("substitute"))
    for match in _VARIABLE.finditer(now):
        name = match["name"]
        for owner, steps, value in _places(repo, origin, name, own=own):
            for text in deriving.derived(deriving.written(wish.before), deriving.written(wish.after), value):
                yield Wish(object=owner, steps=steps, before=value, after=str(text), path=f"${{{name}}}")


def _places(
    repo: Repo, origin: Origin, name: str, *, own: object
) -> Iterator[tuple[ObjectId, tuple[str | int, ...], str]]:
    """Where a variable is set: in the Kustomization itself, else in the last ConfigMap that has it."""
    value = mapping(own).get(name)
    if isinstance(value, str):
        yield ObjectId.of(origin.definition), ("spec", "postBuild", "substitute", name), value
        return
    spec = mapping(origin.definition.get("spec"))
    for reference in reversed(list(variables.references(spec, origin.namespace))):
        if reference.kind == "ConfigMap":
            id = ObjectId("", "ConfigMap", origin.namespace, reference.name)
            known = repo.stating(id)
            held = ways.at(known[1], ("data", name)) if known else ABSENT
            if isinstance(held, str):
                yield id, ("data", name), held
                return


def as_variable(found: Candidate | Obstacle, of: Wish) -> Candidate | Obstacle:
    """An edit of a variable's place."""
    if isinstance(found, Obstacle):
        return found
    rank = Rank.VARIABLE if found.rank in (Rank.WRITTEN, Rank.VARIABLE, Rank.ADDED) else found.rank
    return dataclasses.replace(found, rank=rank, says=f"the variable {of.path} in {of.object}")


def as_literal(found: Candidate) -> Candidate:
    """An edit that puts a value where a variable was: a person has to want that."""
    return dataclasses.replace(found, is_asked=True)


def are_in(text: str) -> bool:
    """Whether Flux replaces something in a text."""
    return "${" in text and bool(_VARIABLE.search(text))

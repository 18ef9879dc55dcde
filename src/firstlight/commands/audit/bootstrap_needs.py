"""Who needs whom in bootstrap, and who has objects of whose kinds."""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping

from firstlight.model.component import Component, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts, well_known
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.repo.platform_view import PlatformView

Use = tuple[str, Place]
"""What is made, in words, and where that is said."""


def reaches(known: ClusterFacts, name: str, wanted: str) -> bool:
    """Whether a component needs another, directly or through others."""
    waiting, seen = [name], set[str]()
    while waiting:
        each = waiting.pop()
        if each == wanted:
            return True
        if each in seen:
            continue
        seen.add(each)
        component = known.by_name.get(each)
        waiting += [*component.needs, *_parents(known, component)] if component else []
    return False


def comes_after(known: ClusterFacts, user: Component, maker: Component) -> bool:
    """Whether one is installed after another: it needs it, or stands in another file, which helmfile takes in turn."""
    paths = [{each.place.path for each in cluster_facts.origins(one, Side.BOOTSTRAP)} for one in (user, maker)]
    return reaches(known, user.name, maker.name) or not paths[0] & paths[1]


def _parents(known: ClusterFacts, component: Component) -> Iterator[str]:
    """A hook comes with its release, and after what that needs."""
    for origin in component.origins:
        if origin.parent and (parent := known.by_origin.get(origin.parent)):
            yield parent


def users(scene: PlatformView, cluster: str, groups: Collection[str], *, but: str) -> list[tuple[Component, Use]]:
    """Components of bootstrap that have objects of API groups, once each, without those that bring the kinds."""
    found: list[tuple[Component, Use]] = []
    for component in scene.facts[cluster].bootstrap:
        if component.name == but or component.phase is Phase.CRDS:
            continue
        use = next(_uses(scene, component, groups), None)
        if use is not None:
            found.append((component, use))
    return found


def _uses(scene: PlatformView, component: Component, groups: Collection[str]) -> Iterator[Use]:
    for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
        for made in origin.objects:
            if made.group in groups:
                yield str(made), origin.place
        for source in cluster_facts.sources(origin):
            known = well_known.chart_crds_of(source.name) if isinstance(source, ChartSource) else None
            for group in known.uses if known else ():
                if group in groups:
                    yield f"objects of {group}", origin.place
    for item in scene.facts[component.cluster].objects(component, Side.BOOTSTRAP):
        if item.id.group in groups:
            yield str(item.id), cluster_facts.place(component, Side.BOOTSTRAP)


# The lines of scripts that bootstrap runs: tasks, recipes and shell scripts that deploy something, as a whole.


_SCRIPTED = {SourceForm.HELM_COMMAND, SourceForm.KUBECTL_COMMAND, SourceForm.KUSTOMIZE_COMMAND, SourceForm.FLUX_COMMAND}
_ANY_CLUSTER = "for which cluster"
"""What readers doubt of a command that is probably no part of bootstrap: it is for whatever cluster is at hand."""
_RECIPE = re.compile(r"^@?[A-Za-z_][\w.-]*(?:\s[^:=]*)?:(?!=)|^\[(?:tasks\.)?[^\]]+\]\s*$")
_CONTINUED = ("\\", "|", "&&")
_SAID = re.compile(r"^\s*(?:#|-?\s*(?:echo|printf|desc|description|msg|summary|prompt|sh)\b|- '?echo\b)")


def script_lines(scene: PlatformView, cluster: str) -> Iterator[tuple[Place, str]]:
    """Every line of them that does something, with its place; comments and messages are left out."""
    for path, wanted in sorted(_deploying(scene, cluster).items()):
        text = (scene.files.text(path) or "").splitlines()
        for first, last in _ranges(scene, path, text):
            if any(first <= each < last for each in wanted):
                for number in range(first, min(last, len(text) + 1)):
                    line = text[number - 1]
                    if line.strip() and not _SAID.match(line.lstrip()):
                        yield Place(path, number), line.strip()


def _deploying(scene: PlatformView, cluster: str) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = {}
    for component in scene.facts[cluster].bootstrap:
        for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
            if origin.form in _SCRIPTED and _ANY_CLUSTER not in origin.doubt:
                found.setdefault(origin.place.path, set()).add(origin.place.line)
    return found


def _ranges(scene: PlatformView, path: str, text: list[str]) -> Iterator[tuple[int, int]]:
    """The first line of each task and the one after its last."""
    if path.endswith((".sh", ".bash", ".zsh")):
        yield 1, len(text) + 1
        return
    starts = sorted(_tasks(scene, path) if path.endswith((".yaml", ".yml")) else _recipes(text))
    yield from itertools.pairwise([*starts, len(text) + 1])


def _tasks(scene: PlatformView, path: str) -> Iterator[int]:
    for document in scene.files.documents(path)[:1]:
        tasks = document.value.get("tasks") if isinstance(document.value, Mapping) else None
        for name in tasks if isinstance(tasks, Mapping) else ():
            yield document.place("tasks", name).line


def _recipes(text: list[str]) -> Iterator[int]:
    yield from (number for number, line in enumerate(text, 1) if _RECIPE.match(line))


def statement(scene: PlatformView, place: Place) -> str:
    """The statement that a line of a script belongs to: with the lines that it continues, and that continue it."""
    lines_ = (scene.files.text(place.path) or "").splitlines()
    first = last = place.line - 1
    while first > 0 and lines_[first - 1].rstrip().endswith(_CONTINUED):
        first -= 1
    while last < len(lines_) - 1 and lines_[last].rstrip().endswith(_CONTINUED):
        last += 1
    return " ".join(each.strip().removesuffix("\\") for each in lines_[first : last + 1])

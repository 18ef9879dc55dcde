"""How a component is changed in this repo: which file, then which commands. Only commands that exist."""

import shlex
from collections.abc import Iterator, Sequence

from firstlight.model.component import Component, Form, Origin, Owner, Phase
from firstlight.model.explanation import Sentence
from firstlight.model.source import Chart, Directory
from firstlight.plan import facts as plan_facts
from firstlight.policy.explaining import halves, reasons
from firstlight.policy.explaining.scene import Scene

_ROLLED_BACK = "To go back, revert the commit"


def sentences(scene: Scene, component: Component) -> Iterator[Sentence]:
    """What to do, in order."""
    yield from _edit(component)
    cluster = scene.cluster(component.cluster)
    branch = (cluster.branch if cluster else "") or "main"
    yield Sentence(
        text="On a branch of your own, see how risky it is and who must agree",
        command=f"firstlight decide --diff {shlex.quote(branch)}...HEAD",
    )
    if component.owner == Owner.BOOTSTRAP:
        yield from _by_command(scene, component)
    else:
        yield from _by_merge(scene, component)


def _edit(component: Component) -> Iterator[Sentence]:
    bootstrap, gitops = component.halves
    own = halves.of_their_own(component)
    if component.owner == Owner.BOOTSTRAP:
        yield from _files(own or bootstrap, "Edit")
    else:
        yield from _files(gitops or bootstrap, "Edit")
        written = tuple(each for each in own if not _is_embedded(each))
        if written and gitops:
            yield from _files(written, "and, for bootstrap,")


def _files(origins: Sequence[Origin], verb: str) -> Iterator[Sentence]:
    for origin in origins[:1]:
        yield Sentence(text=f"{verb} the {origin.form}", place=origin.place)
        for source in plan_facts.sources(origin):
            match source:
                case Directory() if source.path != origin.place.path:
                    yield Sentence(text=f"or what it applies, in {source.path}")
                case Chart():
                    if source.pinned and source.version:
                        yield Sentence(text=f"Its version, {source.version}, stands in its source", place=source.pinned)
                    files = [each.file for each in source.values if each.file]
                    if files:
                        yield Sentence(text=f"or its values, in {', '.join(dict.fromkeys(files))}")


def _is_embedded(origin: Origin) -> bool:
    return origin.form == Form.INLINE_MANIFEST


def _embed(component: Component, text: str) -> Iterator[Sentence]:
    """To write the manifest in the machine config anew, where it is made from something else in the repo."""
    if not all(map(_is_embedded, component.origins)):
        name, cluster = _quoted(component)
        yield Sentence(text=text, command=f"firstlight render {name} --inline --cluster {cluster}")


def _by_command(scene: Scene, component: Component) -> Iterator[Sentence]:
    name, cluster = _quoted(component)
    if component.phase == Phase.INLINE:
        yield from _embed(component, "Embed it into the machine config again")
    # Secrets of the foundation have a name of their own there, all together.
    only = f"firstlight up {cluster} --only {'secrets' if scene.is_foundation(component) else name}"
    yield Sentence(text="See what would be written", command=f"{only} --dry-run")
    yield Sentence(text="Bring it to the cluster; a merge alone does not", command=only)
    yield Sentence(text="See whether the cluster is as it must be", command=f"firstlight verify {cluster}")
    yield Sentence(text=f"{_ROLLED_BACK} and run the same command again.")


def _by_merge(scene: Scene, component: Component) -> Iterator[Sentence]:
    name, cluster = _quoted(component)
    bootstrap, gitops = component.halves
    if any(map(_is_embedded, bootstrap)):
        yield from _embed(component, "Embed it again, for clusters that are built from this repo later")
    if gitops and halves.of_their_own(component):
        yield Sentence(
            text="See where the two halves differ", command=f"firstlight boundary {cluster} --component {name}"
        )
    who = reasons.engine(scene, component.cluster)
    yield Sentence(text=f"Merge it; {who} applies it by itself.")
    yield Sentence(
        text="See whether the cluster is as Git says", command=f"firstlight drift {cluster} --component {name}"
    )
    yield Sentence(text=f"{_ROLLED_BACK} and merge that.")


def _quoted(component: Component) -> tuple[str, str]:
    return shlex.quote(component.name), shlex.quote(component.cluster)

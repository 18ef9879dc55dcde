"""Releases made into origins, with their charts, values, needs, hooks and phase."""

import dataclasses
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.model.component import Certainty, Form, Need, Origin, Phase, Side
from firstlight.model.remark import Grade, Remark
from firstlight.model.source import Chart, Unresolved
from firstlight.repo.go_template import Unknown
from firstlight.repo.helmfile import chart as charts
from firstlight.repo.helmfile import hooks, release_values
from firstlight.repo.helmfile import release as releases
from firstlight.repo.helmfile.environment import DEFAULT
from firstlight.repo.helmfile.release import Release
from firstlight.repo.helmfile.state import Item, State
from firstlight.repo.scripts import plain
from firstlight.repo.scripts.commands import phase
from firstlight.repo.scripts.step import HelmfileCall
from firstlight.repo.work_tree import WorkTree

_CRDS_FILE = re.compile(r"(?:^|[^a-z])crds?(?:[^a-z]|$)", re.I)
_KEPT = (
    "labels", "wait", "waitForJobs", "timeout", "createNamespace", "atomic", "skipCRDs", "takeOwnership", "kubeContext",
    "args",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A release with its origin and hooks."""

    release: Release
    origin: Origin
    hooks: tuple[hooks.Hook, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class All:
    """What a helmfile installs, and what it leaves out."""

    origins: list[Origin]
    unreached: list[Origin]


def make(
    tree: WorkTree,
    state: State,
    release: Release,
    *,
    say: Callable[[Remark], None],
    calls: Sequence[HelmfileCall],
) -> Made:
    """A release as an origin."""
    spec = release.spec
    version = spec.get("version")
    source = charts.resolve(
        tree, spec.get("chart") or spec.get("directory"), state.directory, state.items("repositories")
    )
    values = tuple(release_values.read(tree, state, release, say))
    known = releases.text(version) if not isinstance(version, Unknown) else ""
    source = charts.with_release(
        source, version=known, release=release.name, namespace=release.namespace, values=values
    )
    doubts = [*release.doubts]
    if isinstance(source, Unresolved):
        doubts.append(source.reason)
    doubts += [f"values: {each.unresolved}" for each in values if each.unresolved and not _is_secret(each.unresolved)]
    found = tuple(hooks.read(tree, state, release, _hooks(release)))
    is_crds = any(call.is_crds for call in calls)
    origin = Origin(
        form=Form.HELMFILE,
        side=Side.BOOTSTRAP,
        place=release.item.place(),
        name=release.name,
        namespace=release.namespace,
        cluster=_cluster(state),
        phase=_phase(state, release, source, is_crds=is_crds),
        source=source,
        version=source.version if isinstance(source, Chart) else known,
        needs=_needs(release, calls),
        certainty=Certainty.GUESSED if doubts or release.left_out else Certainty.DECLARED,
        doubt="; ".join(dict.fromkeys([*([release.left_out] if release.left_out else []), *doubts])),
        definition=_definition(state, release, found),
    )
    if not release.name:
        say(Remark(release.item.place(), Grade.ERROR, "this release has no name"))
    return Made(release, plain.origin(origin), found)


def _is_secret(reason: str) -> bool:
    """What is encrypted is no doubt about the release: it is known where it is."""
    return "encrypted" in reason or reason.startswith("a secret")


def _cluster(state: State) -> str:
    return "" if state.environment.name == DEFAULT else state.environment.name


def _hooks(release: Release) -> list[Item]:
    """The hooks of a release; inherited ones come first, and have its place."""
    every = release.spec.get("hooks")
    every = every if isinstance(every, list) else []
    own = release.item.value.get("hooks")
    inherited = len(every) - len(own) if isinstance(own, list) else len(every)
    item = release.item
    return [
        dataclasses.replace(
            item, value=each, steps=item.steps if n < inherited else (*item.steps, "hooks", n - inherited)
        )
        for n, each in enumerate(every)
    ]


def _phase(state: State, release: Release, source: Any, *, is_crds: bool) -> Phase:
    defaults = state.spec.get("helmDefaults")
    defaults = defaults if isinstance(defaults, Mapping) else {}
    arguments = [releases.text(each) for where in (defaults, release.spec) for each in _list(where.get("args"))]
    filters = [releases.text(each) for each in _list(defaults.get("postRendererArgs"))]
    only_crds = "--include-crds" in arguments or any("CustomResourceDefinition" in each for each in filters)
    if is_crds or only_crds or _CRDS_FILE.search(posixpath.basename(state.path)):
        return Phase.CRDS
    chart = source.name if isinstance(source, Chart) else ""
    names = [release.name, posixpath.basename(chart)]
    return phase.of(names, names=names)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _needs(release: Release, calls: Sequence[HelmfileCall]) -> tuple[Need, ...]:
    found: list[Need] = []
    for n, each in enumerate(_list(release.spec.get("needs"))):
        parts = releases.text(each).split("/")
        namespace = parts[-2] if len(parts) > 1 else release.namespace
        name = "/".join(part for part in ("helmfile-release", namespace, parts[-1]) if part)
        found.append(Need(id=name, place=release.item.place("needs", n), why="needs"))
    if not found:
        # What ran before helmfile itself, such as namespaces and secrets.
        before = {need: call.place for call in calls if call.is_reached for need in call.needs}
        found = [Need(id=need, place=place, why="task order") for need, place in before.items()]
    return tuple(found)


def _definition(state: State, release: Release, found: Sequence[hooks.Hook]) -> dict[str, Any]:
    defaults = state.spec.get("helmDefaults")
    defaults = defaults if isinstance(defaults, Mapping) else {}
    kept = {
        key: value
        for key in _KEPT
        if (value := release.spec.get(key, defaults.get(key))) not in (None, {}, []) and not isinstance(value, Unknown)
    }
    kept["environment"] = state.environment.name
    if found:
        kept["hooks"] = [{"events": list(each.events), "command": each.command} for each in found]
    return kept


def hooked(tree: WorkTree, state: State, made: Sequence[Made]) -> All:
    """Releases with what their hooks apply: before them, or after."""
    every = All([], [])
    whole = list(hooks.read(tree, state, None, state.items("hooks")))
    for each in made:
        if each.release.left_out:
            every.unreached.append(each.origin)
            continue
        origin = each.origin
        for hook in each.hooks:
            for deployed in hook.origins:
                child = dataclasses.replace(
                    deployed, cluster=origin.cluster, parent=each.origin.id, phase=_of_hook(deployed, origin)
                )
                if hook.is_before:
                    origin = hooks.needed(origin, [child.id], hook.place, "hook")
                else:
                    child = hooks.needed(child, [each.origin.id], hook.place, "hook")
                every.origins.append(child)
        every.origins.append(origin)
    for hook in whole:
        every.origins.extend(dataclasses.replace(deployed, cluster=_cluster(state)) for deployed in hook.origins)
    return every


def _of_hook(deployed: Origin, origin: Origin) -> Phase | None:
    """A hook runs with its release, unless what it applies is known to be of another phase."""
    return deployed.phase if deployed.phase in (Phase.CRDS, Phase.ENGINE) else origin.phase


def unique(found: Sequence[Origin]) -> list[Origin]:
    """Origins whose ids are their own in their cluster: a chart may be installed once for its CRDs and once in full."""
    taken = {(each.cluster, each.id) for each in found if each.phase != Phase.CRDS}
    seen: set[tuple[str, str]] = set()
    made: list[Origin] = []
    for each in found:
        if each.phase == Phase.CRDS and (each.cluster, each.id) in taken and each.form == Form.HELMFILE:
            each = dataclasses.replace(each, name=f"{each.name}-crds")
        if (each.cluster, each.id) in seen and each.form == Form.HOOK:
            each = next(
                other
                for n in range(2, 10_000)
                if (other := dataclasses.replace(each, name=f"{each.name}-{n}"))
                and (other.cluster, other.id) not in seen
            )
        seen.add((each.cluster, each.id))
        made.append(each)
    return made

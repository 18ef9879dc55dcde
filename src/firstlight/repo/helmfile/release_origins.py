"""Charts as helmfile finds them: by repositories, in registries, in Git, behind URLs, and in directories."""

import dataclasses
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.model.component import Certainty, ComponentNeed, Origin, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.source import ChartSource, DirectorySource, Source, Unresolved
from firstlight.repo import well_known_components, work_tree
from firstlight.repo.go_template import Unknown
from firstlight.repo.helmfile import release_values, releases
from firstlight.repo.helmfile.environments import DEFAULT
from firstlight.repo.helmfile.helmfile_state import HelmfileItem, HelmfileState
from firstlight.repo.helmfile.releases import HelmfileRelease
from firstlight.repo.scripts import masked_lines
from firstlight.repo.scripts.command_context import HelmfileCall
from firstlight.repo.work_tree import WorkTree


def resolve_chart(tree: WorkTree, chart: object, directory: str, repositories: Sequence[HelmfileItem]) -> Source:
    """What a release's ``chart`` names."""
    if isinstance(chart, Unknown):
        return Unresolved(text=chart.text, reason=chart.reason)
    written = str(chart or "")
    if not written:
        return Unresolved(text="", reason="the release names no chart")
    if written.startswith("git::"):
        return _git(written)
    if written.startswith(("oci://", "https://", "http://")):
        head, _, name = written.rpartition("/")
        return ChartSource(name=name, repository=head)
    joined = work_tree.join(directory, written) if not written.startswith("/") else None
    if joined is not None and (tree.is_dir(joined) or tree.is_file(joined)):
        return _local(tree, joined)
    alias, _, name = written.partition("/")
    for repository in repositories:
        value = repository.value if isinstance(repository.value, dict) else {}
        if name and value.get("name") == alias:
            return _listed(repository, name)
    if written.startswith("."):
        return Unresolved(text=written, reason=f"{joined or written} is not in the repo")
    if not name:
        return Unresolved(text=written, reason=f"there is neither a directory nor a repository for the chart {written}")
    return Unresolved(text=written, reason=f"the repository {alias} is not among the helmfile's repositories")


def _listed(repository: HelmfileItem, name: str) -> Source:
    url = repository.value.get("url")
    if isinstance(url, Unknown):
        return Unresolved(text=f"{url.text}/{name}", reason=url.reason)
    address = str(url or "").rstrip("/")
    if repository.value.get("oci") is True and "://" not in address:
        address = f"oci://{address}"
    return ChartSource(name=name, repository=address, origin=repository.place("url"))


def _git(written: str) -> Source:
    address, _, query = written.removeprefix("git::").partition("?")
    url, _, path = address.rpartition("@")
    if "/" not in url.partition("://")[2]:  # the only @ stands between a user and a host
        url, path = address, "."
    options = dict(part.partition("=")[::2] for part in query.split("&"))
    return ChartSource(name=path, repository=url, version=options.get("ref", ""))


def _local(tree: WorkTree, path: str) -> Source:
    """A chart of the repo; helmfile also takes directories with a kustomization or plain manifests for charts."""
    if tree.is_file(path) or tree.is_file(posixpath.normpath(f"{path}/Chart.yaml")):
        return ChartSource(name=path)
    kustomizations = ("kustomization.yaml", "kustomization.yml", "Kustomization")
    has_kustomization = any(tree.is_file(posixpath.normpath(f"{path}/{name}")) for name in kustomizations)
    return DirectorySource(path=path, kustomize=has_kustomization)


def with_release(source: Source, **fields: object) -> Source:
    """A chart with what the release adds to it; other sources stay as they are."""
    if not isinstance(source, ChartSource):
        return source
    version = fields.pop("version", "") or source.version
    return dataclasses.replace(source, version=version, **fields)  # type: ignore[arg-type]


# Releases made into origins, with their charts, values, needs, hooks and phase.


_CRDS_FILE = re.compile(r"(?:^|[^a-z])crds?(?:[^a-z]|$)", re.I)
_KEPT = (
    "labels", "wait", "waitForJobs", "timeout", "createNamespace", "atomic", "skipCRDs", "takeOwnership", "kubeContext",
    "args",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class ReleaseOrigin:
    """A release with its origin and hooks."""

    release: HelmfileRelease
    origin: Origin
    hooks: tuple[releases.HelmfileHook, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class HelmfileOrigins:
    """What a helmfile installs, and what it leaves out."""

    origins: list[Origin]
    unreached: list[Origin]


def make(
    tree: WorkTree,
    state: HelmfileState,
    release: HelmfileRelease,
    *,
    say: Callable[[Diagnostic], None],
    calls: Sequence[HelmfileCall],
) -> ReleaseOrigin:
    """A release as an origin."""
    spec = release.spec
    version = spec.get("version")
    source = resolve_chart(
        tree, spec.get("chart") or spec.get("directory"), state.directory, state.items("repositories")
    )
    values = tuple(release_values.read(tree, state, release, say))
    known = releases.text(version) if not isinstance(version, Unknown) else ""
    source = with_release(source, version=known, release=release.name, namespace=release.namespace, values=values)
    doubts = [*release.doubts]
    if isinstance(source, Unresolved):
        doubts.append(source.reason)
    # What is encrypted does not make a release doubtful: it is known where it is.
    doubts += [f"values: {each.unresolved}" for each in values if each.unresolved and not each.is_secret]
    found = tuple(releases.read_hooks(tree, state, release, _hooks(release)))
    is_crds = any(call.is_crds for call in calls)
    origin = Origin(
        form=SourceForm.HELMFILE,
        side=Side.BOOTSTRAP,
        place=release.item.place(),
        name=release.name,
        namespace=release.namespace,
        cluster=_cluster(state),
        phase=_phase(state, release, source, is_crds=is_crds),
        source=source,
        version=source.version if isinstance(source, ChartSource) else known,
        needs=_needs(release, calls),
        certainty=Certainty.GUESSED if doubts or release.left_out else Certainty.DECLARED,
        doubt="; ".join(dict.fromkeys([*([release.left_out] if release.left_out else []), *doubts])),
        definition=_definition(state, release, found),
    )
    if not release.name:
        say(Diagnostic.error("helmfile-release-wrong", "this release has no name", at=release.item.place()))
    return ReleaseOrigin(release, masked_lines.plain_origin(origin), found)


def _cluster(state: HelmfileState) -> str:
    return "" if state.environment.name == DEFAULT else state.environment.name


def _hooks(release: HelmfileRelease) -> list[HelmfileItem]:
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


def _phase(state: HelmfileState, release: HelmfileRelease, source: Any, *, is_crds: bool) -> Phase:
    defaults = state.spec.get("helmDefaults")
    defaults = defaults if isinstance(defaults, Mapping) else {}
    arguments = [releases.text(each) for where in (defaults, release.spec) for each in _list(where.get("args"))]
    filters = [releases.text(each) for each in _list(defaults.get("postRendererArgs"))]
    only_crds = "--include-crds" in arguments or any("CustomResourceDefinition" in each for each in filters)
    if is_crds or only_crds or _CRDS_FILE.search(posixpath.basename(state.path)):
        return Phase.CRDS
    chart = source.name if isinstance(source, ChartSource) else ""
    names = [release.name, posixpath.basename(chart)]
    return well_known_components.phase_of(names, names=names)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _needs(release: HelmfileRelease, calls: Sequence[HelmfileCall]) -> tuple[ComponentNeed, ...]:
    found: list[ComponentNeed] = []
    for n, each in enumerate(_list(release.spec.get("needs"))):
        parts = releases.text(each).split("/")
        namespace = parts[-2] if len(parts) > 1 else release.namespace
        name = "/".join(part for part in ("helmfile-release", namespace, parts[-1]) if part)
        found.append(ComponentNeed(id=name, place=release.item.place("needs", n), why="needs"))
    if not found:
        # What ran before helmfile itself, such as namespaces and secrets.
        before = {need: call.place for call in calls if call.is_reached for need in call.needs}
        found = [ComponentNeed(id=need, place=place, why="task order", is_order=True) for need, place in before.items()]
    return tuple(found)


def _definition(
    state: HelmfileState, release: HelmfileRelease, found: Sequence[releases.HelmfileHook]
) -> dict[str, Any]:
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


def hooked(tree: WorkTree, state: HelmfileState, made: Sequence[ReleaseOrigin]) -> HelmfileOrigins:
    """Releases with what their hooks apply: before them, or after."""
    every = HelmfileOrigins([], [])
    whole = list(releases.read_hooks(tree, state, None, state.items("hooks")))
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
                    origin = releases.needed(origin, [child.id], hook.place, "hook")
                else:
                    child = releases.needed(child, [each.origin.id], hook.place, "hook")
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
        if each.phase == Phase.CRDS and (each.cluster, each.id) in taken and each.form == SourceForm.HELMFILE:
            each = dataclasses.replace(each, name=f"{each.name}-crds")
        if (each.cluster, each.id) in seen and each.form == SourceForm.HOOK:
            each = next(
                other
                for n in range(2, 10_000)
                if (other := dataclasses.replace(each, name=f"{each.name}-{n}"))
                and (other.cluster, other.id) not in seen
            )
        seen.add((each.cluster, each.id))
        made.append(each)
    return made

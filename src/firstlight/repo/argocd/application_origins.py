"""Applications as origins: their clusters, and what they wait for by sync waves and rolling steps."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from firstlight.model import argocd_names
from firstlight.model.cluster import Cluster, Engine, Network
from firstlight.model.component import Certainty, ComponentNeed, ObjectId, Origin, SecretNeed, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, DirectorySource, SeveralSources, Source
from firstlight.repo.argocd import application_spec, definitions, git_urls
from firstlight.repo.argocd.application_sources import HEADS
from firstlight.repo.argocd.application_tree import ApplicationNode
from firstlight.repo.argocd.definitions import Definition, items, mapping, text
from firstlight.repo.argocd.read_scope import ReadScope
from firstlight.repo.manifest import Manifest


def origin(
    node: ApplicationNode,
    scope: ReadScope,
    *,
    cluster: str,
    is_leaf: bool,
    needs: tuple[ComponentNeed, ...] = (),
    wave: int | None = None,
) -> Origin:
    """An Application as an origin.

    Args:
        node: The Application.
        scope: The tree.
        cluster: Where its objects go.
        is_leaf: Whether it brings no other Application.
        needs: What it waits for.
        wave: Its sync wave.
    """
    app = node.definition
    doubts = [app.doubt, node.made.doubt, _variables(node)]
    is_guessed = node.is_template or app.is_guessed or bool(_variables(node))
    is_alone = node.parent is None and is_leaf and not node.is_inline
    if is_alone and not any(doubts):
        what = "its ApplicationSet" if node.app_set else "it"
        applied = f"the kustomization in {node.group}" if node.group else "it"
        doubts.append(f"no Application of this repo brings {what}, so {applied} is applied by hand or by bootstrap")
    return Origin(
        form=SourceForm.APPLICATION,
        side=Side.GITOPS,
        place=app.place,
        name=app.name,
        namespace=node.namespace,
        cluster=cluster,
        source=node.made.source,
        version=node.made.version,
        needs=needs,
        parent=node.parent.id if node.parent else "",
        certainty=Certainty.GUESSED if is_guessed else Certainty.DECLARED,
        doubt="; ".join(dict.fromkeys(each for each in doubts if each)),
        wave=wave,
        suspended=_is_suspended(node),
        objects=_objects(node, scope),
        secrets=_secrets(node, scope),
        definition=app.value,
        maker=node.app_set.value if node.app_set else {},
        stated=tuple(Manifest(each.value, each.place, each.document, each.steps) for each in node.made.definitions),
    )


def _secrets(node: ApplicationNode, scope: ReadScope) -> tuple[SecretNeed, ...]:
    """The credentials of its repositories, where this repo has the Secret."""
    found: dict[str, SecretNeed] = {}
    for spec in application_spec.source_specs(node.definition):
        namespace, _, name = scope.registered.credentials(spec.url).partition("/")
        if name:
            why = f"credentials of {git_urls.without_password(spec.url)}"
            found.setdefault(name, SecretNeed(name=name, namespace=namespace, place=spec.at("repoURL"), why=why))
    return tuple(found.values())


def _variables(node: ApplicationNode) -> str:
    """Shell variables in what says where it comes from: somebody fills them in before it is applied."""
    sources = [mapping(node.definition.spec.get("source")), *definitions.items(node.definition.spec.get("sources"))]
    written = [definitions.text(mapping(each).get(field)) for each in sources for field in ("repoURL", "path", "chart")]
    found = next((each for each in [node.definition.name, *written] if "${" in each), "")
    return f"something fills in {found} before it is applied" if found else ""


def _is_suspended(node: ApplicationNode) -> bool:
    automated = mapping(mapping(node.definition.spec.get("syncPolicy")).get("automated"))
    return (
        node.definition.annotation(argocd_names.SKIP_RECONCILE_ANNOTATION) == "true"
        or automated.get("enabled") is False
    )


def _objects(node: ApplicationNode, scope: ReadScope) -> tuple[ObjectId, ...]:
    """What it applies itself, without the Applications that it brings; asked once for what many apply."""
    key = ("objects", id(node.made.definitions))
    if key not in scope.kept:
        own = [each for each in node.made.definitions if not definitions.is_one(each.value)]
        scope.kept[key] = tuple(sorted({Manifest(each.value, each.place).id for each in own}))
    found: tuple[ObjectId, ...] = scope.kept[key]
    return found


def clusters(
    nodes: Sequence[ApplicationNode], instances: Mapping[ApplicationNode, str], scope: ReadScope
) -> tuple[Cluster, ...]:
    """The clusters with Argo CD, and those that it deploys to; the one without a name is where it runs."""
    found: dict[str, Cluster] = {}
    parents = {node.parent for node in nodes if node.parent}
    for name in sorted(set(instances.values())):
        roots = [node for node in nodes if node.parent is None and instances[node] == name]
        sizes = Counter(node.root for node in nodes)
        chief = max(roots, key=lambda root: (not root.destination.cluster, sizes[root], not root.is_inline))
        made = _cluster(name, chief.definition.place, scope)
        url, branch = _followed(chief, scope)
        path = _start(chief) if chief in parents and not chief.destination.cluster else ""
        found[name] = dataclasses.replace(made, path=path, url=url, branch=branch)
    for node in nodes:
        name, server = node.destination.cluster, node.destination.server
        if name and name not in found:
            known = next((each.place for each in scope.registered.clusters if each.name == name), None)
            place = known or node.definition.at("spec", "destination")
            made = _cluster(name, place, scope)
            starts = [_start(each) for each in nodes if each.destination.cluster == name and each in parents]
            found[name] = dataclasses.replace(
                made,
                path=next((path for path in starts if path), ""),
                network=Network(endpoint=server),
                said={**made.said, "network.endpoint": place} if server else made.said,
            )
    return tuple(found.values())


def _followed(root: ApplicationNode, scope: ReadScope) -> tuple[str, str]:
    """The repository and the branch as a root has them, or else as most have them."""
    for spec in application_spec.source_specs(root.definition):
        if scope.own.has(spec.url):
            branch = scope.own.revision if spec.revision in HEADS else spec.revision
            return git_urls.without_password(spec.url), branch
    return scope.own.written, scope.own.revision


def _cluster(name: str, place: Place, scope: ReadScope) -> Cluster:
    own = scope.own
    said = {"url": own.place, "branch": own.place} if own.place else {}
    return Cluster(
        name=name, place=place, engine=Engine.ARGOCD, url=own.written, branch=own.revision,
        said={field: at for field, at in said.items() if at},
    )  # fmt: skip


def _start(root: ApplicationNode) -> str:
    """The directory of this repo that an Application reads first."""
    sources = root.made.source.each if isinstance(root.made.source, SeveralSources) else (root.made.source,)
    paths = [each.path if isinstance(each, DirectorySource) else _local_path(each) for each in sources]
    return next((each for each in paths if each), "")


def _local_path(source: Source) -> str:
    return source.name if isinstance(source, ChartSource) and not source.repository else ""


# Which Applications wait for others: sync waves below one parent, and the steps of a rolling ApplicationSet.


MAX_NEEDS = 200
"""Applications that one waits for; where a wave has more, the first ones stand for it."""

_HEALTH_HINT = f"Set {argocd_names.HEALTH_CUSTOMIZATION} in argocd-cm."


@dataclasses.dataclass(frozen=True)
class Waves:
    """What waits for what."""

    needs: Mapping[ApplicationNode, tuple[ComponentNeed, ...]]
    numbers: Mapping[ApplicationNode, int]
    """The wave of each Application that has one."""
    diagnostics: tuple[Diagnostic, ...]


def waves_of(nodes: Sequence[ApplicationNode], *, has_health: bool) -> Waves:
    """Find out what waits for what.

    Args:
        nodes: All Applications.
        has_health: Whether Argo CD waits for the health of Applications.
    """
    numbers: dict[ApplicationNode, int] = {}
    diagnostics: list[Diagnostic] = []
    for node in nodes:
        number = _number(node, diagnostics)
        if number is not None:
            numbers[node] = number
    needs: dict[ApplicationNode, list[ComponentNeed]] = {node: [] for node in nodes}
    siblings: dict[ApplicationNode, list[ApplicationNode]] = {}
    for node in nodes:
        if node.parent is not None:
            siblings.setdefault(node.parent, []).append(node)
    suffix = "" if has_health else " (order only, no health)"
    for group in siblings.values():
        # The sync of the parent creates an ApplicationSet and goes on: nothing waits for what the set makes.
        by_wave = {node: _in_sync(node) for node in group}
        for node, number, before in _ordered(by_wave, is_awaited=lambda node: node.app_set is None):
            needs[node] += _needs(node, before, f"sync wave {number} after {by_wave[before[0]]}{suffix}")
    if not has_health and any(needs.values()):
        first = min((_place(node) for node in numbers if needs[node]), default=None)
        if first is not None:
            message = (
                "a sync wave of Applications does not wait for the one before to be healthy: Argo CD has no health"
            )
            diagnostics.append(
                Diagnostic.warning(
                    "waves-without-health", f"{message} check for Applications", at=first, fix=_HEALTH_HINT
                )
            )
    for node, more in _rolling(nodes):
        needs[node] += more
    diagnostics += [*_replaced(nodes), *_idle(nodes, numbers)]
    return Waves({node: tuple(each) for node, each in needs.items()}, numbers, tuple(diagnostics))


def _annotated(one: Definition) -> int | None:
    written = one.annotation(argocd_names.SYNC_WAVE_ANNOTATION).strip()
    try:
        return int(written) if written and len(written) < 12 else None
    except ValueError:
        return None


def _number(node: ApplicationNode, diagnostics: list[Diagnostic]) -> int | None:
    """The wave that counts: the ApplicationSet's own before the one that it gives to its Applications."""
    for one in (node.app_set, node.definition):
        if one is not None and (written := one.annotation(argocd_names.SYNC_WAVE_ANNOTATION)):
            number = _annotated(one)
            if number is None:
                message = f"the sync wave {written!r} is no number, so it counts as 0"
                diagnostics.append(
                    Diagnostic.error(
                        "argocd-wave-not-a-number",
                        message,
                        at=one.at("metadata", "annotations", argocd_names.SYNC_WAVE_ANNOTATION),
                    )
                )
                return 0
            return number
    return None


def _in_sync(node: ApplicationNode) -> int:
    """The wave in the sync of the parent, in which an ApplicationSet is one object."""
    return _annotated(node.app_set or node.definition) or 0


def _place(node: ApplicationNode) -> Place:
    return (node.app_set or node.definition).at("metadata", "annotations", argocd_names.SYNC_WAVE_ANNOTATION)


def _ordered(
    numbers: Mapping[ApplicationNode, int], *, is_awaited: Callable[[ApplicationNode], bool] = lambda _: True
) -> Iterator[tuple[ApplicationNode, int, list[ApplicationNode]]]:
    """Each node with those of the next lower number that has some to wait for."""
    groups: dict[int, list[ApplicationNode]] = {}
    for node, number in numbers.items():
        groups.setdefault(number, []).append(node)
    steps = sorted(groups)
    for index, number in enumerate(steps):
        lower = next((step for step in reversed(steps[:index]) if any(map(is_awaited, groups[step]))), None)
        if lower is not None:
            before = [each for each in groups[lower] if is_awaited(each)]
            for node in groups[number]:
                yield node, number, before


def _needs(node: ApplicationNode, before: Sequence[ApplicationNode], why: str) -> list[ComponentNeed]:
    place = _place(node)
    near = [each for each in before if each.destination.cluster == node.destination.cluster]
    return [ComponentNeed(id=each.id, place=place, why=why) for each in near[:MAX_NEEDS]]


def _rolling(nodes: Sequence[ApplicationNode]) -> Iterator[tuple[ApplicationNode, list[ComponentNeed]]]:
    """The needs between the steps of ApplicationSets that roll out one after the other."""
    sets: dict[int, list[ApplicationNode]] = {}
    for node in nodes:
        if node.app_set is not None and not node.is_template:
            sets.setdefault(id(node.app_set.value), []).append(node)
    for group in sets.values():
        one = group[0].app_set
        strategy = mapping(one.spec.get("strategy")) if one else {}
        if one is None or text(strategy.get("type")) != "RollingSync":
            continue
        steps = items(mapping(strategy.get("rollingSync")).get("steps"))
        numbers = {node: number for node in group if (number := _step(node, steps))}
        for node, number, before in _ordered(numbers):
            place = one.at("spec", "strategy", "rollingSync", "steps", number - 1)
            why = f"rolling sync step {number} after {numbers[before[0]]}"
            yield node, [dataclasses.replace(each, place=place) for each in _needs(node, before, why)]


def _step(node: ApplicationNode, steps: list[object]) -> int:
    """The step, from 1, that an Application belongs to; 0 for none."""
    labels = {key: text(value) for key, value in mapping(node.definition.metadata.get("labels")).items()}
    for number, step in enumerate(steps, start=1):
        expressions = [mapping(each) for each in items(mapping(step).get("matchExpressions"))]
        if all(definitions.expression_fits(each, labels) for each in expressions):
            return number
    return 0


def _replaced(nodes: Sequence[ApplicationNode]) -> Iterator[Diagnostic]:
    """Waves that a kustomization writes over."""
    for node in nodes:
        if node.app_set is not None:
            continue
        metadata = mapping(node.definition.written.get("metadata"))
        before, after = (
            text(mapping(metadata.get("annotations")).get(argocd_names.SYNC_WAVE_ANNOTATION)),
            node.definition.annotation(argocd_names.SYNC_WAVE_ANNOTATION),
        )
        if before and before != after:
            place = node.definition.at("metadata", "annotations", argocd_names.SYNC_WAVE_ANNOTATION)
            yield Diagnostic.warning(
                "argocd-wave-replaced", f"a kustomization replaces this sync wave by {after or 'nothing'}", at=place
            )


def _idle(nodes: Sequence[ApplicationNode], numbers: Mapping[ApplicationNode, int]) -> Iterator[Diagnostic]:
    """Waves that order nothing."""
    alone = [node for node in numbers if node.parent is None and node.app_set is None]
    if len({numbers[node] for node in alone}) > 1:
        message = "sync waves order nothing here: no Application of this repo brings these Applications"
        yield Diagnostic.warning("argocd-waves-without-parent", message, at=min(_place(node) for node in alone))
    seen: set[int] = set()
    for node in nodes:
        if node.app_set is None or id(node.app_set.value) in seen:
            continue
        seen.add(id(node.app_set.value))
        if node.definition.annotation(argocd_names.SYNC_WAVE_ANNOTATION):
            message = "a sync wave on the Applications of an ApplicationSet orders nothing: no sync creates them"
            place = node.app_set.at("spec", "template", "metadata", "annotations", argocd_names.SYNC_WAVE_ANNOTATION)
            yield Diagnostic.warning(
                "argocd-wave-on-generated",
                message,
                at=place,
                fix="Use its strategy RollingSync, or a wave on the set itself.",
            )

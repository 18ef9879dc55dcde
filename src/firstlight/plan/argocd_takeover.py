"""What would go wrong when Applications take over objects that are there: found in the repo alone."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.engines import engine_directives
from firstlight.model import argocd_names
from firstlight.model.component import Component, ObjectId, Origin, SourceForm
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.handover import Passing
from firstlight.model.rendition import Object
from firstlight.model.source import ChartSource
from firstlight.ownership import ignored_fields
from firstlight.plan import cluster_facts, final_owners
from firstlight.plan.cluster_facts import ClusterFacts

SERVER_SIDE = engine_directives.SERVER_SIDE
RESPECT = "RespectIgnoreDifferences=true"
_KEEP = "Prune=false"
_VITAL = ("CustomResourceDefinition", "Namespace")


def applications(
    known: ClusterFacts, passing: Iterable[Passing]
) -> list[tuple[Component, Origin, tuple[Passing, ...]]]:
    """The Applications that something passes to, with what passes."""
    found: dict[str, list[Passing]] = defaultdict(list)
    for each in passing:
        found[each.component].append(each)
    made = []
    for name, those in sorted(found.items()):
        component = known.by_name.get(name)
        origin = final_owners.passing_owner(component) if component is not None else None
        if component is not None and origin is not None and origin.form == SourceForm.APPLICATION:
            made.append((component, origin, tuple(those)))
    return made


def argocd_problems(known: ClusterFacts, passing: Iterable[Passing], *, is_strict: bool) -> Iterator[Diagnostic]:
    """What stands in the way.

    Args:
        known: The facts of the cluster.
        passing: What passes to an engine.
        is_strict: Whether what could be pruned and must not be is an error: where the handover is all that is asked.
    """
    for component, origin, those in applications(known, passing):
        if not is_server_side(origin, those):
            yield _client_side(component, origin)
        yield from _deletes(component, origin)
        yield from _prunes(component, origin, those, is_strict=is_strict)


def helm_releases(known: ClusterFacts, passing: Iterable[Passing]) -> tuple[tuple[str, str], ...]:
    """Namespaces and names of the Helm releases that pass to Applications, if ever somebody installed them by Helm."""
    return tuple(
        (chart.namespace, chart.release or origin.name)
        for _, origin, _ in applications(known, passing)
        for chart in cluster_facts.sources(origin)
        if isinstance(chart, ChartSource) and chart.namespace
    )


def declared_options(origin: Origin) -> Sequence[str]:
    """The sync options of an Application."""
    return engine_directives.application_sync_options(origin.definition)


def is_server_side(origin: Origin, passing: Iterable[Passing]) -> bool:
    """Whether Argo CD applies all of it by server-side apply; ``Replace`` would win over that."""
    return engine_directives.is_server_side(origin.definition, (each.object.value for each in passing))


def _has_option(passing: Passing, option: str) -> bool:
    return option in engine_directives.object_sync_options(passing.object.value)


def _client_side(component: Component, origin: Origin) -> Diagnostic:
    why, do = f"it has no {SERVER_SIDE}", f"Write {SERVER_SIDE} into spec.syncPolicy.syncOptions"
    if engine_directives.REPLACE in declared_options(origin):
        why, do = (
            f"{engine_directives.REPLACE} wins over it",
            f"Leave {engine_directives.REPLACE} out of spec.syncPolicy.syncOptions",
        )
    return Diagnostic.error(
        "handover-server-side",
        f"Application {origin.name} does not apply server-side, since {why}: what bootstrap applied would "
        "stay bootstrap's, and fields removed in Git would stay in the cluster",
        subject=component.name,
        evidence=(
            Evidence(f"{origin.name} takes over {component.name}", origin.place, where=argocd_names.APPLICATION),
        ),
        fix=f"{do}; firstlight handover --dry-run shows it as a change of the file.",
    )


def _deletes(component: Component, origin: Origin) -> Iterator[Diagnostic]:
    finalizers = [str(each) for each in sequence(origin.definition, "metadata", "finalizers")]
    if any(
        each == argocd_names.RESOURCES_FINALIZER or each.startswith(f"{argocd_names.RESOURCES_FINALIZER}/")
        for each in finalizers
    ):
        yield Diagnostic.warning(
            "handover-finalizer",
            f"whoever deletes Application {origin.name} deletes everything that it took over: it has "
            + argocd_names.RESOURCES_FINALIZER,
            subject=component.name,
            evidence=(Evidence("has the finalizer", origin.place, where=argocd_names.APPLICATION),),
            fix="Leave metadata.finalizers out until the certificate is final.",
        )


def _prunes(
    component: Component, origin: Origin, passing: Iterable[Passing], *, is_strict: bool
) -> Iterator[Diagnostic]:
    policy = mapping(origin.definition, "spec", "syncPolicy")
    automated = mapping(policy, "automated")
    if automated.get("prune") is not True or automated.get("enabled") is False or _KEEP in declared_options(origin):
        return
    left = [each for each in passing if not _has_option(each, _KEEP)]
    vital = [each for each in left if component.role == "cni" or each.id.kind in _VITAL]
    shown = ", ".join(f"{each.id.kind} {each.id.name}" for each in vital[:3])
    more = f" and {len(vital) - 3} more" if len(vital) > 3 else ""
    what = f"{shown}{more}" if vital else "what it takes over"
    yield Diagnostic(
        code="handover-prunes",
        severity=Severity.ERROR if vital and is_strict else Severity.WARNING,
        subject=component.name,
        message=f"Application {origin.name} prunes by itself before the handover is proven: if Git renders otherwise "
        f"for a moment, it deletes {what}",
        evidence=(Evidence("has syncPolicy.automated.prune", origin.place, where=argocd_names.APPLICATION),),
        fix="Write prune: false until the certificate is final"
        + (
            f", and give them the annotation {argocd_names.SYNC_OPTIONS_ANNOTATION}: {_KEEP} for good."
            if vital
            else "."
        ),
    )


# What Argo CD must not compare, since somebody in the cluster writes it, each with its reason.
#
# Certificates that a chart makes anew each time, the CA bundles of webhooks, and the replicas under an autoscaler.


_HOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_BUNDLES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "CustomResourceDefinition": (
        ("spec", "conversion", "webhook", "clientConfig"),
        "/spec/conversion/webhook/clientConfig/caBundle",
    ),
    "APIService": (("spec",), "/spec/caBundle"),
}
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ArgoIgnoredFields:
    """Fields of one object that Argo CD must leave alone."""

    id: ObjectId
    pointers: tuple[str, ...] = ()
    """As JSON pointers."""
    expressions: tuple[str, ...] = ()
    """As jq paths, where a pointer would have to count."""
    why: str

    @property
    def entry(self) -> dict[str, Any]:
        """As an Application has it."""
        named = {"group": self.id.group, "kind": self.id.kind, "name": self.id.name, "namespace": self.id.namespace}
        paths = {"jsonPointers": [*self.pointers], "jqPathExpressions": [*self.expressions]}
        return {name: value for name, value in {**named, **paths}.items() if value}


def fields_to_ignore(
    passing: Sequence[Passing], everything: Iterable[Object], origin: Origin
) -> tuple[ArgoIgnoredFields, ...]:
    """What one Application must ignore and does not yet.

    Args:
        passing: What passes to it.
        everything: All objects of the cluster that were rendered: an autoscaler may be brought by another one.
        origin: The Application.
    """
    is_chart = any(isinstance(each, ChartSource) for each in cluster_facts.sources(origin))
    scaled = {target: scaler for each in everything for target, scaler in _targets(each)}
    found = []
    for each in passing:
        value, id = each.object.value, each.id
        # A certificate that Git holds itself stays as it is.
        found += [*(_certificates(id, value) if is_chart else ()), *_bundles(id, value)]
        scaler = scaled.get((id.kind, id.namespace, id.name))
        if scaler and "replicas" in mapping(value, "spec"):
            found.append(
                ArgoIgnoredFields(id=id, pointers=("/spec/replicas",), why=f"{scaler} scales it, and Git has replicas")
            )
    said = sequence(origin.definition, "spec", "ignoreDifferences")
    return tuple(each for each in found if not any(_covers(one, each) for one in said))


def _certificates(id: ObjectId, value: Mapping[str, Any]) -> Iterator[ArgoIgnoredFields]:
    if keys := ignored_fields.certificates(value):
        pointers = tuple(f"/data/{each}" for each in keys)
        yield ArgoIgnoredFields(id=id, pointers=pointers, why="every rendering of the chart makes another certificate")


def _bundles(id: ObjectId, value: Mapping[str, Any]) -> Iterator[ArgoIgnoredFields]:
    """A CA bundle that Git has and somebody in the cluster writes; one that Git does not have is no difference."""
    injector = "cert-manager" if ignored_fields.is_injected(value) else ""

    def is_foreign(config: Mapping[str, Any]) -> bool:
        return "caBundle" in config and (bool(injector) or ignored_fields.is_placeholder(config["caBundle"]))

    why = f"{injector or 'its own controller'} writes the CA bundle, and Git has another"
    if id.kind in _HOOKS:
        if any(is_foreign(mapping(each, "clientConfig")) for each in sequence(value, "webhooks")):
            yield ArgoIgnoredFields(id=id, expressions=(".webhooks[]?.clientConfig.caBundle",), why=why)
    elif id.kind in _BUNDLES:
        path, pointer = _BUNDLES[id.kind]
        if is_foreign(mapping(value, *path)):
            yield ArgoIgnoredFields(id=id, pointers=(pointer,), why=why)


def _targets(scaler: Object) -> Iterator[tuple[tuple[str, str, str], str]]:
    if not ignored_fields.is_autoscaler(scaler.value):
        return
    target = mapping(scaler.value, "spec", "scaleTargetRef")
    kind = text(target, "kind") or "Deployment"
    if kind in _SCALED and text(target, "name"):
        yield (kind, scaler.id.namespace, text(target, "name")), f"{scaler.id.kind} {scaler.id.name}"


def _covers(said: Any, wanted: ArgoIgnoredFields) -> bool:
    """Whether an entry that is there already ignores all of it."""
    id = wanted.id
    for name, value in (("group", id.group), ("kind", id.kind), ("name", id.name), ("namespace", id.namespace)):
        written = text(said, name)
        if written not in (value, "*") and not (name in ("name", "namespace") and not written):
            return False
    pointers = {str(each) for each in sequence(said, "jsonPointers")}
    paths = {_plain(str(each)) for each in sequence(said, "jqPathExpressions")}
    has_pointers = all(
        any(each == one or each.startswith(f"{one}/") for one in pointers) or _plain(each.replace("/", ".")) in paths
        for each in wanted.pointers
    )
    return has_pointers and all(_plain(each) in paths for each in wanted.expressions)


def _plain(path: str) -> str:
    return path.replace("?", "").replace('"', "").replace(" ", "")


# Changes of the files that say what an Application is, offered as diffs: a person reviews and commits them.

_SHOWN = 3


def ignore_problems(known: ClusterFacts, passing: Sequence[Passing]) -> Iterator[Diagnostic]:
    """Fields over which Argo CD and the cluster would fight for ever."""
    for component, origin, _, ignored in lacking_applications(known, passing):
        if ignored:
            names = ", ".join(f"{each.id.kind} {each.id.name} ({each.why})" for each in ignored[:_SHOWN])
            more = f" and {len(ignored) - _SHOWN} more" if len(ignored) > _SHOWN else ""
            yield Diagnostic.warning(
                "handover-ignores",
                f"Application {origin.name} would write what others write, and never be in sync: {names}{more}",
                subject=component.name,
                evidence=(Evidence("does not ignore them", origin.place, where=argocd_names.APPLICATION),),
                fix=f"Add them to spec.ignoreDifferences, and {RESPECT} to the sync options; "
                "firstlight handover --dry-run shows it as a change of the file.",
            )


def lacking_applications(
    known: ClusterFacts, passing: Sequence[Passing]
) -> Iterator[tuple[Component, Origin, list[str], list[ArgoIgnoredFields]]]:  # fmt: skip
    """Yield the Applications that lack sync options or ignored fields for a takeover, with what each lacks."""
    everything = [obj for each in known.renditions.values() for obj in each.objects]
    for component, origin, those in applications(known, passing):
        options, ignored = lacking_settings(origin, those, everything)
        if options or ignored:
            yield component, origin, options, ignored


def lacking_settings(
    origin: Origin, passing: Sequence[Passing], everything: Iterable[Object]
) -> tuple[list[str], list[ArgoIgnoredFields]]:
    """The sync options and the ignored fields that an Application lacks."""
    ignored = fields_to_ignore(passing, everything, origin)
    said = declared_options(origin)
    options = [] if is_server_side(origin, passing) else [SERVER_SIDE]
    if ignored and RESPECT not in said:
        options.append(RESPECT)
    return [each for each in options if each not in said], [*ignored]

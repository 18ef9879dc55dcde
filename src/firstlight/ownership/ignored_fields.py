"""What a repo declares as not to be looked at: by an object's owner, on the object itself, or by what scales it."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import go_regex
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import ObjectId
from firstlight.ownership import ignore_paths
from firstlight.ownership.field_values import ABSENT, Leaf, Path
from firstlight.ownership.ignore_paths import Each, Steps

_PAUSING: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    flux_names.KUSTOMIZATION: {
        flux_names.RECONCILE_ANNOTATION: ("disabled",),
        flux_names.SSA_ANNOTATION: ("ignore", "ifnotpresent"),
    },
    flux_names.HELM_RELEASE: {flux_names.DRIFT_DETECTION_ANNOTATION: ("disabled",)},
}
"""What keeps an engine away from an object, by its kind of owner: engines take it from the live object as well."""
_INJECTED = (
    "cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca",
)  # fmt: skip
_PLACEHOLDERS = (None, "", "Cg==", "Cgo=", "\n")
"""What charts write where something else puts the CA: nothing, or an empty line."""
_CERTIFICATES = frozenset({"tls.crt", "tls.key", "ca.crt", "ca.key"})
"""Keys of Secrets in which charts put the certificates that they make by ``genCA``, or take over by ``lookup``."""
_BUNDLES: Mapping[str, Steps] = {
    "ValidatingWebhookConfiguration": ("webhooks", Each(), "clientConfig", "caBundle"),
    "MutatingWebhookConfiguration": ("webhooks", Each(), "clientConfig", "caBundle"),
    "CustomResourceDefinition": ("spec", "conversion", "webhook", "clientConfig", "caBundle"),
    "APIService": ("spec", "caBundle"),
}

REPLICAS: Steps = ("spec", "replicas")
Scaled = frozenset[tuple[str, str, str]]
"""Kind, namespace and name of what an autoscaler has the replicas of."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreRules:
    """What of one object is not looked at."""

    is_whole: bool = False
    """Nothing of it is, not even whether it is there."""
    is_once: bool = False
    """Only whether it is there."""
    is_merged: bool = False
    """Fields that Git does not have are others' by declaration."""
    is_extra_fine: bool = False
    """It may be there without being in Git."""
    paths: tuple[Steps, ...] = ()
    managers: frozenset[str] = frozenset()
    """Whose fields are not looked at."""
    misread: tuple[str, ...] = ()
    """Expressions that are not understood, and leave nothing out."""


def ignore_rules(
    wanted: Mapping[str, Any],
    definition: Mapping[str, Any],
    *,
    live: Mapping[str, Any] | None = None,
    scaled: Scaled = frozenset(),
    is_chart: bool = False,
) -> IgnoreRules:
    """What is declared of an object.

    Args:
        wanted: As Git has it.
        definition: The Kustomization, HelmRelease or Application that owns it; empty if none does.
        live: As it is: only whether it may be there without being in Git is declared there.
        scaled: What autoscalers have the replicas of.
        is_chart: Whether a chart makes it; a HelmRelease always has one.
    """
    own, seen = _marks(wanted), _marks(live or {})
    policy = str(own.get(flux_names.SSA_ANNOTATION) or "").lower()
    kind = text(definition, "kind")
    is_disabled = str(own.get(flux_names.RECONCILE_ANNOTATION) or "").lower() == "disabled"
    is_undetected = str(own.get(flux_names.DRIFT_DETECTION_ANNOTATION) or "").lower() == "disabled"
    declared, managers, misread = _declared(wanted, definition)
    made = certificates(wanted) if is_chart or kind == flux_names.HELM_RELEASE else ()
    return IgnoreRules(
        is_whole=(kind == flux_names.KUSTOMIZATION and (is_disabled or policy == "ignore"))
        or (kind == flux_names.HELM_RELEASE and is_undetected)
        or () in declared,
        is_once=kind == flux_names.KUSTOMIZATION and policy == "ifnotpresent",
        is_merged=kind == flux_names.KUSTOMIZATION and policy == "merge",
        is_extra_fine="IgnoreExtraneous" in str(seen.get(argocd_names.COMPARE_OPTIONS_ANNOTATION) or ""),
        paths=(*declared, *_replicas(wanted, scaled), *_bundles(wanted), *(("data", each) for each in made)),
        managers=managers,
        misread=misread,
    )


def pauses(wanted: Mapping[str, Any], live: Mapping[str, Any], *, kind: str) -> tuple[Path, ...]:
    """Labels and annotations of a live object that keep its engine away from it, and that Git does not have.

    Nothing is hidden by them: whoever may write an object could hide what he did to it.

    Args:
        wanted: As Git has it.
        live: As it is.
        kind: What sort of owner it has: Kustomization, HelmRelease or Application.
    """
    declared = {name: str(value).lower() for name, value in _marks(wanted).items()}
    return tuple(
        ("f:metadata", f"f:{part}", f"f:{name}")
        for part in ("labels", "annotations")
        for name, values in _PAUSING.get(kind, {}).items()
        if (seen := str(mapping(live, "metadata", part).get(name) or "").lower()) in values
        and declared.get(name) != seen
    )


def scaled_by(autoscalers: Iterable[Mapping[str, Any]]) -> Scaled:
    """What HorizontalPodAutoscalers and ScaledObjects have the replicas of."""
    found = set()
    for each in autoscalers:
        target = mapping(each, "spec", "scaleTargetRef")
        if name := text(target, "name"):
            found.add((text(target, "kind") or "Deployment", text(each, "metadata", "namespace"), name))
    return frozenset(found)


def is_autoscaler(value: Mapping[str, Any]) -> bool:
    """Whether an object has the replicas of another one."""
    id = ObjectId.of(value)
    return (id.group, id.kind) in (("autoscaling", "HorizontalPodAutoscaler"), ("keda.sh", "ScaledObject"))


def certificates(wanted: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys of a Secret of a chart of which every rendering makes another certificate; Git's own stay as they are."""
    if not ObjectId.of(wanted).is_secret:
        return ()
    return tuple(sorted({*mapping(wanted, "data"), *mapping(wanted, "stringData")} & _CERTIFICATES))


def is_injected(wanted: Mapping[str, Any]) -> bool:
    """Whether cert-manager is asked to write the CA of an object."""
    annotations = mapping(wanted, "metadata", "annotations")
    return any(each in annotations for each in _INJECTED)


def is_placeholder(bundle: Any) -> bool:
    """Whether a CA is none, so that something else writes it."""
    return bundle in _PLACEHOLDERS


def is_ignored(
    leaf: Leaf, ignored: IgnoreRules, *, wanted: Mapping[str, Any], live: Mapping[str, Any], managers: Iterable[str]
) -> bool:
    """Whether a difference is one that is not looked at.

    Args:
        leaf: The difference.
        ignored: What is declared.
        wanted: The object as Git has it.
        live: The object as it is.
        managers: Who owns the field.
    """
    if ignored.managers.intersection(managers):
        return True
    before, after = leaf.before, leaf.after
    for steps in ignored.paths:
        if any(ignore_paths.covers(steps, leaf.path, value=each) for each in (wanted, live)):
            return True
        # What the server takes as one value may hold the path further down.
        below = ignore_paths.rest(steps, leaf.path, value=wanted) or ignore_paths.rest(steps, leaf.path, value=live)
        if below is not None and ABSENT not in (before, after):
            before, after = (ignore_paths.without(each, below) for each in (before, after))
            if before == after:
                return True
    return False


def _marks(value: Mapping[str, Any]) -> dict[str, Any]:
    """Flux and Helm take their settings from labels as well as from annotations."""
    return {**mapping(value, "metadata", "labels"), **mapping(value, "metadata", "annotations")}


def _declared(
    wanted: Mapping[str, Any], definition: Mapping[str, Any]
) -> tuple[tuple[Steps, ...], frozenset[str], tuple[str, ...]]:
    match text(definition, "kind"):
        case flux_names.KUSTOMIZATION:
            return tuple(_of_flux(sequence(definition, "spec", "ignore"), wanted)), frozenset(), ()
        case flux_names.HELM_RELEASE:
            rules = sequence(definition, "spec", "driftDetection", "ignore")
            return tuple(_of_flux(rules, wanted)), frozenset(), ()
        case argocd_names.APPLICATION:
            return _of_argocd(sequence(definition, "spec", "ignoreDifferences"), wanted)
    return (), frozenset(), ()


def _of_flux(rules: Iterable[Any], wanted: Mapping[str, Any]) -> Iterator[Steps]:
    for rule in rules:
        if is_flux_target(mapping(rule, "target"), wanted):
            yield from (ignore_paths.of_pointer(each) for each in sequence(rule, "paths") if isinstance(each, str))


def _of_argocd(
    rules: Iterable[Any], wanted: Mapping[str, Any]
) -> tuple[tuple[Steps, ...], frozenset[str], tuple[str, ...]]:
    found: list[Steps] = []
    managers: set[str] = set()
    misread: list[str] = []
    for rule in rules:
        if not is_argocd_target(rule, ObjectId.of(wanted)):
            continue
        found += [ignore_paths.of_pointer(each) for each in sequence(rule, "jsonPointers") if isinstance(each, str)]
        managers |= {each for each in sequence(rule, "managedFieldsManagers") if isinstance(each, str)}
        for each in sequence(rule, "jqPathExpressions"):
            steps = ignore_paths.of_jq(str(each))
            if steps is None:
                misread.append(str(each))
            else:
                found.append(steps)
    return tuple(found), frozenset(managers), tuple(misread)


def _replicas(wanted: Mapping[str, Any], scaled: Scaled) -> Iterator[Steps]:
    id = ObjectId.of(wanted)
    if (id.kind, id.namespace, id.name) in scaled:
        yield REPLICAS


def _bundles(wanted: Mapping[str, Any]) -> Iterator[Steps]:
    """The CA of webhooks, where somebody else is to write it."""
    steps = _BUNDLES.get(text(wanted, "kind"))
    if steps is None:
        return
    if is_injected(wanted) or all(is_placeholder(each) for each in _at(wanted, steps)):
        yield steps


def _at(value: Any, steps: Steps) -> Iterator[Any]:
    if not steps:
        yield value
    elif isinstance(steps[0], Each):
        for each in value if isinstance(value, list) else ():
            yield from _at(each, steps[1:])
    else:
        yield from _at(at(value, str(steps[0])), steps[1:])


# Which objects a rule of Flux or Argo CD is for, as they write it.


_TERM = re.compile(
    r"\s*(?:(?P<absent>!)?\s*(?P<key>[\w./-]+)\s*(?:(?P<sign>==?|!=)\s*(?P<value>[\w.-]*)"
    r"|\s(?P<set>in|notin)\s*\((?P<values>[^)]*)\))?)\s*(?:,|$)"
)


def is_flux_target(target: Any, value: Mapping[str, Any]) -> bool:
    """Whether a target of Flux selects an object; none selects all. Its fields are regular expressions."""
    id = ObjectId.of(value)
    version = str(value.get("apiVersion") or "").rpartition("/")[2]
    own = {"group": id.group, "version": version, "kind": id.kind, "name": id.name, "namespace": id.namespace}
    fits = all(_fits(text(target, field), each) for field, each in own.items())
    return (
        fits
        and is_selected(text(target, "labelSelector"), mapping(value, "metadata", "labels"))
        and is_selected(text(target, "annotationSelector"), mapping(value, "metadata", "annotations"))
    )


def is_argocd_target(rule: Any, id: ObjectId) -> bool:
    """Whether an entry of ``ignoreDifferences`` is for an object; ``*`` and nothing are all, but for the kind."""
    return all(_globbed(text(rule, field), each) for field, each in (("group", id.group), ("kind", id.kind))) and all(
        text(rule, field) in ("", each) for field, each in (("name", id.name), ("namespace", id.namespace))
    )


def is_selected(selector: str, labels: Mapping[str, Any]) -> bool:
    """Whether a selector, written as on a command line, selects something with these labels; an empty one does."""
    rest = selector.strip()
    while rest:
        term = _TERM.match(rest)
        if term is None or not term.end():
            return False  # not understood: nothing is left out for its sake
        if not _holds(term, labels):
            return False
        rest = rest[term.end() :]
    return True


def _holds(term: re.Match[str], labels: Mapping[str, Any]) -> bool:
    key = term["key"]
    if term["absent"]:
        return key not in labels
    if term["sign"]:
        return (labels.get(key) == term["value"]) == (term["sign"] != "!=")
    if term["set"]:
        values = {each.strip() for each in term["values"].split(",")}
        return (labels.get(key) in values) == (term["set"] == "in")
    return key in labels


def _fits(pattern: str, value: str) -> bool:
    try:
        return not pattern or go_regex.fullmatch(pattern, value)
    except ValueError:
        return False


def _globbed(pattern: str, value: str) -> bool:
    return _fits(".*".join(re.escape(each) for each in pattern.split("*")), value) if pattern else not value

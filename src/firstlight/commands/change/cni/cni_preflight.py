"""What is looked at before the network plugin is upgraded; each item is passed, failed, or for a person to look at."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.commands.change.cni import network_plugins
from firstlight.commands.change.cni.network_plugins import PluginStride
from firstlight.document.within import at
from firstlight.model.decision import ChangeCheck, CheckState, Moment
from firstlight.model.verdict import Passed, Verdict
from firstlight.model.versions import minor
from firstlight.plan import version_bump, version_matrix, well_known
from firstlight.plan.well_known import DroppedCiliumFeature

_FEW = 5
_COMPATIBILITY = "upgradeCompatibility"
"""The value of Cilium's chart that keeps defaults as they were when it was installed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CniSurvey:
    """What is known of a cluster before the upgrade."""

    product: str
    """``cilium``."""
    declared: str = ""
    """The version that Git had before the change."""
    wanted: str = ""
    """The version that Git has with it."""
    running: tuple[str, ...] = ()
    """The versions of agents that run, each once."""
    kubernetes: str = ""
    kernels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By the name of the node."""
    kinds: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """Names of objects, by ``group/version/Kind``: those of the cluster and those of the repo."""
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """Those that the new chart gets."""
    health: Verdict | None = None
    """How the network is now; None where nobody could look."""


def checks(sight: CniSurvey) -> tuple[ChangeCheck, ...]:
    """The whole list."""
    return (
        _well(sight), _versions(sight), _step(sight), *_dropped(sight), *_compatible(sight), _kubernetes(sight),
        *_kernels(sight),
    )  # fmt: skip


def dropped_kinds() -> frozenset[tuple[str, str]]:
    """Groups and kinds that some version drops: whoever looks at a cluster looks for these."""
    split = (each.kind.split("/") for each in well_known.dropped_cilium_features() if each.kind)
    return frozenset((each[0], each[-1]) for each in split)


def value_paths() -> tuple[tuple[str, ...], ...]:
    """The ways to the values that are asked for."""
    dropped = well_known.dropped_cilium_features()
    return (*(tuple(each.value.split(".")) for each in dropped if each.value), (_COMPATIBILITY,))


def before(sight: CniSurvey) -> str:
    """The version that the upgrade begins with: what runs counts, and not what Git had."""
    known = sorted(sight.running, key=lambda each: minor(each) or (0, 0))
    return known[0] if known else sight.declared


def _made(id: str, title: str, state: CheckState, says: str, details: Sequence[str] = ()) -> ChangeCheck:
    return ChangeCheck(id=f"cni-{id}", moment=Moment.PRE, title=title, state=state, says=says, details=tuple(details))


def _well(sight: CniSurvey) -> ChangeCheck:
    title = "The network is well before anything changes"
    if sight.health is None:
        return _made("health", title, CheckState.SKIPPED, "the cluster was not looked at")
    state = CheckState.PASSED if isinstance(sight.health, Passed) else CheckState.FAILED
    return _made("health", title, state, sight.health.reason)


def _versions(sight: CniSurvey) -> ChangeCheck:
    """A rollout that is half done, and agents that are not what Git had."""
    title = "All agents run the version that Git had"
    if not sight.running:
        return _made("running", title, CheckState.SKIPPED, "which version agents run is not known")
    wanted = version_bump.number(sight.wanted)
    others = [each for each in sight.running if each != wanted]
    if len(others) > 1:
        says = f"agents run {', '.join(sight.running)}: the rollout before this one has not ended"
        return _made("running", title, CheckState.FAILED, says)
    if others and wanted in sight.running:
        return _made("running", title, CheckState.PASSED, f"the rollout to {wanted} is under way; some run {others[0]}")
    declared = version_bump.number(sight.declared)
    if declared and others and others[0] != declared:
        says = f"agents run {others[0]}, and Git had {declared}: what runs counts"
        return _made("running", title, CheckState.PERSON, says)
    return _made("running", title, CheckState.PASSED, ", ".join(sight.running))


def _step(sight: CniSurvey) -> ChangeCheck:
    title = "One minor version at a time"
    found = network_plugins.step_between(before(sight), sight.wanted, network_plugins.plugin_of(sight.product))
    state = CheckState.PASSED
    if found.is_refused:
        state = CheckState.FAILED
    elif found.stride in (PluginStride.UNKNOWN, PluginStride.SKIP, PluginStride.FAR_BACK):
        state = CheckState.PERSON
    return _made("steps", title, state, found.says)


def _dropped(sight: CniSurvey) -> Iterator[ChangeCheck]:
    """What the new version has no more, in the cluster, in the repo and in the values."""
    title = "Nothing is used that the new version drops"
    wanted = minor(version_bump.number(sight.wanted))
    if sight.product != network_plugins.CILIUM or wanted is None:
        return
    found = [
        f"{told}; since {each.since}. {each.instead}"
        for each in well_known.dropped_cilium_features()
        if (minor(each.since) or (0, 0)) <= wanted
        for told in _uses(sight, each)
    ]
    if found:
        number = "1 thing is" if len(found) == 1 else f"{len(found)} things are"
        says = f"{number} used that Cilium {sight.wanted} does not have"
        yield _made("dropped", title, CheckState.FAILED, says, found)
    else:
        yield _made("dropped", title, CheckState.PASSED, "none of the kinds and values that are known to be dropped")


def _uses(sight: CniSurvey, dropped: DroppedCiliumFeature) -> Iterator[str]:
    if dropped.value:
        given = at(sight.values, *dropped.value.split("."))
        if given is not None and (not dropped.only or str(given).lower() in dropped.only):
            yield f"the value {dropped.value}{f': {given}' if dropped.only else ''}"
        return
    group, _, kind = dropped.kind.rpartition("/")
    group, _, version = group.partition("/")
    for written, names in sight.kinds.items():
        its_group, its_version, its_kind = (*written.split("/"), "", "")[:3]
        if (its_group, its_kind) == (group, kind) and version in ("", its_version):
            yield from (f"{kind} {each}" for each in names)


def _compatible(sight: CniSurvey) -> Iterator[ChangeCheck]:
    """Without it the new version's defaults come into force at once."""
    found = network_plugins.step_between(before(sight), sight.wanted, network_plugins.plugin_of(sight.product))
    if sight.product != network_plugins.CILIUM or found.stride is not PluginStride.MINOR:
        return
    title = "Defaults stay as they were"
    if given := at(sight.values, _COMPATIBILITY):
        yield _made("defaults", title, CheckState.PASSED, f"{_COMPATIBILITY} is {given}")
    else:
        says = f"{_COMPATIBILITY} is not set: to keep defaults, give it the minor version that was installed first"
        yield _made("defaults", title, CheckState.PERSON, says)


def _kubernetes(sight: CniSurvey) -> ChangeCheck:
    title = "The new version goes with this Kubernetes"
    product, own = version_matrix.table().get(sight.product), minor(version_bump.number(sight.wanted))
    here = minor(sight.kubernetes)
    span = product.kubernetes.get(f"{own[0]}.{own[1]}") if product is not None and own is not None else None
    name = network_plugins.plugin_of(sight.product).title
    if span is None or here is None:
        says = (
            f"whether {name} {sight.wanted} goes with Kubernetes {sight.kubernetes or '(not known)'} is not known here"
        )
        return _made("kubernetes", title, CheckState.PERSON, f"{says}: look it up in its release notes")
    first, last = (minor(each) or (0, 0) for each in span)
    shown = f"{name} {own[0]}.{own[1]} was tested with {span[0]} to {span[1]}" if own else ""
    if first <= here <= last:
        return _made("kubernetes", title, CheckState.PASSED, f"Kubernetes {sight.kubernetes}; {shown}")
    return _made("kubernetes", title, CheckState.PERSON, f"Kubernetes {sight.kubernetes}, and {shown}")


def _kernels(sight: CniSurvey) -> Iterator[ChangeCheck]:
    """Nodes whose Linux is too old; nothing is said where nothing is known of it."""
    title = "Every node's Linux is new enough"
    own = minor(version_bump.number(sight.wanted))
    least = network_plugins.plugin_of(sight.product).kernels.get(f"{own[0]}.{own[1]}", "") if own is not None else ""
    if not least or not sight.kernels:
        return
    wanted = minor(least) or (0, 0)
    old = [f"{node} has {each}" for node, each in sight.kernels.items() if (minor(each) or wanted) < wanted]
    if old:
        more = f" and {len(old) - _FEW} more" if len(old) > _FEW else ""
        yield _made("kernel", title, CheckState.FAILED, f"it needs Linux {least}: {', '.join(old[:_FEW])}{more}")
    else:
        yield _made("kernel", title, CheckState.PASSED, f"it needs Linux {least}, which all nodes have")

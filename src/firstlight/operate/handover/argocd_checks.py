"""What would go wrong when Applications take over objects that are there: found in the repo alone."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from firstlight.document.within import mapping, sequence
from firstlight.model.component import Component, Form, Origin
from firstlight.model.handover import Passing
from firstlight.model.plan import Link, Problem, Severity
from firstlight.model.source import Chart
from firstlight.ownership import sync_options
from firstlight.plan import facts
from firstlight.plan import passing as passes
from firstlight.plan.facts import Facts

SERVER_SIDE = sync_options.SERVER_SIDE
RESPECT = "RespectIgnoreDifferences=true"
_KEEP = "Prune=false"
FINALIZER = "resources-finalizer.argocd.argoproj.io"
_VITAL = ("CustomResourceDefinition", "Namespace")


def applications(known: Facts, passing: Iterable[Passing]) -> list[tuple[Component, Origin, tuple[Passing, ...]]]:
    """The Applications that something passes to, with what passes."""
    found: dict[str, list[Passing]] = defaultdict(list)
    for each in passing:
        found[each.component].append(each)
    made = []
    for name, those in sorted(found.items()):
        component = known.by_name.get(name)
        origin = passes.owner(component) if component is not None else None
        if component is not None and origin is not None and origin.form == Form.APPLICATION:
            made.append((component, origin, tuple(those)))
    return made


def problems(known: Facts, passing: Iterable[Passing], *, is_strict: bool) -> Iterator[Problem]:
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


def releases(known: Facts, passing: Iterable[Passing]) -> tuple[tuple[str, str], ...]:
    """Namespaces and names of the Helm releases that pass to Applications, if ever somebody installed them by Helm."""
    return tuple(
        (chart.namespace, chart.release or origin.name)
        for _, origin, _ in applications(known, passing)
        for chart in facts.sources(origin)
        if isinstance(chart, Chart) and chart.namespace
    )


def options(origin: Origin) -> Sequence[str]:
    """The sync options of an Application."""
    return sync_options.of_application(origin.definition)


def is_server_side(origin: Origin, passing: Iterable[Passing]) -> bool:
    """Whether Argo CD applies all of it by server-side apply; ``Replace`` would win over that."""
    return sync_options.is_server_side(origin.definition, (each.object.value for each in passing))


def _has_option(passing: Passing, option: str) -> bool:
    return option in sync_options.of_object(passing.object.value)


def _client_side(component: Component, origin: Origin) -> Problem:
    why, do = f"it has no {SERVER_SIDE}", f"Write {SERVER_SIDE} into spec.syncPolicy.syncOptions"
    if sync_options.REPLACE in options(origin):
        why, do = (
            f"{sync_options.REPLACE} wins over it",
            f"Leave {sync_options.REPLACE} out of spec.syncPolicy.syncOptions",
        )
    return Problem(
        rule="handover-server-side", severity=Severity.ERROR, component=component.name,
        message=f"Application {origin.name} does not apply server-side, since {why}: what bootstrap applied would "
        "stay bootstrap's, and fields removed in Git would stay in the cluster",
        chain=(Link("Application", f"{origin.name} takes over {component.name}", origin.place),),
        way_out=f"{do}; firstlight handover --dry-run shows it as a change of the file.",
    )  # fmt: skip


def _deletes(component: Component, origin: Origin) -> Iterator[Problem]:
    finalizers = [str(each) for each in sequence(origin.definition, "metadata", "finalizers")]
    if any(each == FINALIZER or each.startswith(f"{FINALIZER}/") for each in finalizers):
        yield Problem(
            rule="handover-finalizer", severity=Severity.WARNING, component=component.name,
            message=f"whoever deletes Application {origin.name} deletes everything that it took over: it has "
            f"{FINALIZER}",
            chain=(Link("Application", "has the finalizer", origin.place),),
            way_out="Leave metadata.finalizers out until the certificate is final.",
        )  # fmt: skip


def _prunes(component: Component, origin: Origin, passing: Iterable[Passing], *, is_strict: bool) -> Iterator[Problem]:
    policy = mapping(origin.definition, "spec", "syncPolicy")
    automated = mapping(policy, "automated")
    if automated.get("prune") is not True or automated.get("enabled") is False or _KEEP in options(origin):
        return
    left = [each for each in passing if not _has_option(each, _KEEP)]
    vital = [each for each in left if component.role == "cni" or each.id.kind in _VITAL]
    shown = ", ".join(f"{each.id.kind} {each.id.name}" for each in vital[:3])
    more = f" and {len(vital) - 3} more" if len(vital) > 3 else ""
    what = f"{shown}{more}" if vital else "what it takes over"
    yield Problem(
        rule="handover-prunes", severity=Severity.ERROR if vital and is_strict else Severity.WARNING,
        component=component.name,
        message=f"Application {origin.name} prunes by itself before the handover is proven: if Git renders otherwise "
        f"for a moment, it deletes {what}",
        chain=(Link("Application", "has syncPolicy.automated.prune", origin.place),),
        way_out="Write prune: false until the certificate is final"
        + (f", and give them the annotation {sync_options.ANNOTATION}: {_KEEP} for good." if vital else "."),
    )  # fmt: skip

"""What tells the engine to begin before the handover: root objects among bootstrap's own."""

from collections.abc import Iterator

from firstlight.document.within import at
from firstlight.model.component import Component, Form, ObjectId, Side
from firstlight.model.plan import Link, Problem, Severity
from firstlight.plan import facts
from firstlight.plan.ground import Ground

_ROOTS = {
    ("kustomize.toolkit.fluxcd.io", "Kustomization"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"),
    ("argoproj.io", "Application"),
    ("argoproj.io", "ApplicationSet"),
}


def problems(known: Ground) -> Iterator[Problem]:
    """Components of bootstrap with which Git would begin to act before the baseline is saved."""
    for component in known.facts.bootstrap:
        roots = [f"{each.kind} {each.name}" for each in _made(known, component) if (each.group, each.kind) in _ROOTS]
        roots += [
            f"the sync of FluxInstance {origin.name}"
            for origin in facts.origins(component, Side.BOOTSTRAP)
            if origin.form == Form.FLUX_INSTANCE and at(origin.definition, "spec", "sync")
        ]
        if facts.value(component, Side.BOOTSTRAP, "instance", "sync"):
            roots.append("the sync of the FluxInstance")
        if roots:
            shown = ", ".join(dict.fromkeys(roots[:3])) + (f" and {len(roots) - 3} more" if len(roots) > 3 else "")
            yield Problem(
                rule="root-early",
                severity=Severity.INFO,
                message=f"{component.name} brings {shown}: Git would begin before the handover",
                chain=(Link(component.name, f"has {shown}", facts.place(component, Side.BOOTSTRAP)),),
                way_out="Nothing must be done: these are held back (suspended) until the baseline is saved.",
                component=component.name,
            )


def _made(known: Ground, component: Component) -> Iterator[ObjectId]:
    if known.facts.rendition(component, Side.BOOTSTRAP) is not None:
        yield from (each.id for each in known.facts.objects(component, Side.BOOTSTRAP))
        return
    for origin in facts.origins(component, Side.BOOTSTRAP):
        yield from origin.objects

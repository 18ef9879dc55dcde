"""What passes from bootstrap to the engine: everything that bootstrap brings and Git has, with its owner in the end."""

from collections.abc import Iterable

from firstlight.document.within import mapping
from firstlight.model.component import Component, Form, ObjectId, Origin, Owner, Side
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.ownership import claims
from firstlight.plan import facts, owning
from firstlight.plan.facts import Facts

_FLUX = "kustomize.toolkit.fluxcd.io"
_LEFT = {f"{_FLUX}/reconcile": {"disabled"}, f"{_FLUX}/ssa": {"ignore", "ifnotpresent"}}
"""With these, as labels or annotations, Flux leaves an object alone that is there; it compares values in any case."""
PARTIES = {
    Form.HELM_RELEASE: Party.FLUX,
    Form.KUSTOMIZATION: Party.FLUX,
    Form.FLUX_COMPONENTS: Party.FLUX,
    Form.FLUX_INSTANCE: Party.FLUX,
    Form.APPLICATION: Party.ARGOCD,
}
"""Of which engine each form of owner is."""


def of(known: Facts, made: Iterable[ObjectId]) -> tuple[Passing, ...]:
    """What the engine is to own of what bootstrap brings, without hooks of Helm and what Flux is told to leave alone.

    Args:
        known: The facts of the cluster, with what was rendered.
        made: What bootstrap brings, whoever applies it.
    """
    wanted = set(made)
    found: dict[ObjectId, Passing] = {}
    for component in known.components:
        origin = owner(component)
        if origin is None:
            continue
        for each in known.objects(component, Side.GITOPS):
            if each.id in wanted and each.id not in found and not _is_left(each):
                found[each.id] = Passing(
                    object=each, component=component.name, manager=owning.manager(component),
                    owner=ObjectOwner(PARTIES[origin.form], called(origin)),
                )  # fmt: skip
    return tuple(found[each] for each in sorted(found))


def _is_left(obj: Object) -> bool:
    annotations, labels = mapping(obj.value, "metadata", "annotations"), mapping(obj.value, "metadata", "labels")
    return claims.is_hook(obj.value) or any(
        str(marks.get(name) or "").lower() in values
        for name, values in _LEFT.items()
        for marks in (annotations, labels)
    )


def owner(component: Component) -> Origin | None:
    """What of the engine owns a component in the end; None where bootstrap keeps it, or Git does not bring it."""
    if component.owner != Owner.GITOPS or owning.manager(component) == owning.FIRSTLIGHT:
        return None
    return next((each for each in facts.origins(component, Side.GITOPS) if each.form in PARTIES), None)


def called(origin: Origin) -> str:
    """The name of an owner as its marks on objects tell it: ``Kustomization flux-system/apps``, ``Application web``."""
    if origin.form == Form.APPLICATION:
        return f"Application {origin.name}"
    kind, name, namespace = origin.form.value, origin.name, origin.namespace
    if origin.form in (Form.FLUX_COMPONENTS, Form.FLUX_INSTANCE) and origin.maker:
        metadata = mapping(origin.maker, "metadata")
        kind, name = "Kustomization", str(metadata.get("name") or name)
        namespace = str(metadata.get("namespace") or namespace)
    return f"{kind} {namespace}/{name}"

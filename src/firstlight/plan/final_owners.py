"""Who owns an object in the end: the field manager as which it is applied from the start."""

from collections.abc import Iterable, Mapping

from firstlight.document.within import mapping
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import Component, ObjectId, Origin, Owner, Side, SourceForm
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.ownership import claims
from firstlight.plan import cluster_facts
from firstlight.plan.cluster_facts import ClusterFacts

FIRSTLIGHT = "firstlight"
REPOSITORY = "firstlight-repository"
"""Makes a Secret the credentials of a repository: another one than who made the Secret, whose fields it would drop."""
_BY_FORM = {
    SourceForm.HELM_RELEASE: flux_names.HELM_CONTROLLER,
    SourceForm.KUSTOMIZATION: flux_names.KUSTOMIZE_CONTROLLER,
    SourceForm.FLUX_COMPONENTS: flux_names.KUSTOMIZE_CONTROLLER,
    SourceForm.FLUX_INSTANCE: flux_names.KUSTOMIZE_CONTROLLER,
    SourceForm.APPLICATION: argocd_names.FIELD_MANAGER,
}


def manager(component: Component) -> str:
    """Who owns most of a component in the end."""
    if component.owner != Owner.GITOPS:
        return FIRSTLIGHT
    for origin in cluster_facts.origins(component, Side.GITOPS):
        # What nothing in Git brings is nobody's there.
        if origin.form in _BY_FORM and (origin.parent or origin.form != SourceForm.FLUX_INSTANCE):
            return _BY_FORM[origin.form]
    return FIRSTLIGHT


class FinalOwners:
    """Who owns what Git brings to a cluster."""

    def __init__(self, platform: Platform, cluster: str, renditions: Iterable[Rendition]) -> None:
        components = {each.name: each for each in platform.components_of(cluster)}
        mine = [each for each in renditions if each.cluster == cluster]
        self._owners: dict[ObjectId, str] = {}
        self._objects: dict[ObjectId, Object] = {}
        # Children first: a Kustomization is said to apply what its HelmReleases make of it only by their declaration.
        for each in sorted(mine, key=lambda one: one.side != Side.GITOPS):
            component = components.get(each.component)
            if component is None:
                continue
            for obj in each.objects:
                self._objects.setdefault(obj.id, obj)
                if each.side == Side.GITOPS:
                    self._owners.setdefault(obj.id, manager(component))

    def of(self, identity: ObjectId) -> str:
        """Who owns an object in the end: firstlight, unless Git brings it."""
        return self._owners.get(identity, FIRSTLIGHT)

    def is_in_git(self, identity: ObjectId) -> bool:
        """Whether the engine brings an object by itself."""
        return identity in self._owners

    def find(self, identity: ObjectId) -> Object | None:
        """An object as Git has it, or else as bootstrap has it."""
        return self._objects.get(identity)

    def others(self, objects: Iterable[Object], component: Component) -> Mapping[ObjectId, str]:
        """The objects of a component that somebody else owns than most of it."""
        usual = manager(component)
        if component.owner != Owner.GITOPS:
            return {}
        return {each.id: owner for each in objects if (owner := self.of(each.id)) != usual}


# What passes from bootstrap to the engine: everything that bootstrap brings and Git has, with its owner in the end.


_LEFT = {
    flux_names.RECONCILE_ANNOTATION: {"disabled"},
    flux_names.SSA_ANNOTATION: {"ignore", "ifnotpresent"},
}
"""With these, as labels or annotations, Flux leaves an object alone that is there; it compares values in any case."""
PARTIES = {
    SourceForm.HELM_RELEASE: Party.FLUX,
    SourceForm.KUSTOMIZATION: Party.FLUX,
    SourceForm.FLUX_COMPONENTS: Party.FLUX,
    SourceForm.FLUX_INSTANCE: Party.FLUX,
    SourceForm.APPLICATION: Party.ARGOCD,
}
"""Of which engine each form of owner is."""


def passing_objects(known: ClusterFacts, made: Iterable[ObjectId]) -> tuple[Passing, ...]:
    """What the engine is to own of what bootstrap brings, without hooks of Helm and what Flux is told to leave alone.

    Args:
        known: The facts of the cluster, with what was rendered.
        made: What bootstrap brings, whoever applies it.
    """
    wanted = set(made)
    found: dict[ObjectId, Passing] = {}
    for component in known.components:
        origin = passing_owner(component)
        if origin is None:
            continue
        for each in known.objects(component, Side.GITOPS):
            if each.id in wanted and each.id not in found and not _is_left(each):
                found[each.id] = Passing(
                    object=each, component=component.name, manager=manager(component),
                    owner=ObjectOwner(PARTIES[origin.form], owner_name(origin)),
                )  # fmt: skip
    return tuple(found[each] for each in sorted(found))


def _is_left(obj: Object) -> bool:
    annotations, labels = mapping(obj.value, "metadata", "annotations"), mapping(obj.value, "metadata", "labels")
    return claims.is_hook(obj.value) or any(
        str(marks.get(name) or "").lower() in values
        for name, values in _LEFT.items()
        for marks in (annotations, labels)
    )


def passing_owner(component: Component) -> Origin | None:
    """What of the engine owns a component in the end; None where bootstrap keeps it, or Git does not bring it."""
    if component.owner != Owner.GITOPS or manager(component) == FIRSTLIGHT:
        return None
    return next((each for each in cluster_facts.origins(component, Side.GITOPS) if each.form in PARTIES), None)


def owner_name(origin: Origin) -> str:
    """The name of an owner as its marks on objects tell it: ``Kustomization flux-system/apps``, ``Application web``."""
    if origin.form == SourceForm.APPLICATION:
        return f"Application {origin.name}"
    kind, name, namespace = origin.form.value, origin.name, origin.namespace
    if origin.form in (SourceForm.FLUX_COMPONENTS, SourceForm.FLUX_INSTANCE) and origin.maker:
        metadata = mapping(origin.maker, "metadata")
        kind, name = flux_names.KUSTOMIZATION, str(metadata.get("name") or name)
        namespace = str(metadata.get("namespace") or namespace)
    return f"{kind} {namespace}/{name}"

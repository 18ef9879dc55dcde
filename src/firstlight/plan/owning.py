"""Who owns an object in the end: the field manager as which it is applied from the start."""

from collections.abc import Iterable, Mapping

from firstlight.model.component import Component, Form, ObjectId, Owner, Side
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.plan import facts

FIRSTLIGHT = "firstlight"
KUSTOMIZE = "kustomize-controller"
HELM = "helm-controller"
ARGOCD = "argocd-controller"
OPERATOR = "flux-operator"
REPOSITORY = "firstlight-repository"
"""Makes a Secret the credentials of a repository: another one than who made the Secret, whose fields it would drop."""
_BY_FORM = {
    Form.HELM_RELEASE: HELM,
    Form.KUSTOMIZATION: KUSTOMIZE,
    Form.FLUX_COMPONENTS: KUSTOMIZE,
    Form.FLUX_INSTANCE: KUSTOMIZE,
    Form.APPLICATION: ARGOCD,
}


def manager(component: Component) -> str:
    """Who owns most of a component in the end."""
    if component.owner != Owner.GITOPS:
        return FIRSTLIGHT
    for origin in facts.origins(component, Side.GITOPS):
        # What nothing in Git brings is nobody's there.
        if origin.form in _BY_FORM and (origin.parent or origin.form != Form.FLUX_INSTANCE):
            return _BY_FORM[origin.form]
    return FIRSTLIGHT


class Owners:
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

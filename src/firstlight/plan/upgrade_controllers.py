"""Controllers that upgrade the machines of their cluster themselves: tuppr, and Plans that run talosctl."""

import dataclasses
from collections.abc import Iterator

from firstlight.document.within import at, mapping, text
from firstlight.model.component import Side, Stated
from firstlight.model.platform import Platform
from firstlight.model.upgrade_plan import UpgradeProduct

TUPPR = "tuppr.home-operations.com"
SUSPEND = f"{TUPPR}/suspend"
"""The annotation with which tuppr leaves an upgrade alone."""
_PLANS = "upgrade.cattle.io"
_WANTED = {
    "TalosUpgrade": (UpgradeProduct.TALOS, ("spec", "talos", "version")),
    "KubernetesUpgrade": (UpgradeProduct.KUBERNETES, ("spec", "kubernetes", "version")),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class UpgradeController:
    """An object that tells a controller which version the machines are to have."""

    stated: Stated
    product: UpgradeProduct
    field: str
    """Where the version stands."""
    version: str

    @property
    def is_tuppr(self) -> bool:
        """Whether it is tuppr's."""
        return self.stated.id.group == TUPPR


def find(platform: Platform, cluster: str) -> Iterator[UpgradeController]:
    """Yield those that GitOps brings to a cluster, and that are not suspended."""
    for component in platform.components_of(cluster):
        for origin in component.origins:
            if origin.side is Side.GITOPS and not origin.suspended:
                for stated in origin.stated:
                    yield from _read(stated)


def _read(stated: Stated) -> Iterator[UpgradeController]:
    identity = stated.id
    if identity.group == TUPPR and identity.kind in _WANTED:
        product, steps = _WANTED[identity.kind]
        if SUSPEND not in mapping(stated.value, "metadata", "annotations"):
            version = text(stated.value, *steps)
            yield UpgradeController(stated=stated, product=product, field=".".join(steps), version=version)
    elif (identity.group, identity.kind) == (_PLANS, "Plan"):
        spec = at(stated.value, "spec")
        said = f"{text(spec, 'upgrade', 'image')} {at(spec, 'upgrade', 'args')} {at(spec, 'upgrade', 'command')}"
        if "talosctl" in said:
            product = UpgradeProduct.KUBERNETES if "upgrade-k8s" in said else UpgradeProduct.TALOS
            version = text(spec, "version")
            yield UpgradeController(stated=stated, product=product, field="spec.version", version=version)

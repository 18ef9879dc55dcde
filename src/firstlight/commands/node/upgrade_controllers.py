"""Upgrades that a controller of the cluster does by itself, so that nobody else should at the same time."""

from collections.abc import Iterator

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.platform import Platform
from firstlight.model.upgrade_plan import UpgradeProduct
from firstlight.plan import upgrade_controllers


def refusals(platform: Platform, cluster: str, product: UpgradeProduct) -> Iterator[Diagnostic]:
    """Refuse what a controller of the cluster does by itself, as Git tells it."""
    for each in upgrade_controllers.find(platform, cluster):
        if each.product is not product:
            continue
        wants = f"wants {each.version} and " if each.version else ""
        aside = f"annotate it with {upgrade_controllers.SUSPEND}" if each.is_tuppr else "remove it"
        yield Diagnostic.error(
            "upgrade-by-controller",
            f"{each.stated.id} {wants}upgrades the same machines by itself",
            at=each.stated.place,
            fix=f"Change {each.field} in Git and let the controller do it. To do it yourself, {aside} in Git first.",
        )

"""Whether bootstrap can keep the release of a HelmRelease: Helm must find the release that helm-controller has made."""

from firstlight import errors
from firstlight.document.within import mapping
from firstlight.model.component import Component, Origin, Phase
from firstlight.model.move import Wish
from firstlight.model.source import Chart
from firstlight.plan import facts

_HANDED = "Without --owner bootstrap it is brought by bootstrap and handed over, from the same files."


def check(component: Component, origin: Origin, wish: Wish) -> None:
    """See that Helm can go on with a release where helm-controller leaves off.

    Args:
        component: What is to be kept.
        origin: Its HelmRelease.
        wish: What was asked for.

    Raises:
        errors.Refused: It cannot.
    """
    chart, name = origin.source, component.name
    if mapping(origin.definition, "spec", "kubeConfig"):
        raise errors.Refused(
            f"{name} is a HelmRelease for another cluster (kubeConfig), which bootstrap does not reach"
        )
    if not isinstance(chart, Chart):
        raise errors.Refused(
            f"the chart of {name} is not found, so that nobody but helm-controller can install it",
            hint=f"See: firstlight inventory --component {name}",
        )
    if chart.storage_namespace not in ("", chart.namespace):
        raise errors.Refused(
            f"helm-controller keeps the history of {name} in {chart.storage_namespace}, and its objects are in "
            f"{chart.namespace}: Helm would not find the release, and install another one over it",
            hint=_HANDED,
        )
    phase = component.phase if facts.in_bootstrap(component) else wish.phase
    if phase is Phase.INLINE:
        raise errors.Refused(
            f"Talos applies what is inline, and keeps no Helm release of it: {name} would be left with one that nobody "
            "upgrades",
            hint="--phase core keeps the release. " + _HANDED,
        )

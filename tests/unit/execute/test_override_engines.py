"""How engines' objects rest for an override."""

from typing import Any

import pytest

from firstlight.execute.overrides import held_engines
from firstlight.model import argocd_names, flux_names
from firstlight.model.override import Emergency, Override, OverrideStanding, SuspendedOwner

OPEN = Override(
    id="o-1", cluster="lab", emergency=Emergency.OUTAGE, reason="down", who="ann", begun=0.0, until=7200.0,
    standing=OverrideStanding.OPEN, scope=(),
)  # fmt: skip
ABOVE = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}


def made(kind: str, *, labels: dict[str, str] | None = None, **spec: Any) -> tuple[SuspendedOwner, dict[str, Any]]:
    held = SuspendedOwner(kind=kind, namespace="shop", name="web", uid="1", why="owns it")
    metadata = {"name": "web", "namespace": "shop", "uid": "1", "labels": labels or {}}
    return held, {"apiVersion": held_engines.API[kind], "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("kind", held_engines.API)
def test_all_rest_with_a_reason_and_an_end(kind: str) -> None:
    held, live = made(kind)
    assert not held_engines.is_resting(held, live)
    resting = held_engines.resting(held, live, OPEN, is_shielded=True)
    assert held_engines.is_resting(held, resting)
    notes = resting["metadata"]["annotations"]
    assert notes["firstlight.dev/reason"] == "down"
    assert notes["firstlight.dev/override-until"] == "1970-01-01T02:00:00Z"


def test_only_what_a_kustomization_applies_is_shielded_from_it() -> None:
    held, live = made("HelmRelease", labels=ABOVE)
    assert (
        held_engines.resting(held, live, OPEN, is_shielded=True)["metadata"]["annotations"][
            flux_names.RECONCILE_ANNOTATION
        ]
        == "disabled"
    )
    assert (
        flux_names.RECONCILE_ANNOTATION
        not in held_engines.resting(held, live, OPEN, is_shielded=False)["metadata"]["annotations"]
    )
    held, live = made("Application")
    assert (
        flux_names.RECONCILE_ANNOTATION
        not in held_engines.resting(held, live, OPEN, is_shielded=True)["metadata"]["annotations"]
    )


def test_a_set_keeps_what_it_has_kept_before() -> None:
    held, live = made("ApplicationSet", preservedFields={"annotations": ["example.org/kept"]})
    kept = held_engines.resting(held, live, OPEN, is_shielded=True)["spec"]["preservedFields"]["annotations"]
    assert kept[0] == "example.org/kept"
    assert argocd_names.SKIP_RECONCILE_ANNOTATION in kept

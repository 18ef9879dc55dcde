"""What keeps engines from pruning: as Flux and Argo CD read it from live objects."""

import pytest

from firstlight.engines import engine_directives
from firstlight.engines.adapter import Guard
from firstlight.model.cluster import Engine

FLUX, ARGOCD = engine_directives.prune_guard(Engine.FLUX), engine_directives.prune_guard(Engine.ARGOCD)


@pytest.mark.parametrize(
    ("guard", "written", "holds"),
    [
        (FLUX, "", False),
        (FLUX, "disabled", True),
        (FLUX, "Disabled", True),
        (FLUX, "enabled", False),
        (ARGOCD, "", False),
        (ARGOCD, "Prune=false", True),
        (ARGOCD, "ServerSideApply=true, Prune=false", True),
        (ARGOCD, "ServerSideApply=true", False),
        (ARGOCD, "PruneLast=true", False),
        (ARGOCD, "Prune=confirm", False),
        (ARGOCD, "Prune=false,Prune=confirm", True),
        (ARGOCD, "Prune=confirm,Prune=false", False),
        (ARGOCD, "prune=false", False),
    ],
)  # fmt: skip
def test_what_holds(guard: Guard, written: str, holds: bool) -> None:
    obj = {"metadata": {"annotations": {guard.name: written}}} if written else {"metadata": {}}

    assert guard.holds(obj) is holds
    assert guard.is_barred(obj) is (bool(written) and not holds)


def test_what_git_would_have_to_say() -> None:
    """Of options that say something of pruning the first one counts, so the guard comes first."""
    obj = {"metadata": {"annotations": {ARGOCD.name: "Prune=confirm,ServerSideApply=true"}}}
    said = ARGOCD.joined(obj)

    assert said == "Prune=false,Prune=confirm,ServerSideApply=true"
    assert ARGOCD.holds({"metadata": {"annotations": {ARGOCD.name: said}}})
    assert FLUX.joined({"metadata": {"annotations": {FLUX.name: "enabled"}}}) == "disabled"

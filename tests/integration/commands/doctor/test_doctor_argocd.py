"""Failures between Git and a cluster that Argo CD serves, made with the real Argo CD and named."""

import pytest

from tests.argocd import ArgoCD
from tests.doctor.failure import cells, named, through
from tests.doctor.of_argocd import ARGOCD, Ground


@pytest.mark.parametrize("failure", cells(ARGOCD))
async def test_it_is_named(failure: str, argocd: ArgoCD, site: str) -> None:
    one = ARGOCD.failures[failure]
    async with one.make(Ground(argocd, site)) as expected:
        await named(one, expected, through(argocd.kube))

"""Failures between Git and a cluster that Flux serves, made with the real Flux and named."""

import pytest

from tests.doctor.failure import cells, named, through
from tests.doctor.of_engine import ENGINE
from tests.doctor.of_flux import FLUX, Ground
from tests.flux import Flux

FAILURES = {**FLUX.failures, **ENGINE.failures}


@pytest.mark.parametrize("failure", [*cells(FLUX), *cells(ENGINE)])
async def test_it_is_named(failure: str, flux: Flux, space: str) -> None:
    one = FAILURES[failure]
    async with one.make(Ground(flux, space)) as expected:
        await named(one, expected, through(flux.kube))

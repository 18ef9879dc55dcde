"""All failures of the doctor's list, by the lab that they are made on."""

from typing import Any

from tests.doctor.failure import Registry
from tests.doctor.of_argocd import ARGOCD
from tests.doctor.of_engine import ENGINE
from tests.doctor.of_flux import FLUX
from tests.doctor.of_machines import BARE, CLUSTER
from tests.doctor.of_objects import OBJECTS
from tests.doctor.of_webhooks import WEBHOOKS
from tests.doctor.of_workloads import WORKLOADS

REGISTRIES: tuple[Registry[Any], ...] = (BARE, CLUSTER, OBJECTS, WEBHOOKS, WORKLOADS, FLUX, ENGINE, ARGOCD)

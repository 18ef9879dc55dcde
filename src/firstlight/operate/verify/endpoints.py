"""The API by each control plane's own address: behind a virtual one, a broken server hides."""

import asyncio
import dataclasses
import urllib.parse
from collections.abc import Mapping, Sequence

from firstlight import errors
from firstlight.clients import kube
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict
from firstlight.model.verification import Check

_POLICY = kube.Policy(deadline=8, attempt=5, connect=3, first_contact=1)
_PORT = 6443


async def check(client: kube.Client, machines: Sequence[Machine], *, reach: Mapping[str, str] | None = None) -> Check:
    """``/readyz`` of the endpoint, and of every control plane that can be reached from here.

    Args:
        client: The cluster, by its endpoint.
        machines: As declared.
        reach: Where a machine's API really is, by its declared address, where it is not there.
    """
    planes = [each for each in machines if each.role == MachineRole.CONTROL_PLANE and each.address]
    endpoint, *each = await asyncio.gather(
        _ready(client.config),
        *(_ready(_at(client.config, (reach or {}).get(one.address, one.address))) for one in planes),
    )
    names = [one.name for one in planes]
    return Check(name="API endpoints", verdict=together(endpoint, dict(zip(names, each, strict=True))))


def together(endpoint: Verdict, machines: Mapping[str, Verdict]) -> Verdict:
    """One verdict for the endpoint and the machines behind it."""
    if not isinstance(endpoint, Passed):
        return Failed(f"the endpoint: {endpoint.reason}")
    if bad := [f"{name}: {each.reason}" for name, each in machines.items() if isinstance(each, Failed)]:
        return Failed("; ".join(bad))
    ready = [name for name, each in machines.items() if isinstance(each, Passed)]
    unseen = [name for name, each in machines.items() if isinstance(each, Skipped)]
    said = ["the endpoint is ready"]
    if ready:
        said.append(f"{', '.join(ready)} by {'its' if len(ready) == 1 else 'their'} own address")
    if unseen:
        said.append(f"not reached from here: {', '.join(unseen)}")
    return Passed("; ".join(said))


async def _ready(config: kube.Config) -> Verdict:
    try:
        async with kube.Client(config, policy=_POLICY) as client:
            ready = await client.ready()
    except (errors.Unreachable, errors.TimedOut) as error:
        return Skipped(error.message)
    except errors.FirstlightError as error:
        return Failed(error.message)
    return Passed() if ready.is_ready else Failed(f"not ready ({', '.join(ready.failed) or 'no reason given'})")


def _at(config: kube.Config, address: str) -> kube.Config:
    """The same server by another address; it must show a certificate for its own name all the same."""
    given = urllib.parse.urlsplit(config.server)
    host, _, port = address.rpartition(":") if address.count(":") == 1 else (address, "", "")
    place = f"[{host}]" if ":" in host else host
    return dataclasses.replace(
        config,
        server=f"https://{place}:{port or given.port or _PORT}",
        server_name=config.server_name or given.hostname or "",
    )

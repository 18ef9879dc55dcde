"""From where a needed thing comes, and whether bootstrap has it: the chain of supplies behind a demand."""

import dataclasses
import enum

from firstlight.model.component import Side
from firstlight.plan import hosts
from firstlight.plan.supplies import Index
from firstlight.plan.things import ANY, Demand, Sort, Supply, Thing


class Standing(enum.Enum):
    """Who brings a thing."""

    BOOTSTRAP = "bootstrap"
    GITOPS = "gitops"
    NOWHERE = "nowhere"


@dataclasses.dataclass(frozen=True, slots=True)
class Provision:
    """How a thing comes to be there."""

    standing: Standing
    chain: tuple[Supply, ...] = ()
    """The supply itself, and then what that one requires."""


def find(demand: Demand, index: Index, *, cluster_domain: str = "cluster.local") -> Provision:
    """The best way to a thing: bootstrap's if there is one, of the component itself before others."""
    thing = demand.thing
    if thing.sort == Sort.HOST and (service := hosts.service(thing.name, cluster_domain)):
        namespace, name = service
        thing = Thing(Sort.SERVICE, name, namespace)
    return _find(thing, index, demand)


def _find(thing: Thing, index: Index, demand: Demand) -> Provision:
    own = (demand.component, demand.side)
    ranked = sorted(_candidates(thing, index), key=lambda each: (each.component, each.side) != own)
    best = Provision(Standing.NOWHERE)
    for supply in ranked:
        found = _through(supply, index, demand)
        if found.standing == Standing.BOOTSTRAP:
            return found
        if best.standing == Standing.NOWHERE:
            best = found
    return best


def _through(supply: Supply, index: Index, demand: Demand) -> Provision:
    """One supply, as late as the latest thing that it requires: a Secret its store, a store its operator."""
    chain = [supply]
    standing = Standing.BOOTSTRAP if supply.side == Side.BOOTSTRAP else Standing.GITOPS
    if demand.by_rendering and supply.in_git:
        return Provision(Standing.BOOTSTRAP, (supply,))
    for required in supply.requires:
        deeper = _find(required, index, demand)
        chain += deeper.chain
        if deeper.standing == Standing.GITOPS:
            standing = Standing.GITOPS
    return Provision(standing, tuple(dict.fromkeys(chain)))


def _candidates(thing: Thing, index: Index) -> tuple[Supply, ...]:
    found = index.get(thing, ())
    if thing.sort == Sort.KIND:
        group = thing.name.rpartition("/")[0]
        return (*found, *index.get(Thing(Sort.KIND, f"{group}/{ANY}"), ()))
    if thing.sort == Sort.STORAGE_CLASS and not found:
        return index.get(Thing(Sort.STORAGE_CLASS, ANY), ())
    return found

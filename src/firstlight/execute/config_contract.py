"""For which version of Talos the configs of a cluster are generated: never for a newer one than before, unasked.

``talosctl gen config --talos-version`` is a contract: everything after 1.13 is generated as documents, with other
defaults (workload isolation, an encryption of Secrets without a fallback). A cluster that was born before keeps its own
unless firstlight.yaml says otherwise. Secrets bundles do not say for which version they were made, so the machines do.
"""

import asyncio
import dataclasses
from collections.abc import Iterable, Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_access, gate_wait, machine_configs
from firstlight.execute.world import World
from firstlight.model import talos_documents, versions
from firstlight.model.cluster import Machine
from firstlight.model.machine_config import MachineDraft
from firstlight.model.secret import Secret
from firstlight.observe.machine_survey import MachineAccess

OLD, NEW = "v1.13", "v1.14"
"""The last contract with fields of the v1alpha1 document, and the first one with documents."""
_MARK = "KubeClusterConfig"
"""The document with the cluster's name and endpoint, which every config generated for 1.14 has, and no earlier one."""


def is_open(draft: MachineDraft) -> bool:
    """Whether only a cluster's machines can tell the contract: none is declared, and its Talos may have another."""
    line = versions.minor(draft.talos)
    is_old = line is not None and line < talos_documents.FIRST
    return draft.whole is None and not draft.contract and not is_old


def settled(draft: MachineDraft, running: Iterable[Secret]) -> MachineDraft:
    """A draft with the contract that configs of its cluster's machines tell; unchanged where one is declared.

    Args:
        draft: What a machine is to be.
        running: Configs of machines of the same cluster; without any it is a new cluster.
    """
    if not is_open(draft):
        return draft
    marks = {
        any(each.get("kind") == _MARK for each in machine_configs.documents(config)) for config in running
    }  # fmt: skip
    if not marks:
        return draft
    return dataclasses.replace(draft, contract=NEW if marks == {True} else OLD)


async def settled_by(
    drafts: Sequence[MachineDraft], machines: Sequence[Machine], way: MachineAccess
) -> tuple[MachineDraft, ...]:
    """The same for several drafts, by what machines have that are the cluster's already.

    Raises:
        talosctl.TalosError: A machine does not answer.
    """
    if not any(map(is_open, drafts)):
        return tuple(drafts)
    running = await asyncio.gather(*(way.admin.machine_config(way.at(each)) for each in machines))
    return tuple(settled(each, running) for each in drafts)


async def settled_here(draft: MachineDraft, world: World) -> MachineDraft:
    """The same for a machine of a cluster that is there, by those of its control planes that answer.

    Raises:
        errors.Refused: No control plane does.
    """
    way = await cluster_access.ensure(world)
    planes = [each for each in gate_wait.control_planes(world) if each.name != draft.machine.name]
    if not is_open(draft) or not planes:
        return draft
    why = ""
    for each in planes:
        try:
            return settled(draft, [await way.admin.machine_config(way.at(each))])
        except talosctl.TalosError as error:
            why = f"{each.name}: {error.detail}"
    raise errors.Refused(
        f"no control plane says for which version of Talos its config was generated ({why})",
        hint=f"Set clusters.{draft.cluster}.talosContract: {OLD} in firstlight.yaml.",
    )

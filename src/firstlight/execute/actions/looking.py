"""Which action a task is for."""

from typing import assert_never

from firstlight import errors
from firstlight.execute.actions import (
    apply,
    baseline,
    certificate,
    configure,
    etcd,
    install,
    kubeconfig,
    omni_template,
    owners,
    release,
    secret,
    talos_applies,
)
from firstlight.execute.change import Change
from firstlight.execute.world import World
from firstlight.model import work


async def look(task: work.Task, world: World, step: str) -> Change | None:
    """What a step has to write, found by reading alone; nothing where the world is as it must be.

    Raises:
        errors.FirstlightError: It cannot be found out, or must not be done.
    """
    match task:
        case work.Configure():
            return await configure.look(task, world, step)
        case work.SyncTemplate():
            return await omni_template.look(task, world, step)
        case work.BootstrapEtcd():
            return await etcd.look(task, world, step)
        case work.FetchKubeconfig():
            return await kubeconfig.look(task, world, step)
        case work.TalosApplies():
            return await talos_applies.look(task, world, step)
        case work.Apply():
            return await apply.look(task, world, step)
        case work.Install():
            return await install.look(task, world, step)
        case work.CreateSecret():
            return await secret.look(task, world, step)
        case work.SaveBaseline():
            return await baseline.look(task, world, step)
        case work.MigrateOwners():
            return await owners.look(task, world, step)
        case work.Release():
            return await release.look(task, world, step)
        case work.Certify():
            return await certificate.look(task, world, step)
        case work.Watch() | work.Leave():
            return None
        case work.Refuse():
            raise errors.Refused(task.why, hint=task.hint)
        case _:
            assert_never(task)

"""Which action a task is for."""

from typing import assert_never

from firstlight import errors
from firstlight.execute.actions import (
    bootstrap_etcd,
    certify,
    configure,
    create_secret,
    install,
    kubeconfig,
    migrate_owners,
    omni_template,
    talos_applies,
    talos_release,
)
from firstlight.execute.repo_commands import CommandEnd, RepoCommands
from firstlight.execute.world import PendingChange, World
from firstlight.model import work
from firstlight.model.own_gates import Hook
from firstlight.model.repo_command import shown


async def look(task: work.Task, world: World, step: str) -> PendingChange | None:
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
            return await bootstrap_etcd.look(task, world, step)
        case work.FetchKubeconfig():
            return await kubeconfig.look(task, world, step)
        case work.TalosApplies():
            return await talos_applies.look(task, world, step)
        case work.Apply():
            return await install.look_apply(task, world, step)
        case work.Install():
            return await install.look_install(task, world, step)
        case work.CreateSecret():
            return await create_secret.look(task, world, step)
        case work.SaveBaseline():
            return await certify.look_baseline(task, world, step)
        case work.MigrateOwners():
            return await migrate_owners.look(task, world, step)
        case work.ReleaseFromTalos():
            return await talos_release.look(task, world, step)
        case work.Certify():
            return await certify.look_certificate(task, world, step)
        case work.Watch() | work.Leave():
            return None
        case work.Refuse():
            raise errors.Refused(task.why, hint=task.hint)
        case _:
            assert_never(task)


# Hooks of components as changes: looked at by asking whether there is anything to do, performed by running them.


def hook_wish(hook: Hook) -> str:
    """What a dry run says of a hook: nothing of a repo runs in it."""
    return f"then the hook: {shown(hook.run)}, unless {shown(hook.unless)}"


async def look_hook(hook: Hook, world: World, step: str) -> PendingChange | None:
    """The hook as something to write; None where ``unless`` says that there is nothing to do.

    Raises:
        errors.Refused: One of its commands was not allowed.
        errors.ClientError: It cannot be asked whether there is anything to do.
    """
    commands = world.commands
    if commands is None:
        raise errors.Refused(f"commands of a repo are not run here: {shown(hook.run)}")
    if (await _asked(hook, commands)).code == 0:
        return None
    await commands.require(hook.run)

    async def perform() -> None:
        ended = await commands.run(hook.run, timeout=hook.timeout, on_line=lambda text: world.tell(step, text))
        if ended.code != 0:
            raise _failed(hook, f"the hook {shown(hook.run)} exited with {ended.code}: {_said(ended)}")
        after = await _asked(hook, commands)
        if after.code != 0:
            message = f"the hook {shown(hook.run)} ran, and {shown(hook.unless)} still says no: {_said(after)}"
            raise _failed(hook, message)

    return PendingChange(writes=(f"run {shown(hook.run)}",), perform=perform)


async def _asked(hook: Hook, commands: RepoCommands) -> CommandEnd:
    return await commands.run(hook.unless, timeout=hook.timeout)


def _said(ended: CommandEnd) -> str:
    return ended.said or "it printed nothing"


def _failed(hook: Hook, message: str) -> errors.ClientError:
    return errors.ClientError(message, target=hook.run[0], hint=f"The hook is declared at {hook.place}.")

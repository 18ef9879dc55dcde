"""Hooks of components as changes: looked at by asking whether there is anything to do, performed by running them."""

from firstlight import errors
from firstlight.execute.change import Change
from firstlight.execute.commands import Commands, Ended
from firstlight.execute.world import World
from firstlight.model.hook import Hook
from firstlight.model.repo_command import shown


def wish(hook: Hook) -> str:
    """What a dry run says of a hook: nothing of a repo runs in it."""
    return f"then the hook: {shown(hook.run)}, unless {shown(hook.unless)}"


async def look(hook: Hook, world: World, step: str) -> Change | None:
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

    return Change(writes=(f"run {shown(hook.run)}",), perform=perform)


async def _asked(hook: Hook, commands: Commands) -> Ended:
    return await commands.run(hook.unless, timeout=hook.timeout)


def _said(ended: Ended) -> str:
    return ended.said or "it printed nothing"


def _failed(hook: Hook, message: str) -> errors.ClientError:
    return errors.ClientError(message, target=hook.run[0], hint=f"The hook is declared at {hook.place}.")

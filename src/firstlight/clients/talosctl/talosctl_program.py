"""Running talosctl: the one place where its command line is made, its files are handed over and its failures read.

The program gets a home and a working directory of its own, which are empty, and nothing of the caller's environment
but the proxy: no ~/.talos/config, no TALOSCONFIG, no stray file changes what it does. Secrets go in by memory files.
Values are always part of their option (``--nodes=…``), and what follows ``--`` is never an option.
"""

import asyncio
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, program_io, scratch
from firstlight.clients.program_io import SecretArgument
from firstlight.clients.sandbox import program_limits
from firstlight.clients.talosctl import talos_errors, talosctl_output
from firstlight.clients.talosctl.machine_target import MachineTarget
from firstlight.model.secret import Secret

READ = 30.0
"""Seconds for a question: a machine that is off is given up after 20 by talosctl."""
WRITE = 60.0
OFFLINE = 30.0
GRACE = 15.0
"""Seconds that talosctl has to say that something took too long, before it is killed for it."""

Listener = Callable[[str], None]

_INHERITED = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")
_PROBES = 6
"""How often a machine that cuts connections is asked why; each answer is a toss of a coin."""


@dataclasses.dataclass(frozen=True)
class TalosctlAnswer(program_io.ProgramAnswer):
    """What talosctl printed."""

    unmasked: Secret
    """Standard error as it was, for the part of it that is wanted and a secret: the diff of a config."""


class TalosctlProgram:
    """talosctl at a path, with what it shows to machines."""

    def __init__(
        self,
        program: Path,
        *,
        talosconfig: Secret | None = None,
        insecure: bool = False,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Prepare to run it.

        Args:
            program: Where it is.
            talosconfig: The client's certificate and the cluster's authority; not needed for what is done offline.
            insecure: Talk to machines in maintenance mode, which have no authority yet.
            environ: Where the proxy is read from.
        """
        if talosconfig is not None and insecure:
            raise ValueError("a machine in maintenance mode knows no talosconfig")
        self._program = program.absolute()
        self._talosconfig = talosconfig
        self._insecure = insecure
        self._environ = {name: environ[name] for name in _INHERITED if name in environ}

    async def _ask(
        self,
        words: Sequence[str],
        target: MachineTarget,
        *,
        about: str = "",
        options: Sequence[str | SecretArgument] = (),
        operands: Sequence[str] = (),
        timeout: float,
        several: bool = False,
        in_maintenance: bool = False,
        on_line: Listener | None = None,
        stays: bool = False,
    ) -> TalosctlAnswer:
        """Run a command that talks to machines, to its good end.

        Args:
            words: The command, such as ``etcd members``.
            target: Which machines.
            about: What the command is about, for messages.
            options: Its options.
            operands: What follows them.
            timeout: Seconds after which it is killed.
            several: Whether it can be asked of several machines at once.
            in_maintenance: Whether the command can be sent to a machine in maintenance mode.
            on_line: Called with each line of progress.
            stays: Whether it may take minutes; then it dies with this process.

        Raises:
            talos_errors.TalosError: It failed, or some machine said no.
        """
        if not several:
            _ = target.node
        call = self._call(words, target, about=about)
        connection = self._connection(call, target, in_maintenance=in_maintenance)
        arguments = [*options, *connection, *_operands(operands)]
        done = await self._run(call, arguments, timeout=timeout, on_line=on_line, stays=stays)
        # talosctl ends well if one of several machines said yes; half an answer would pass for a whole one.
        if done.code == 0 and not talos_errors.is_partial(done.stderr):
            return done
        error = await self._explained(talos_errors.from_output(call, done.stderr), target)
        error.stdout = Secret(done.stdout)
        raise error

    async def _offline(
        self,
        words: Sequence[str],
        *,
        options: Sequence[str | SecretArgument] = (),
        operands: Sequence[str | SecretArgument] = (),
        check: bool = True,
        timeout: float = OFFLINE,
    ) -> TalosctlAnswer:
        """Run a command that talks to nobody.

        Raises:
            talos_errors.Rejected: What it was given is wrong, and ``check`` is set.
            talos_errors.TalosError: It could not do its work.
        """
        call = talos_errors.TalosctlCall(tuple(words))
        done = await self._run(call, [*options, *_operands(operands)], timeout=timeout, within=program_limits.READER)
        if done.code == 0:
            return done
        if done.code != 1:
            first = done.stderr.strip().split("\n")[0]
            raise talos_errors.TalosError(call, detail=f"it ended with {done.code}: {first}", stderr=done.stderr)
        error = talos_errors.from_output(call, done.stderr)
        if check or not isinstance(error, talos_errors.TalosRejected):
            raise error
        return done

    def _call(self, words: Sequence[str], target: MachineTarget, *, about: str = "") -> talos_errors.TalosctlCall:
        return talos_errors.TalosctlCall(tuple(words), about, target.nodes, self._insecure)

    def _connection(
        self, call: talos_errors.TalosctlCall, target: MachineTarget, *, in_maintenance: bool
    ) -> list[str | SecretArgument]:
        if self._insecure:
            if not in_maintenance:
                raise errors.UsageError(
                    f"talosctl {' '.join(call.words)} does not work on a machine in maintenance mode",
                    hint="apply a config first, then use the talosconfig of the cluster",
                )
            return ["--insecure", f"--nodes={target.node}"]
        if self._talosconfig is None:
            raise errors.UsageError(f"talosctl {call.command} needs a talosconfig")
        connection: list[str | SecretArgument] = [
            SecretArgument("--talosconfig=", self._talosconfig, "the talosconfig")
        ]
        if target.endpoints:
            connection.append(f"--endpoints={','.join(target.endpoints)}")
        connection.append(f"--nodes={','.join(target.nodes)}")
        return connection

    async def _run(
        self,
        call: talos_errors.TalosctlCall,
        arguments: Sequence[str | SecretArgument],
        *,
        timeout: float,
        on_line: Listener | None = None,
        stays: bool = False,
        within: program_limits.ProgramLimits = program_limits.CLIENT,
    ) -> TalosctlAnswer:
        """Run it and mask what it says; whatever it ends with."""
        given = [argument.content for argument in arguments if isinstance(argument, SecretArgument)]
        with (
            scratch.directory("talosctl") as home,
            program_io.secret_arguments() as fed,
        ):

            def masked(text: str) -> str:
                return talosctl_output.masked_output(fed.told(text), given=given)

            def tell(line: str) -> None:
                assert on_line is not None
                on_line(masked(line))

            try:
                done = await command.run(
                    [str(self._program), *call.words, *fed.argv(arguments)],
                    timeout=timeout,
                    env={**self._environ, "HOME": str(home)},
                    cwd=Path(home),
                    pass_fds=fed.fds,
                    check=False,
                    on_stderr=tell if on_line is not None else None,
                    dies_with_parent=stays,
                    within=within,
                )
            except errors.TimedOut as error:
                raise talos_errors.TalosTimedOut(call, detail=f"it did not finish within {timeout:g} s") from error
            except errors.Unreachable as error:
                raise errors.ToolError(str(error), hint="firstlight tools install talosctl") from error
            return TalosctlAnswer(done.code, done.stdout, masked(done.stderr), Secret(done.stderr))

    async def _explained(self, error: talos_errors.TalosError, target: MachineTarget) -> talos_errors.TalosError:
        """The error, or the reason behind it where a machine closed the connection without one.

        A machine that refuses a certificate says so and hangs up, and often the second is seen first. ``version``
        changes nothing, so it is asked until the reason comes through.
        """
        if not isinstance(error, talos_errors.TalosUnreachable) or not error.was_cut:
            return error
        probe = self._call(["version"], target)
        arguments = ["--json", *self._connection(probe, target, in_maintenance=True)]
        for attempt in range(_PROBES):
            await asyncio.sleep(0.02 * attempt)
            try:
                done = await self._run(probe, arguments, timeout=READ)
            except talos_errors.TalosTimedOut:
                return error
            if done.code == 0:
                return error
            reason = talos_errors.from_output(error.call, done.stderr)
            if isinstance(reason, talos_errors.TalosUnauthorised | talos_errors.TalosUntrusted):
                return reason
            if not isinstance(reason, talos_errors.TalosUnreachable) or not reason.was_cut:
                return error
        return error


def _operands(operands: Sequence[str | SecretArgument]) -> list[str | SecretArgument]:
    return ["--", *operands] if operands else []

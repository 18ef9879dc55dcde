"""The entry point: finds the command, imports only that, and turns what it raises into a message and an exit code.

The table below is all that ``--help`` needs, so that it imports no command.
"""

import contextlib
import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType

import click

import firstlight
from firstlight import errors
from firstlight.cli.lazy_group import LazyGroup
from firstlight.errors import ExitCode

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "start": {
        "init": ("firstlight.commands.init.command:init", "Write firstlight.yaml: what was inferred, and your answers"),
        "explain": (
            "firstlight.commands.explain.command:explain",
            "What a component, phase, side, rule or word is, why it is here",
        ),
        "schema": ("firstlight.commands.schema.command:schema", "Print the JSON Schema of a file or of a JSON output"),
        "demo": (
            "firstlight.commands.demo.command:demo",
            "An example platform brought up on this computer, verified and drawn",
        ),
        "tools": (
            "firstlight.commands.tools.command:tools",
            "External programs and lab components: found, needed, installed",
        ),
        "completion": ("firstlight.commands.completion.command:completion", "Completion for bash, zsh or fish"),
    },
    "look": {
        "inventory": (
            "firstlight.commands.inventory.command:inventory",
            "Clusters, machines and components of a repo, read as it is",
        ),
        "plan": (
            "firstlight.commands.plan.command:plan",
            "The steps of a run, and what stands in the way, with the way out",
        ),
        "graph": (
            "firstlight.commands.graph.command:graph",
            "What needs what, phase by phase, as SVG, Mermaid, DOT or text",
        ),
        "render": (
            "firstlight.commands.render.command:render",
            "The objects of components, by real kustomize and helm",
        ),
        "boundary": (
            "firstlight.commands.boundary.command:boundary",
            "What bootstrap applies against what GitOps applies",
        ),
        "owners": (
            "firstlight.commands.owners.command:owners",
            "Who owns every object of a cluster, and what is wrong with that",
        ),
        "drift": (
            "firstlight.commands.drift.command:drift",
            "How a cluster differs from Git: what, since when, by whom",
        ),
        "status": ("firstlight.commands.status.command:status", "How the newest run stands, from any terminal"),
        "runs": ("firstlight.commands.runs.command:runs", "Earlier runs: steps, gates, waits, and a timeline picture"),
    },
    "build": {
        "up": (
            "firstlight.commands.up.command:up",
            "From bare machines to a cluster that Git owns; run again it goes on",
        ),
        "handover": (
            "firstlight.commands.handover.command:handover",
            "What bootstrap brought passes to Git's engine, with a certificate",
        ),
        "verify": ("firstlight.commands.verify.command:verify", "Whether a cluster is what it was brought up to be"),
        "rehearse": (
            "firstlight.commands.rehearse.command:rehearse",
            "The same run in the lab, on your own repo, with a report",
        ),
        "down": (
            "firstlight.commands.down.command:down",
            "Wipe the machines of a test cluster, after its name was typed",
        ),
    },
    "change": {
        "decide": (
            "firstlight.commands.decide.command:decide",
            "Where a change belongs, how dangerous it is, who must agree, how it is done",
        ),
        "change": (
            "firstlight.commands.change.command:change",
            "A change carried through: committed, merged, reconciled, checked",
        ),
        "audit": (
            "firstlight.commands.audit.command:audit",
            "What will hurt, in all clusters of a repo: evidence, fixes, a matrix",
        ),
        "node": ("firstlight.commands.node.command:node", "The machines of a cluster that lives, one at a time"),
        "move": (
            "firstlight.commands.move.command:move",
            "A component on the other side: bootstrap or GitOps, with nothing deleted",
        ),
    },
    "rescue": {
        "override": (
            "firstlight.commands.override.command:override",
            "An emergency change past Git: the engine rests, the fix is applied, Git gets it",
        ),
        "doctor": (
            "firstlight.commands.doctor.command:doctor",
            "Why it does not work: the one cause on top, and what to type next",
        ),
        "recover": (
            "firstlight.commands.recover.command:recover",
            "What is broken, which ways back there are, and the chosen one carried out",
        ),
        "backup": (
            "firstlight.commands.backup.command:backup",
            "What a cluster cannot be brought back without, kept and proven",
        ),
    },
    "lab": {
        "lab": (
            "firstlight.commands.lab.command:lab",
            "A real control plane with simulated nodes or machines on this machine",
        ),
    },
}
"""Group, command, where it lives, one line. The groups are those of the design; one appears with its first command."""

SUBCOMMANDS = {
    "override": {
        "override begin": "The engine rests: a reason, a scope, an end, a snapshot",
        "override apply, delete": "A change past Git, recorded, that can be taken back",
        "override status": "What is open, until when, and whether Git has it",
        "override align": "Bring what was changed into the repo",
        "override end, abort": "The engine goes on, with the fix in Git or without it",
        "override review": "The cause and the follow-ups of an incident",
    },
    "change": {
        "change start": "A change carried through: committed, merged, reconciled, checked",
        "change resume": "Go on with one that was interrupted, or waited for its merge",
        "change revert": "Take one back, and see that clusters are as before",
        "change list, show": "The records: what, why, who, checks and times",
    },
    "node": {
        "node list": "Every machine: declared, running, in etcd, and equal to the repo",
        "node apply": "The repo's machine configs, one machine first, then the rest",
        "node maintain": "A machine drained, rebooted, waited for, and given back",
        "node add": "A machine that the repo declares joins its cluster",
        "node upgrade": "Talos or Kubernetes in another version, one machine at a time",
        "node reset, remove": "A machine leaves: drained, wiped, out of etcd, its node deleted",
    },
    "backup": {
        "backup create": "etcd, Talos secrets, configs, access and journals, encrypted",
        "backup list": "The backups of a cluster, newest first",
        "backup verify": "Whether a cluster could be brought back with one; also by restoring",
        "backup prune": "Old ones deleted; never the newest that verifies",
    },
    "lab": {
        "lab up": "Bring a lab up, or what is missing of it",
        "lab down": "Stop a lab and delete everything it has",
        "lab status": "Every part: real or simulated, what it does",
        "lab logs": "What the parts print",
        "lab kubeconfig": "The way in, also through faults",
        "lab save, restore": "The cluster's whole state, kept and put back",
        "lab machine": "Virtual Talos machines, and their power",
        "lab source": "Git, OCI and Helm repositories for Flux and Argo CD",
        "lab omni": "The cluster of an Omni template, with its patches",
        "lab fault": "Trouble on request, for requests and processes",
    },
}
"""What ``--help`` shows instead of a command that is a group itself."""


class SectionedGroup(LazyGroup):
    """All commands, shown by group."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by group, from the table alone."""
        sections = {
            group: {
                shown: text
                for name, (_, line) in commands.items()
                for shown, text in SUBCOMMANDS.get(name, {name: line}).items()
            }
            for group, commands in COMMANDS.items()
        }
        width = max(len(name) for lines in sections.values() for name in lines)
        for group, lines in sections.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), line) for name, line in lines.items()])


@click.group(
    cls=SectionedGroup, table={name: found for commands in COMMANDS.values() for name, found in commands.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)  # fmt: skip
@click.version_option(firstlight.__version__, prog_name="firstlight", message="%(prog)s %(version)s")
def cli() -> None:
    """From bare Talos machines to clusters that Git owns, with proof at every step.

    Exit codes: 0 fine, 1 failed, 2 differences or findings, 3 blocked or refused, 64 usage, 130 interrupted.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command line and exit with the code that its outcome means."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no ✔ shows a question mark, not a traceback
    arguments = list(sys.argv[1:] if argv is None else argv)
    with orderly():  # so that nothing is left behind in temporary directories
        code = run(arguments)
    gc.freeze()  # else Python looks through all that was read once more, only to end
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command line; the exit code."""
    try:
        # A command returns its exit code when it is neither 0 nor an error: 2 for differences.
        outcome = cli.main(arguments, prog_name="firstlight", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _interrupted()
    except click.ClickException as error:
        if _wants_json(arguments):
            _show(errors.UsageError(error.format_message()), as_json=True)
        else:
            error.show()
        return errors.UsageError.exit_code
    except errors.FirstlightError as error:
        _show(error, as_json=_wants_json(arguments))
        return error.exit_code
    except OSError as error:
        # A full disk, a directory that cannot be written: the system's own words, not a traceback.
        _show(errors.FirstlightError(str(error)), as_json=_wants_json(arguments))
        return errors.FirstlightError.exit_code


def _interrupted() -> int:
    print("\ninterrupted; run the same command again to go on", file=sys.stderr)
    return ExitCode.INTERRUPTED


def _wants_json(arguments: list[str]) -> bool:
    pairs = zip(arguments, [*arguments[1:], ""], strict=True)
    return any(a in {"--output=json", "-ojson"} or (a in {"--output", "-o"} and b == "json") for a, b in pairs)


def _show(error: errors.FirstlightError, *, as_json: bool) -> None:
    if as_json:
        from firstlight.cli import output

        output.write_json({"error": {"message": error.message, "hint": error.hint}})
        return
    from firstlight.drawing import safe

    print(f"error: {safe.text(error.message)}", file=sys.stderr)
    if error.hint:
        print(f"  {safe.text(error.hint)}", file=sys.stderr)


# Being told to end: what was begun is cleaned up first, as after Ctrl-C.


_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """End by TERM and HUP as by an interrupt, which cancels what runs, and only then by the signal itself."""
    told: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        told.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell has it for what runs in the background
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    # Whoever ignores a signal, as nohup does, goes on ignoring it.
    is_main = threading.current_thread() is threading.main_thread()
    taken = [each for each in _SIGNALS if is_main and signal.getsignal(each) is signal.SIG_DFL]
    for each in taken:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each in taken:
            signal.signal(each, signal.SIG_DFL)
        if told:
            os.kill(os.getpid(), told[0])

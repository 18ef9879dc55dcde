"""The stand-ins of a lab: ``LAB/bin/op``, a directory for the vaults, and a part that serves what Connect would."""

import shlex
from pathlib import Path

from firstlight.clients import interpreter
from firstlight.lab import directory
from firstlight.lab import network as networks
from firstlight.lab.part import Part, Probe
from firstlight.lab.standins import op, vault_file

NAME = "standins"
EMPTY = b"# docs/lab.md, 'Stand-ins for 1Password', says what this file looks like\nvaults: []\n"


def put_op(home: directory.Directory) -> Path:
    """Write ``op`` into the lab, and a file without vaults if there is none; where ``op`` is."""
    kept = home.standins
    kept.mkdir(mode=0o700, exist_ok=True)
    if not (kept / vault_file.NAME).exists():
        directory.write_whole(kept / vault_file.NAME, EMPTY)
    program = home.path / "bin" / "op"
    program.parent.mkdir(mode=0o700, exist_ok=True)
    # A shell in between: the path of an interpreter may be longer than a first line can be.
    command = f"{op.HOME}={shlex.quote(str(kept))} exec {shlex.join(interpreter.module('firstlight.lab.standins.op'))}"
    directory.write_whole(program, f'#!/bin/sh\n# {op.SAID}\n{command} "$@"\n'.encode(), mode=0o700)
    return program


def part(home: directory.Directory, net: networks.Network) -> Part:
    """How the server is started; it reads the vaults anew at every request."""
    ready = home.run / "standins.ready"
    return Part(
        name=NAME,
        what=f"stand-ins: 1Password Connect, port {net.connect}, and bin/op",
        reality="simulated",
        argv=interpreter.module(
            "firstlight.lab.standins",
            f"--home={home.standins}",
            f"--address={net.loopback}",
            f"--port={net.connect}",
            f"--ready={ready}",
        ),
        probe=Probe(mark=ready, what="it to listen"),
        stale=(ready,),
    )

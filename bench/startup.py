"""How long until ``firstlight --help`` has answered, against an empty Python and two peers written in Go."""

import sys
from collections.abc import Sequence
from pathlib import Path

from bench import measure

ROUNDS = 15


def run(programs: dict[str, Path]) -> list[str]:
    firstlight = str(Path(sys.executable).parent / "firstlight")
    commands: dict[str, Sequence[str]] = {
        "firstlight --help": [firstlight, "--help"],
        "python -c pass": [sys.executable, "-c", "pass"],
        "kubectl version --client": [str(programs["kubectl"]), "version", "--client"],
        "helm version": [str(programs["helm"]), "version"],
    }
    samples = measure.interleave(commands, rounds=ROUNDS)
    return [f"start-up, {ROUNDS} rounds", *measure.table(samples, against="firstlight --help")]

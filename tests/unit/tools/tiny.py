"""A workshop with tools that are built in a second and downloaded from nowhere, in a directory of the test's own."""

import os
from collections.abc import Mapping
from pathlib import Path

from firstlight.tools import binary_cache, catalogue, workshop

CATALOGUE = """
[sets]
both = ["tiny", "twin"]

[stamps]
tiny = ["main.version={version}"]

[[tool]]
name = "tiny"
kind = "component"
summary = "prints its version"
version = "1.2.3"
used_by = ["lab"]
assets = true
ask = ["--version"]
answer = 'tiny v(\\S+)'
[tool.build]
pin = "tiny"
package = "."
stamps = "tiny"
seconds = 2
[tool.download]
url = "https://releases.example/tiny/v{version}/tiny_{os}_{arch}.tar.gz"
member = "tiny_{version}/tiny"
[tool.download.sha256]
linux-amd64 = "0000000000000000000000000000000000000000000000000000000000000000"
linux-arm64 = "0000000000000000000000000000000000000000000000000000000000000000"

[[tool]]
name = "twin"
kind = "program"
summary = "the same, and found on PATH"
version = "1.2.3"
needs = ">=1.2,<2"
used_by = ["up"]
ask = ["--version"]
answer = 'twin v(\\S+)'
by_hand = "Ask the neighbours for it."
"""

MAIN = """package main

import "firstlight.dev/lab/tiny/words"

var version = "unset"

func main() { println("tiny v" + version + words.Nothing) }
"""


def program(path: Path, name: str, version: str, *, log: Path | None = None) -> Path:
    """A program that tells a version, and notes in ``log`` that it was asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    note = f"echo asked >> {log}\n" if log else ""
    path.write_text(f"#!/bin/sh\n{note}echo {name} v{version}\n")
    path.chmod(0o755)
    return path


def lab(directory: Path, *, packages: int = 1, seed: str = "") -> Path:
    """A lab directory with the pin of ``tiny``: a main package, ``words``, and as many more as asked for."""
    pin = directory / "pins" / "tiny"
    (pin / "words").mkdir(parents=True)
    (pin / "go.mod").write_text("module firstlight.dev/lab/tiny\n\ngo 1.21\n")
    (pin / "go.sum").write_text("")
    (pin / "main.go").write_text(MAIN)
    imports = ""
    for number in range(packages - 1):
        more = pin / f"more{number}"
        more.mkdir()
        (more / "more.go").write_text(f'package more{number}\n\nconst Seed = "{seed}"\n')
        imports += f'import _ "firstlight.dev/lab/tiny/more{number}"\n'
    (pin / "words" / "words.go").write_text(f'package words\n\n{imports}\nvar Nothing, Seed = "", "{seed}"\n')
    return directory


def shop(
    root: Path, environ: Mapping[str, str] | None = None, *, ways: tuple[str, ...] = ("build",), known: str = CATALOGUE
) -> workshop.Workshop:
    """A workshop below ``root``."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(root / "home"), **(environ or {})}
    return workshop.Workshop(
        catalogue=catalogue.parse(known, path="tiny"),
        environ=variables,
        cache=binary_cache.BinaryCache(root / "cache"),
        lab=root / "lab",
        target=workshop.this_machine(),
        ways=ways,
    )

"""A hostile working directory: modules, programs and settings that take over whoever looks for them there."""

import dataclasses
from pathlib import Path

MODULES = (
    "firstlight/__init__.py", "firstlight/__main__.py", "firstlight/lab/__init__.py", "firstlight/lab/supervisor.py",
    "venv.py", "ensurepip.py", "pip/__init__.py", "pip/__main__.py", "sitecustomize.py", "usercustomize.py",
    "runpy.py", "click.py", "msgspec.py", "hatchling/__init__.py",
)  # fmt: skip
"""What Python would import from here."""
PROGRAMS = (
    "git",
    "uv",
    "pip3",
    "python3",
    "go",
    "ssh-keygen",
    "helm",
    "kustomize",
    "cat",
    "grep",
    "mkdir",
    "curl",
    "jq",
)
"""What a PATH with the working directory in it would run."""
UNREACHABLE = "http://127.0.0.1:9/simple"
SETTINGS = {
    "uv.toml": f'no-index = false\nindex-url = "{UNREACHABLE}"\n[pip]\nno-verify-hashes = true\n',
    "pyproject.toml": f'[project]\nname = "x"\nversion = "1"\n[tool.uv]\nindex-url = "{UNREACHABLE}"\n',
    "pip.conf": f"[global]\nindex-url = {UNREACHABLE}\nno-index = false\n",
    ".python-version": "2.7\n",
    "pyvenv.cfg": "home = /nonexistent\n",
    "go.mod": "module hostile\n\ngo 99.0\n\ntoolchain go99.0.0\n",
    "go.work": "go 99.0\n",
}
"""What steers installers and compilers from here."""


@dataclasses.dataclass(frozen=True)
class Planted:
    """The directory, and where its content notes that it ran."""

    directory: Path
    canary: Path

    @property
    def ran(self) -> list[str]:
        """What of it ran."""
        return self.canary.read_text().splitlines() if self.canary.exists() else []

    def environment(self, path: str) -> dict[str, str]:
        """Variables that lead here: an empty entry, a dot and a relative one, before a PATH that is right."""
        return {
            "PATH": f":.:../{self.directory.name}:{path}",
            "PYTHONPATH": ":.",
            "PYTHONSTARTUP": "sitecustomize.py",
            "PYTHONUSERBASE": ".",
        }


def plant(directory: Path) -> Planted:
    """Fill a directory, which may exist."""
    canary = directory.parent / "ran"
    for name in MODULES:
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"with open({str(canary)!r}, 'a') as file:\n    file.write({name + chr(10)!r})\n")
    for name in PROGRAMS:
        (directory / name).write_text(f"#!/bin/sh\necho {name} >> '{canary}'\nexit 1\n")
        (directory / name).chmod(0o755)
    for name, text in SETTINGS.items():
        (directory / name).write_text(text)
    return Planted(directory, canary)

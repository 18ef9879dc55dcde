"""Starting Python, and what installs Python packages: never with what lies in the working directory.

``python -m`` puts the working directory first on the module path, and uv reads its configuration from there: a repo
with a ``firstlight/``, a ``sitecustomize.py`` or a ``uv.toml`` would run in the user's name. This is the only place
that names an interpreter or an installer; everybody else asks here.
"""

import importlib.util
import os
import site
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from firstlight.clients import command, program_path
from firstlight.clients.sandbox import program_limits

_PACKAGE = Path(__file__).parents[1]
"""Where firstlight itself is."""


def module(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the command line that runs a module of firstlight with the interpreter that runs this one."""
    return (sys.executable, *_isolation(), "-m", name, *arguments)


def script(path: str) -> tuple[str, ...]:
    """Return the command line that runs a file of firstlight that needs the standard library alone."""
    return (sys.executable, "-I", "-S", path)


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what steers an interpreter, for those whose command line is not ours."""
    kept = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    return program_path.environment(kept)


async def install(
    requirements: Path, *, to: Path, directory: Path, environ: Mapping[str, str], timeout: float
) -> command.Completed:
    """Install the packages of a file, by their hashes, into a directory of their own.

    Where packages come from is for the user to say, in variables and in files of theirs, as sites without internet
    do; nothing is taken from the working directory. Whatever is fetched must have a hash that the file names.

    Args:
        requirements: A file with a version and hashes for each package.
        to: Where they go.
        directory: Where the installer runs: one of our own.
        environ: The user's environment.
        timeout: Seconds.

    Raises:
        errors.ClientError: There is no installer, or it failed.
    """
    argv, settings = _installer(environ)
    return await command.run(
        [*argv, "--target", str(to), "--no-deps", "--only-binary", ":all:",
         "--require-hashes", "--requirement", str(requirements)],
        env=settings, cwd=directory, timeout=timeout, dies_with_parent=True, within=program_limits.BUILDER,
    )  # fmt: skip


def _isolation() -> Sequence[str]:
    """The flags that keep working directory and variables out; the user's own packages only where we are among them."""
    own = site.getusersitepackages()
    return ("-E", "-P") if _PACKAGE.is_relative_to(own) else ("-I",)


def _installer(environ: Mapping[str, str]) -> tuple[Sequence[str], Mapping[str, str]]:
    """The command that installs a package, and its environment: uv from wherever it is, else pip."""
    uv = next((str(path) for path in _uv_beside() if path.is_file()), None) or program_path.find("uv", environ)
    if uv:
        return (uv, "pip", "install", "--quiet", "--python", sys.executable), _uv_environment(environ)
    # An environment made by uv has no pip; the Python that it was made from usually does.
    python = sys.executable if importlib.util.find_spec("pip") else str(Path(sys.base_prefix) / "bin/python3")
    return (
        python,
        "-I",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
    ), environment(environ)


def _uv_beside() -> Iterator[Path]:
    yield Path(sys.executable).with_name("uv")
    # The one that `make setup` makes, and only in firstlight's own checkout: elsewhere the directory around an
    # environment is often the repo that is worked on.
    project = Path(sys.prefix).parent
    if project / "src/firstlight" == _PACKAGE:
        yield project / ".venv-uv/bin/uv"


def _uv_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """With the user's own configuration of uv, or the machine's; never one that uv finds in some directory above."""
    settings = {**environment(environ), "UV_NO_CONFIG": "1"}
    given = settings.pop("UV_CONFIG_FILE", "")
    own = environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME') or Path.home()}/.config"
    for file in (given, f"{own}/uv/uv.toml", "/etc/uv/uv.toml"):
        if os.path.isabs(file) and Path(file).is_file():
            return {**settings, "UV_CONFIG_FILE": file}
    return settings

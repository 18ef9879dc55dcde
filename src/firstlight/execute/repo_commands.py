"""Commands from a repo: run only if the user has allowed their content, without a shell, and with little around them.

Hooks and command gates come here in ``up`` and ``rehearse``; nothing else runs what a repo says.
"""

import asyncio
import contextlib
import dataclasses
import datetime
import json
import os
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from firstlight import errors
from firstlight.clients import command, path_safety, program_path
from firstlight.clients.sandbox import program_limits
from firstlight.execute import command_digest
from firstlight.execute.command_digest import CommandDigest
from firstlight.execute.masks import Masks
from firstlight.model import repo_command
from firstlight.model.observation import AskRequest, AskResponse
from firstlight.model.secret import Secret

# Which commands of which repos the user has allowed: kept in the user's own configuration, never in a repo.
#
# A line for each: the digest, when, the repo, and the words for whoever reads the file.


@dataclasses.dataclass(frozen=True, slots=True)
class AllowedCommands:
    """What was allowed; nothing, if nobody says otherwise."""

    known: frozenset[tuple[str, str]] = frozenset()
    """Digests, each with the repo that it was allowed for: ``make all`` is not the same in two repos."""

    def has(self, digest: CommandDigest, repo: Path) -> bool:
        """Whether a command may run."""
        return (digest.value, _name(repo)) in self.known


def allowed_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The file: ``firstlight/allowed`` in the user's configuration."""
    base = environ.get("XDG_CONFIG_HOME") or ""
    return (Path(base) if os.path.isabs(base) else Path.home() / ".config") / "firstlight" / "allowed"


def load_allowed(path: Path) -> AllowedCommands:
    """What was allowed so far.

    Raises:
        errors.ConfigError: The file cannot be read, or somebody else can write it.
    """
    content = path_safety.read(path, what="what it allows") or b""
    return AllowedCommands(frozenset(_entries(content.decode(errors="replace"))))


def remember_allowed(
    path: Path, commands: Sequence[tuple[CommandDigest, tuple[str, ...]]], *, repo: Path, now: float
) -> None:
    """Allow commands from now on.

    Raises:
        errors.ConfigError: The file cannot be written.
    """
    at = datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = [
        "\t".join([digest.value, at, json.dumps(_name(repo)), json.dumps(words)]) + "\n" for digest, words in commands
    ]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write("".join(lines).encode())
    except OSError as error:
        raise errors.ConfigError(f"it cannot be written: {error.strerror}", path=str(path)) from error


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n")[:-1]:  # a last line without its end was torn
        parts = line.split("\t")
        if len(parts) != 4 or not parts[0].startswith("sha256:"):
            continue
        try:
            repo = json.loads(parts[2])
        except ValueError:
            continue
        if isinstance(repo, str):
            yield parts[0], repo


def _name(repo: Path) -> str:
    return os.path.realpath(repo)


_LINE = 300
"""Characters of a line of output that are told."""
_LINES = 40
"""Lines of output that are told; of a program that prints without end, only the last is kept besides."""

_WHOLE = (
    "It may read any file of the repo, so all of them count, and one of them or the command has changed, or it was "
    "never allowed. Look at it, and allow it: --allow-commands"
)


@dataclasses.dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended."""

    code: int
    said: str
    """Its last line, masked."""


class RepoCommands:
    """The commands of one repo, for one cluster."""

    def __init__(
        self,
        root: Path,
        *,
        cluster: str,
        allowed: AllowedCommands,
        masks: Masks,
        origin: Path | None = None,
        home: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Prepare; nothing runs yet.

        Args:
            root: Where they run: the top of the repo, or of a rehearsal's copy of it.
            cluster: Told to them as ``FIRSTLIGHT_CLUSTER``.
            allowed: What the user has allowed.
            masks: What must not be seen of their output.
            origin: The user's own repo, whose files were allowed, if that is not where they run.
            home: Their home directory, if it must not be the user's.
            environ: The user's environment, of which they get little.
        """
        self._root = root
        self._origin = origin or root
        self._cluster = cluster
        self._allowed = allowed
        self._masks = masks
        self._home = home
        self._environ = environ
        self._kubeconfig: Secret | None = None
        # What a run adds to the repo by itself, such as Talos secrets, does not make its own commands others.
        self._files = command_digest.repo_names(self._origin)

    def lead_to(self, kubeconfig: Secret, *, at: str = "") -> None:
        """Give commands the way to the cluster; ``at`` is another address than the one that it says."""
        self._masks.add_kubeconfig(kubeconfig)
        self._kubeconfig = _redirected(kubeconfig, at)

    def digest(self, words: Sequence[str]) -> CommandDigest:
        """What a command is, by content."""
        return command_digest.command_digest(words, self._origin, known=self._files)

    async def require(self, words: tuple[str, ...]) -> None:
        """Let an allowed command pass.

        Raises:
            errors.Refused: Nobody has allowed it, or not with this content.
        """
        digest = await asyncio.to_thread(self.digest, words)
        if not self._allowed.has(digest, self._origin):
            raise errors.Refused(
                f"the repo wants to run a command that was not allowed: {repo_command.shown(words)} ({digest.value})",
                hint=_WHOLE if digest.is_whole else "Look at it, and allow it: --allow-commands",
            )

    async def run(
        self,
        words: tuple[str, ...],
        *,
        timeout: float,
        on_line: Callable[[str], None] = lambda _: None,
    ) -> CommandEnd:
        """Run a command to its end; it finds the way to the cluster at ``KUBECONFIG``, a file in memory.

        Args:
            words: The program and its arguments, as they are.
            timeout: Seconds after which it and all its children are killed.
            on_line: Told each line of its output, masked.

        Raises:
            errors.Refused: Nobody has allowed it.
            errors.ClientError: It cannot be run, or takes too long; its exit code is no error.
        """
        await self.require(words)
        output = _Output(self._masks, on_line)
        with contextlib.ExitStack() as stack:
            environment = self._environment()
            if self._kubeconfig is not None:
                file = stack.enter_context(command.memory_file(self._kubeconfig))
                # Not /proc/self: what a script starts need not inherit the file to read it.
                environment["KUBECONFIG"] = f"/proc/{os.getpid()}/fd/{file.fd}"
            with _explained(words, output):
                done = await command.run(
                    words, timeout=timeout, env=environment, cwd=self._root, check=False, dies_with_parent=True,
                    on_stdout=output.add, on_stderr=output.add, within=program_limits.FREE,
                )  # fmt: skip
        return CommandEnd(done.code, output.last)

    async def answer(self, asked: AskRequest) -> AskResponse:
        """Whether the command of a gate ends well; one that was not allowed does not run."""
        words = tuple(str(each) for each in asked.given.get("run") or ())
        try:
            ended = await self.run(words, timeout=float(asked.given.get("timeout") or 30))
        except errors.FirstlightError as error:
            return AskResponse(False, " ".join(each for each in (f"{error.message}.", error.hint) if each))
        if ended.code == 0:
            return AskResponse(True, ended.said)
        return AskResponse(False, f"it exited with {ended.code}" + (f": {ended.said}" if ended.said else ""))

    def _environment(self) -> dict[str, str]:
        """As little as programs need."""
        if self._home is not None:
            self._home.mkdir(parents=True, exist_ok=True)
        return {
            "PATH": program_path.clean(self._environ.get("PATH", os.defpath)),
            "HOME": str(self._home or self._environ.get("HOME") or Path.home()),
            "LANG": self._environ.get("LANG") or "C.UTF-8",
            "FIRSTLIGHT_CLUSTER": self._cluster,
        }


class _Output:
    """What a command prints, masked; as much of it as somebody could read."""

    def __init__(self, masks: Masks, tell: Callable[[str], None]) -> None:
        self._masks = masks
        self._tell = tell
        self._told = 0
        self.last = ""

    def add(self, line: str) -> None:
        text = " ".join(self._masks.masked(line).split())
        if not text:
            return
        self.last = text if len(text) <= _LINE else f"{text[: _LINE - 1]}…"
        self._told += 1
        if self._told <= _LINES:
            self._tell(self.last)
        elif self._told == _LINES + 1:
            self._tell("… and more, which is not told")


@contextlib.contextmanager
def _explained(words: tuple[str, ...], output: _Output) -> Iterator[None]:
    """What keeps a command from ending, as an error that trying again does not cure."""
    try:
        yield
    except errors.TimedOut as error:
        said = f"; the last that it said: {output.last}" if output.last else ""
        raise errors.ClientError(f"{error.message}, and was killed{said}", target=words[0]) from error
    except errors.Unreachable as error:
        hint = f"Make it executable: chmod +x {words[0]}" if isinstance(error, errors.NotExecutable) else ""
        raise errors.ClientError(error.message, target=words[0], hint=hint) from error
    except (OSError, ValueError) as error:
        hint = "A script begins with a line such as #!/bin/sh." if isinstance(error, OSError) else ""
        raise errors.ClientError(f"{words[0]} cannot be run: {error}", target=words[0], hint=hint) from error


def _redirected(kubeconfig: Secret, url: str) -> Secret:
    """A kubeconfig that leads to another address; the certificate there must still have the declared name."""
    if not url:
        return kubeconfig
    config = yaml.safe_load(kubeconfig.reveal())
    for entry in config.get("clusters") or ():
        inner = entry.get("cluster") or {}
        host = urllib.parse.urlsplit(str(inner.get("server") or "")).hostname
        inner["tls-server-name"] = inner.get("tls-server-name") or host or ""
        inner["server"] = url.rstrip("/")
    return Secret(yaml.safe_dump(config))

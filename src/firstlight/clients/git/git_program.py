"""Running git: the one place where its environment is made, its secrets are handed over and its failures are read.

It gets an empty home, no config of the system or the user, and none of the repository (see ``repository``). No hook,
pager, editor, prompt, file watcher, filter or submodule has a part in what it does, and only the transports that a
call needs are open. Credentials go in by memory files; no argument and no variable has one.
"""

import contextlib
import dataclasses
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from firstlight import errors
from firstlight.clients import command, scratch
from firstlight.clients.git import git_errors, git_output, repository
from firstlight.clients.program_io import ProgramAnswer
from firstlight.clients.sandbox import program_limits
from firstlight.model import remote_url
from firstlight.model import secret as model_secret
from firstlight.model.secret import MASK, Secret

# How credentials reach Git without being seen: not as arguments, not in the environment, not on a disk.
#
# Over HTTP a helper of one line prints a memory file, for one origin only: a server that redirects to another gets
# nothing. (Git's own ``credential-store`` would follow a memory file's name and write what it knows into a real file of
# that name.) ssh closes what it inherits before it reads anything, so its key is named by way of this process.


Credentials = model_secret.Login | model_secret.SshKey | model_secret.OwnSsh

_HELPER = '!f() {{ test "$1" = get && cat {path}; }}; f'
_SSH = (
    "ssh", "-F", os.devnull, "-oBatchMode=yes", "-oConnectTimeout=20", "-oPermitLocalCommand=no", "-oProxyCommand=none",
    "-oControlMaster=no", "-oControlPath=none", "-oClearAllForwardings=yes", "-oStrictHostKeyChecking=yes",
    "-oGlobalKnownHostsFile=/dev/null", "-oIdentitiesOnly=yes", "-oIdentityAgent=none", "-oUpdateHostKeys=no",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class GitAccess:
    """What a run of Git gets."""

    settings: Sequence[tuple[str, str]] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fds: Sequence[int] = ()
    secrets: Sequence[Secret] = ()
    """What must not be in its messages."""


@contextlib.contextmanager
def grant(url: remote_url.RemoteUrl | None, credentials: Credentials | None, *, agent: str) -> Iterator[GitAccess]:
    """Lend credentials for one run.

    Args:
        url: The remote; without one nothing is lent.
        credentials: What it is shown.
        agent: The socket of the user's ssh agent, which only ``OwnSsh`` uses.

    Raises:
        errors.UsageError: The credentials are not of the kind that the URL needs.
    """
    if url is None:
        yield GitAccess()
    elif url.scheme == "ssh":
        with _ssh(url, credentials, agent=agent) as granted:
            yield granted
    elif credentials is None:
        yield GitAccess()
    elif not isinstance(credentials, model_secret.Login) or url.scheme == "file":
        raise errors.UsageError(f"{url} needs a name and a password, or no credentials")
    else:
        lines = (b"username=" + credentials.username.encode(), b"password=" + credentials.password.reveal())
        if any(b"\n" in line or b"\r" in line or b"\0" in line for line in lines):
            raise errors.UsageError("a user name or password with a line break cannot be given to git")
        with command.memory_file(Secret(b"\n".join((*lines, b"")))) as file:
            helper = (f"credential.{url.origin}.helper", _HELPER.format(path=file.path))
            yield GitAccess([helper], fds=[file.fd], secrets=[credentials.password])


@contextlib.contextmanager
def _ssh(url: remote_url.RemoteUrl, credentials: Credentials | None, *, agent: str) -> Iterator[GitAccess]:
    if isinstance(credentials, model_secret.OwnSsh):
        environment = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=20", "GIT_SSH_VARIANT": "ssh"}
        yield GitAccess(environment={**environment, **({"SSH_AUTH_SOCK": agent} if agent else {})})
        return
    if isinstance(credentials, model_secret.Login):
        raise errors.UsageError(f"{url} needs a key for ssh, not a password")
    with contextlib.ExitStack() as stack:
        options = []
        if credentials is not None:
            for option, content in (
                ("IdentityFile", credentials.key),
                ("UserKnownHostsFile", Secret(credentials.known_hosts)),
            ):
                file = stack.enter_context(command.memory_file(content))
                os.fchmod(file.fd, 0o600)  # ssh refuses a key that others could read
                options.append(f"-o{option}=/proc/{os.getpid()}/fd/{file.fd}")
        else:
            options = [f"-oIdentityFile={os.devnull}", f"-oUserKnownHostsFile={os.devnull}"]
        yield GitAccess(environment={"GIT_SSH_COMMAND": " ".join((*_SSH, *options)), "GIT_SSH_VARIANT": "ssh"})


T = TypeVar("T")

READ = 30.0
REMOTE = 60.0
TRANSFER = 600.0
"""Seconds for a clone, a fetch or a push."""

_INHERITED = (
    "PATH", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "no_proxy", "all_proxy",
    "GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_EXEC_PATH",
)  # fmt: skip

_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
}

# These win over every config file, should Git find one after all; they also reach the programs that Git starts.
_SETTINGS = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", os.devnull),
    ("core.excludesFile", os.devnull),
    ("core.alternateRefsCommand", "true"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("receive.autoGC", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.fsckObjects", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("color.ui", "false"),
    ("advice.detachedHead", "false"),
    ("init.defaultBranch", "main"),
    ("credential.helper", ""),
)

_TRANSPORTS = {"http": "http:https"}
"""A redirect may lead from http to https, and never back."""

_RECEIVE_PACK = " ".join(
    [
        "git",
        *(f"-c {name}={value}" for name, value in _SETTINGS[:5] if value),
        "-c receive.autoGC=false",
        "receive-pack",
    ]
)
"""What receives a push to a file: the settings above do not reach it otherwise, and it has hooks of its own."""


@dataclasses.dataclass(frozen=True)
class GitSession:
    """Git in a private home, perhaps looking at a repository."""

    home: Path
    environment: Mapping[str, str]
    cwd: Path
    target: str = ""
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What the repository's config says, for us to read and not for Git to obey."""


class GitProgram:
    """git at a path, with the transports that it may use."""

    def __init__(
        self,
        program: Path,
        *,
        schemes: Collection[str] = ("https", "ssh"),
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Prepare to run it.

        Args:
            program: Where it is.
            schemes: Which URLs may be asked; ``http`` and ``file`` only where they are known to be harmless.
            environ: Where the proxy, the path, the user's ssh agent and the index of a hook are read from.
        """
        self._program = program.absolute()
        self._schemes = frozenset(schemes)
        self._environ = {name: environ[name] for name in _INHERITED if name in environ}
        self._agent = environ.get("SSH_AUTH_SOCK", "")
        self._index = environ.get("GIT_INDEX_FILE", "")

    async def version(self) -> str:
        """Its version, such as ``2.39.5``."""
        async with self._nowhere() as session:
            done = await self._run(session, ["version"])
        return done.text.removeprefix("git version").split()[0]

    def _url(self, url: str) -> remote_url.RemoteUrl:
        return remote_url.RemoteUrl.parse(url, schemes=self._schemes)

    @contextlib.asynccontextmanager
    async def _nowhere(self, target: str = "") -> AsyncIterator[GitSession]:
        """A session for what needs no repository."""
        with scratch.directory("git") as directory:
            home = Path(directory).resolve()
            yield GitSession(home, {"HOME": str(home), "GIT_CEILING_DIRECTORIES": str(home.parent)}, home, target)

    @contextlib.asynccontextmanager
    async def _at(self, path: Path, *, writes: bool = False) -> AsyncIterator[GitSession]:
        """A session that looks at a repository, by way of a stand-in."""
        found = repository.locate(path)
        async with self._nowhere(found.place) as session:
            settings = await self._settings(session, found)
            with repository.stand_in(found, session.home, settings, writes=writes) as environment:
                yield dataclasses.replace(
                    session,
                    environment={**session.environment, **environment},
                    cwd=found.work_tree or session.home,
                    settings=settings,
                )

    async def _settings(self, session: GitSession, found: repository.LocalRepository) -> Mapping[str, str]:
        """What the repository's config says: read as data, without what it includes."""
        config = found.common_dir.absolute() / "config"
        if not config.is_file():
            return {}
        done = await self._run(session, ["config", "--no-includes", "-z", "--list", f"--file={config}"])
        pairs = (item.partition("\n") for item in os.fsdecode(done.stdout).split("\0") if item)
        return {name: value for name, _, value in pairs}

    async def _run(
        self,
        session: GitSession,
        arguments: Sequence[str],
        *,
        url: remote_url.RemoteUrl | None = None,
        credentials: Credentials | None = None,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float = READ,
        check: bool = True,
    ) -> ProgramAnswer:
        """Run it once.

        Args:
            session: Where.
            arguments: The command and what follows it.
            url: The remote that it may talk to; without one it talks to nobody.
            credentials: What the remote is shown.
            environment: More variables.
            stdin: What it reads.
            timeout: Seconds after which it is killed.
            check: Raise if it fails.

        Raises:
            git_errors.GitError: It failed, and ``check`` is set; or it took too long.
        """
        name, target = arguments[0], url.text if url is not None else session.target
        with contextlib.ExitStack() as stack:
            granted = stack.enter_context(grant(url, credentials, agent=self._agent))
            settings = [*_SETTINGS, *granted.settings]
            env = {
                **self._environ,
                **_ENVIRONMENT,
                **_as_environment(settings),
                **session.environment,
                **granted.environment,
                **(environment or {}),
                "GIT_ALLOW_PROTOCOL": _TRANSPORTS.get(url.scheme, url.scheme) if url is not None else "",
            }
            try:
                done = await command.run(
                    [str(self._program), *arguments],
                    timeout=timeout,
                    env=env,
                    cwd=session.cwd,
                    stdin=stdin,
                    pass_fds=granted.fds,
                    check=False,
                    dies_with_parent=timeout > REMOTE,
                    within=program_limits.READER if url is None else program_limits.CLIENT,
                )
            except errors.TimedOut as error:
                detail = f"it did not finish within {timeout:g} s"
                raise git_errors.GitTimedOut(name, detail=detail, target=target) from error
            except errors.LimitExceeded as error:
                raise git_errors.GitTooLarge(name, detail=error.message, target=target) from error
            except errors.Unreachable as error:
                raise errors.ToolError(str(error), hint="install git") from error
            except errors.ClientError as error:
                if not session.cwd.is_dir():
                    raise
                detail = f"it printed more than {command.OUTPUT_LIMIT >> 20} MiB"
                raise git_errors.GitTooLarge(name, detail=detail, target=target) from error
        stderr = remote_url.without_credentials(_masked(done.stderr, granted.secrets))
        if check and done.code != 0:
            raise git_errors.from_output(name, stderr, target=target)
        return ProgramAnswer(done.code, done.stdout, stderr)


def parsed(parse: Callable[[bytes], T], done: ProgramAnswer, *, name: str, target: str) -> T:
    """What an answer means.

    Raises:
        git_errors.Unreadable: It is in a form that is not known here.
        git_errors.GitError: It says that an object is missing.
    """
    try:
        return parse(done.stdout)
    except git_output.MissingObject as error:
        raise git_errors.missing(name, str(error), target=target) from error
    except ValueError as error:
        raise git_errors.GitUnreadable(name, detail=str(error), target=target) from error


def receiver(url: remote_url.RemoteUrl) -> list[str]:
    """The option that keeps the hooks of a repository on this computer from running when it is pushed to."""
    return [f"--receive-pack={_RECEIVE_PACK}"] if url.scheme == "file" else []


def _as_environment(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    environment = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def _masked(text: str, secrets: Sequence[Secret]) -> str:
    for secret in secrets:
        if value := secret.reveal().decode(errors="replace"):
            text = text.replace(value, MASK)
    return text

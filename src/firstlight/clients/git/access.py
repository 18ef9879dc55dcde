"""How credentials reach Git without being seen: not as arguments, not in the environment, not on a disk.

Over HTTP a helper of one line prints a memory file, for one origin only: a server that redirects to another gets
nothing. (Git's own ``credential-store`` would follow a memory file's name and write what it knows into a real file of
that name.) ssh closes what it inherits before it reads anything, so its key is named by way of this process.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence

from firstlight import errors
from firstlight.clients import command
from firstlight.model import credentials as models
from firstlight.model import remote_url
from firstlight.model.secret import Secret

Credentials = models.Login | models.SshKey | models.OwnSsh

_HELPER = '!f() {{ test "$1" = get && cat {path}; }}; f'
_SSH = (
    "ssh", "-F", os.devnull, "-oBatchMode=yes", "-oConnectTimeout=20", "-oPermitLocalCommand=no", "-oProxyCommand=none",
    "-oControlMaster=no", "-oControlPath=none", "-oClearAllForwardings=yes", "-oStrictHostKeyChecking=yes",
    "-oGlobalKnownHostsFile=/dev/null", "-oIdentitiesOnly=yes", "-oIdentityAgent=none", "-oUpdateHostKeys=no",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Granted:
    """What a run of Git gets."""

    settings: Sequence[tuple[str, str]] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fds: Sequence[int] = ()
    secrets: Sequence[Secret] = ()
    """What must not be in its messages."""


@contextlib.contextmanager
def grant(url: remote_url.RemoteUrl | None, credentials: Credentials | None, *, agent: str) -> Iterator[Granted]:
    """Lend credentials for one run.

    Args:
        url: The remote; without one nothing is lent.
        credentials: What it is shown.
        agent: The socket of the user's ssh agent, which only ``OwnSsh`` uses.

    Raises:
        errors.UsageError: The credentials are not of the kind that the URL needs.
    """
    if url is None:
        yield Granted()
    elif url.scheme == "ssh":
        with _ssh(url, credentials, agent=agent) as granted:
            yield granted
    elif credentials is None:
        yield Granted()
    elif not isinstance(credentials, models.Login) or url.scheme == "file":
        raise errors.UsageError(f"{url} needs a name and a password, or no credentials")
    else:
        lines = (b"username=" + credentials.username.encode(), b"password=" + credentials.password.reveal())
        if any(b"\n" in line or b"\r" in line or b"\0" in line for line in lines):
            raise errors.UsageError("a user name or password with a line break cannot be given to git")
        with command.memory_file(Secret(b"\n".join((*lines, b"")))) as file:
            helper = (f"credential.{url.origin}.helper", _HELPER.format(path=file.path))
            yield Granted([helper], fds=[file.fd], secrets=[credentials.password])


@contextlib.contextmanager
def _ssh(url: remote_url.RemoteUrl, credentials: Credentials | None, *, agent: str) -> Iterator[Granted]:
    if isinstance(credentials, models.OwnSsh):
        environment = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=20", "GIT_SSH_VARIANT": "ssh"}
        yield Granted(environment={**environment, **({"SSH_AUTH_SOCK": agent} if agent else {})})
        return
    if isinstance(credentials, models.Login):
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
        yield Granted(environment={"GIT_SSH_COMMAND": " ".join((*_SSH, *options)), "GIT_SSH_VARIANT": "ssh"})

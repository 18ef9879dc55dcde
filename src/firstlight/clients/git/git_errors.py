"""What Git, or the server that it asked, can answer instead of yes, as types.

    errors.ClientError
      GitError                has command, detail and stderr
        GitUnreachable        nothing answers there; is errors.Unreachable, too
        GitTimedOut           it took too long; is errors.TimedOut, too
        GitUntrusted          the server's certificate or host key does not verify
        GitUnauthorised       the server wants other credentials, or any
        GitNotFound           there is no such repository, revision, branch or file
        NotARepository        the directory is no work tree and no repository
          GitPointsElsewhere  its .git leads to a repository that knows nothing of it
        GitRejected           the remote does not take what was pushed; has the reason
        GitBusy               another Git is at work in the same repository
        GitTooLarge           there is more of it than was allowed
        GitUnreadable         git answered in a form that is not known here

Git has one exit code for all of them, so its words decide; it runs in the C locale, where they are the same for all.
Everything here expects text that was masked before.
"""

import re
from collections.abc import Mapping, Sequence

from firstlight import errors


class GitError(errors.ClientError):
    """git failed."""

    def __init__(self, command: str, *, detail: str, target: str = "", stderr: str = "", hint: str = "") -> None:
        about = f" of {target}" if target else ""
        super().__init__(f"git {command}{about}: {detail}", target=target, hint=hint or _HINTS.get(type(self), ""))
        self.command = command
        self.detail = detail
        self.stderr = stderr
        """Masked."""


class GitUnreachable(GitError, errors.Unreachable):
    """Nothing answers there."""


class GitTimedOut(GitError, errors.TimedOut):
    """It took too long."""


class GitUntrusted(GitError):
    """The server's certificate or host key does not verify, so nothing was sent to it."""


class GitUnauthorised(GitError):
    """The server wants other credentials, or any."""


class GitNotFound(GitError):
    """There is no such repository, revision, branch or file."""


class NotARepository(GitError):
    """The directory is no work tree and no repository."""


class GitPointsElsewhere(NotARepository):
    """Its ``.git`` leads to a repository elsewhere that does not name it as a work tree."""


class GitRejected(GitError):
    """The remote does not take what was pushed."""

    @property
    def is_behind(self) -> bool:
        """Whether the remote's branch has commits that ours lacks, so that fetching first helps."""
        return re.search(r"non-fast-forward|fetch first|stale info", self.detail) is not None


class GitBusy(GitError):
    """Another Git is at work in the same repository."""


class GitTooLarge(GitError):
    """There is more of it than was allowed."""


class GitUnreadable(GitError):
    """git answered in a form that is not known here."""


# The first that is found decides: what is certain stands before what many failures have in common.
_WORDS: Sequence[tuple[re.Pattern[str], type[GitError]]] = (
    (re.compile(r"\.lock': File exists|Another git process seems to be running"), GitBusy),
    (
        re.compile(
            r"SSL certificate problem|certificate verification failed|certificate subject name|SSL: no alternative"
            r"|Host key verification failed|HOST IDENTIFICATION HAS CHANGED|No \S+ host key is known"
        ),
        GitUntrusted,
    ),
    (
        re.compile(
            r"Authentication failed|could not read (?:Username|Password)|terminal prompts disabled"
            r"|returned error: 40[13]|Permission denied \(|Access denied|HTTP 40[13]"
            r"|Too many authentication failures|Could not read from remote repository[\s\S]*not authorized"
        ),
        GitUnauthorised,
    ),
    (
        re.compile(
            r"repository '[^']*' not found|Repository not found|returned error: 404"
            r"|does not appear to be a git repository"
            r"|[Rr]emote branch \S+ not found|couldn't find remote ref|not our ref|no such remote ref"
            r"|Server does not allow request for unadvertised object"
        ),
        GitNotFound,
    ),
    (re.compile(r"timed out|Timeout was reached|Operation too slow"), GitTimedOut),
    (
        re.compile(
            r"Could not resolve (?:host|proxy)|Failed to connect|Couldn't connect|Connection (?:refused|reset|closed)"
            r"|ssh: connect to host|No route to host|Network is unreachable|Name or service not known|Empty reply"
            r"|Could not resolve hostname|SSL_connect|gnutls_handshake|Recv failure|Send failure|early EOF"
            r"|hung up unexpectedly|returned error: (?:429|5\d\d)|Proxy CONNECT aborted|Received HTTP code"
        ),
        GitUnreachable,
    ),
    (
        re.compile(
            r"unknown revision|bad revision|Needed a single revision|ambiguous argument|bad object|Invalid object name"
            r"|[Nn]ot a valid object name|not a tree object|no merge base|does not exist in|pathspec .* did not match"
            r"|invalid reference|not a valid commit name|no such path"
        ),
        GitNotFound,
    ),
    (re.compile(r"[Nn]ot a git repository"), NotARepository),
)

_HINTS: Mapping[type[GitError], str] = {
    GitUnreachable: "is the URL right, and may this computer reach it? A proxy is read from HTTPS_PROXY",
    GitTimedOut: "try again, or allow more time",
    GitUntrusted: "compare the certificate or host key with what the server's owner says it is",
    GitUnauthorised: "check the credentials, and whether they may read or write this repository",
    NotARepository: "run this in a clone of the repository",
    GitUnreadable: "is this version of git supported? 2.31 is the oldest",
    GitBusy: "wait until the other git is done; if there is none, remove the .lock file that it names",
}

_MISSING = re.compile(r"(?:unable to read|could not fetch|missing(?: blob)?(?: object)?) '?(?P<id>[0-9a-f]{40,64})\b")
_PREFIX = re.compile(r"^(?:fatal|error|remote error|remote): ", re.MULTILINE)
_NOISE = re.compile(
    r"^(?:hint: .*|warning: .*|Cloning into .*|Please make sure you have .*|and the repository exists\.)$"
)


def from_output(command: str, stderr: str, *, target: str = "") -> GitError:
    """The error for a failed command.

    Args:
        command: What was asked, such as ``ls-remote``.
        stderr: What the program printed, masked.
        target: The repository or the URL.
    """
    if absent := _MISSING.search(stderr):
        return missing(command, absent["id"], target=target, stderr=stderr)
    kind = next((kind for pattern, kind in _WORDS if pattern.search(stderr)), GitError)
    return kind(command, detail=brief(stderr), target=target, stderr=stderr)


def missing(command: str, object_id: str, *, target: str = "", stderr: str = "") -> GitError:
    """The error for an object that the repository ought to have, as partial clones have not all of theirs."""
    return GitError(
        command,
        detail=f"the object {object_id} is missing",
        target=target,
        stderr=stderr,
        hint=f"a partial clone gets it by git cat-file -e {object_id}, and everything by "
        "git fetch --refetch --no-filter; any other is damaged: see git fsck",
    )


def brief(stderr: str) -> str:
    """The line that says most: the first fatal one, or the last of all."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not _NOISE.match(line.strip())]
    if not lines:
        return "it printed nothing"
    telling = next((pattern for pattern, _ in _WORDS if pattern.search(stderr)), None)
    named = [line for line in lines if telling is not None and telling.search(line)]
    fatal = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    return _PREFIX.sub("", (named or fatal or lines[-1:])[0])

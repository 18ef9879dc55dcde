"""Everything firstlight raises on purpose.

    FirstlightError                 exit 1
      UsageError                    exit 64  what was typed cannot be meant
      Refused                       exit 3   firstlight could, but will not
      ConfigError                   a file says something it must not; has path and line
        (FormMistakes, with everything that is wrong in files of rules, is firstlight.document.mistakes')
        KubeconfigMissing           there is no kubeconfig; in firstlight.clients.kube.kubeconfig
      ToolError                     an external program cannot be found, fetched or built
      LabError                      a part of the lab did not do what it must
      ClientError                   the outside world answered no, or not at all; has a target
        Unreachable                 nothing answers there
          NotExecutable             a program is there, and must not be executed
        TimedOut                    it answers, but not in time
        LimitExceeded               a program wanted more memory, time or space than it may have
        CommandFailed               a program exited with an error; has argv, code and stderr
        ApiError                    the Kubernetes API answered no; has code, reason and causes
          (NotFound, Conflict, Invalid … are drawn in firstlight.clients.kube.kube_errors)
        UnknownKind                 the Kubernetes API serves no such kind
        KubeUntrusted               the server's certificate does not verify; has the problem
        AmbiguousWrite              a write was sent and its answer lost: it may have happened
        TalosError                  talosctl failed; has command, node and grpc_code
          (TalosUnauthorised, TalosAlreadyDone, TalosNotReady … are drawn in firstlight.clients.talosctl.talos_errors)
        OmniError                   omnictl failed; has command, detail and stderr
          (OmniNotSignedIn, OmniForbidden, OmniRejected … are drawn in firstlight.clients.omnictl.omni_errors)
        GitError                    git failed; has command, detail and stderr
          (GitUnauthorised, GitNotFound, GitRejected … are drawn in firstlight.clients.git.git_errors)
        HelmError                   helm failed; has command, detail and stderr
          (ChartNotFound, SchemaViolation, HelmTemplateError … are drawn in firstlight.clients.helm.helm_errors)
        KustomizeError              kustomize failed; has directory, path and detail
          (MissingFile, BadYaml, KustomizeForbidden … are drawn in firstlight.clients.kustomize.kustomize_errors)
        SecretError                 a secret cannot be had; has provider and about
          (SecretStoreNotSignedIn, SecretNotFound, VaultSealed … are drawn in firstlight.clients.secret_errors)

A message says what went wrong and on which thing; ``hint`` says what to do next.
"""

import enum
from collections.abc import Sequence


class ExitCode(enum.IntEnum):
    """What a command's end means to a shell."""

    FINE = 0
    FAILED = 1
    FINDINGS = 2
    """There are differences or findings."""
    BLOCKED = 3
    """Something blocks it, or firstlight refuses."""
    USAGE = 64
    INTERRUPTED = 130


class FirstlightError(Exception):
    """Base of every error that a user is meant to read."""

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class UsageError(FirstlightError):
    """What was typed cannot be meant."""

    exit_code = ExitCode.USAGE


class Refused(FirstlightError):
    """The wish is clear, and granting it would do harm."""

    exit_code = ExitCode.BLOCKED


class ConfigError(FirstlightError):
    """A file says something that it must not say."""

    def __init__(self, message: str, *, path: str, line: int = 0, hint: str = "") -> None:
        place = f"{path}:{line}" if line else path
        super().__init__(f"{place}: {message}", hint=hint)
        self.path = path
        self.line = line


class ToolError(FirstlightError):
    """An external program cannot be found, fetched or built."""


class LabError(FirstlightError):
    """A part of the lab did not do what it must."""


class ClientError(FirstlightError):
    """The outside world answered no, or not at all."""

    def __init__(self, message: str, *, target: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.target = target


class Unreachable(ClientError):
    """Nothing answers at the target."""


class NotExecutable(Unreachable):
    """A program is there, and must not be executed."""


class TimedOut(ClientError):
    """The target answers, but not in time."""


class LimitExceeded(ClientError):
    """A program wanted more memory, time, space or processes than it may have."""


class CommandFailed(ClientError):
    """A program exited with an error."""

    def __init__(self, argv: Sequence[str], *, code: int, stderr: str) -> None:
        last = stderr.strip().splitlines()[-1:] or ["it printed nothing"]
        super().__init__(f"{argv[0]} exited with {code}: {last[0]}", target=argv[0])
        self.argv = tuple(argv)
        self.code = code
        self.stderr = stderr

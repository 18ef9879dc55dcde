"""What Omni, or omnictl itself, can answer instead of yes, as types.

    errors.ClientError
      OmniError             has command, detail and stderr
        OmniUnreachable     nothing answers there; is errors.Unreachable, too
        OmniTimedOut        it took too long; is errors.TimedOut, too
        OmniUntrusted       the server's certificate does not verify
        OmniNotSignedIn     nobody is signed in, the key is not known, or it is no key
        OmniForbidden       this account may not do that
        OmniNotFound        there is no such cluster or resource
        OmniRejected        the template, or another argument, is wrong; problems say what
        OmniUnsupported     omnictl and the server are too far apart
        OmniUnreadable      omnictl answered in a form that is not known here

It is the gRPC code that decides where there is one. Everything here expects text that was masked before.
"""

import re
from collections.abc import Mapping, Sequence

from firstlight import errors
from firstlight.clients.talosctl.talos_errors import problems_of


class OmniError(errors.ClientError):
    """omnictl failed."""

    command: str
    detail: str
    grpc_code: str
    """Empty if nobody was asked."""
    stderr: str
    """Masked."""
    problems: tuple[str, ...]
    """What is wrong, one by one."""

    def __init__(
        self,
        command: str,
        *,
        detail: str,
        grpc_code: str = "",
        stderr: str = "",
        hint: str = "",
        problems: Sequence[str] = (),
    ) -> None:
        super().__init__(f"omnictl {command}: {detail}", target="Omni", hint=hint or _HINTS.get(type(self), ""))
        self.command = command
        self.detail = detail
        self.grpc_code = grpc_code
        self.stderr = stderr
        self.problems = tuple(problems)


class OmniUnreachable(OmniError, errors.Unreachable):
    """Nothing answers there."""


class OmniTimedOut(OmniError, errors.TimedOut):
    """It took too long."""


class OmniUntrusted(OmniError):
    """The server's certificate does not verify."""


class OmniNotSignedIn(OmniError):
    """Nobody is signed in, or the key is not known there."""


class OmniForbidden(OmniError):
    """This account may not do that."""


class OmniNotFound(OmniError):
    """There is no such cluster or resource."""


class OmniRejected(OmniError):
    """The template, or another argument, is wrong."""


class OmniUnsupported(OmniError):
    """omnictl and the server are too far apart."""


class OmniUnreadable(OmniError):
    """omnictl answered in a form that is not known here."""


_BY_CODE: Mapping[str, type[OmniError]] = {
    "Unavailable": OmniUnreachable,
    "DeadlineExceeded": OmniTimedOut,
    "Unauthenticated": OmniNotSignedIn,
    "PermissionDenied": OmniForbidden,
    "NotFound": OmniNotFound,
    "InvalidArgument": OmniRejected,
    "FailedPrecondition": OmniRejected,
    "AlreadyExists": OmniRejected,
    "Unimplemented": OmniUnsupported,
}

# What omnictl says on its own behalf has no code; the first that is found decides.
_WITHOUT_CODE: Sequence[tuple[re.Pattern[str], type[OmniError]]] = (
    (re.compile(r"context deadline exceeded"), OmniTimedOut),
    (re.compile(r"API version mismatch|does not support API versions"), OmniUnsupported),
    (re.compile(r"unknown (?:shorthand )?flag|unknown command"), OmniUnsupported),
    (re.compile(r"illegal base64 data|service account key|[Oo]penpgp|armored|failed to get signer"), OmniNotSignedIn),
    (re.compile(r"has not been configured|context not found"), OmniNotSignedIn),
    (re.compile(r"cluster not found|cluster \S+ not found|doesn't exist"), OmniNotFound),
    (re.compile(r"x509: "), OmniUntrusted),
)
_RPC = re.compile(r"rpc error: code = (?P<code>[A-Za-z]+) desc = (?P<detail>.*)", re.DOTALL)
_TLS = re.compile(r"x509: |failed to verify certificate")
_WRAPPED = re.compile(r'connection error: desc = "(?:transport: )?(?:Error while dialing: )?(?P<inner>.*)"', re.DOTALL)
_NOISE = re.compile(r"^(?:\[WARN\]|WARN:|INFO:|If you want to enable the version validation).*$\n?", re.MULTILINE)


def from_output(command: str, stderr: str) -> OmniError:
    """The error for a failed call.

    Args:
        command: What was asked.
        stderr: What the program printed, masked.
    """
    said = _NOISE.sub("", stderr).strip().removeprefix("Error: ").strip()
    code, detail = "", said
    while (match := _RPC.search(detail)) is not None:  # one error may wrap another; the innermost knows best
        code, detail = match["code"], match["detail"]
    if code:
        kind = _BY_CODE.get(code, OmniError)
        if kind is OmniUnreachable and _TLS.search(detail):
            kind = OmniUntrusted
    else:
        kind = next((kind for pattern, kind in _WITHOUT_CODE if pattern.search(said)), OmniRejected)
    if (wrapped := _WRAPPED.search(detail)) is not None:
        detail = wrapped["inner"]
    problems = problems_of(detail) or (" ".join(detail.split()) or "it printed nothing",)
    return kind(command, detail="; ".join(problems), grpc_code=code, stderr=stderr, problems=problems)


_HINTS: Mapping[type[OmniError], str] = {
    OmniUnreachable: "Is the address of Omni right? It is in OMNI_ENDPOINT, or in the omniconfig: omnictl config info",
    OmniTimedOut: "See what Omni does: omnictl cluster status NAME",
    OmniUntrusted: "Does another server answer there? See: omnictl config info",
    OmniNotSignedIn: "Sign in once with: omnictl get clusters; or set OMNI_ENDPOINT and OMNI_SERVICE_ACCOUNT_KEY.",
    OmniForbidden: "The account needs the role Operator in Omni, or an access policy for this cluster.",
    OmniNotFound: "omnictl get clusters lists those that this account may see.",
    OmniRejected: "Check the template: omnictl cluster template validate -f FILE, run where its files are.",
    OmniUnsupported: "Use the omnictl of the server: its web page has it under Download.",
    OmniUnreadable: "Is this version of omnictl supported? See: firstlight tools",
}

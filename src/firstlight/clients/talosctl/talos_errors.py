"""What a Talos machine, or talosctl itself, can answer instead of yes, as types.

    errors.ClientError
      TalosError            has command, node, grpc_code, detail and stderr; others, if several machines said no
        TalosUnreachable    nothing answers there; is errors.Unreachable, too
        TalosTimedOut       it took too long; is errors.TimedOut, too
        TalosUntrusted      the machine's certificate does not verify; has the problem
        TalosUnauthorised   the machine refuses our certificate, or our role
        TalosAlreadyDone    what was asked for is there already
        TalosNotReady       the machine, or a part of it, cannot do this now
        TalosNotFound       there is no such resource, service or log
        TalosRejected       the config, or another argument, is wrong; problems say what
        TalosUnsupported    this kind or version of machine, or of talosctl, cannot do this
        TalosUnreadable     talosctl answered in a form that is not known here

talosctl prints gRPC errors with their code, and it is the code that decides. Only for ``Unavailable`` the words
matter: failures of TLS, of the network and of services behind the API all come under that name.
Everything here expects text that was masked before.
"""

import dataclasses
import enum
import re
from collections.abc import Mapping, Sequence

from firstlight import errors
from firstlight.clients.talosctl import machine_target
from firstlight.model.secret import Secret


@dataclasses.dataclass(frozen=True)
class TalosctlCall:
    """What was asked, for messages."""

    words: tuple[str, ...]
    about: str = ""
    nodes: tuple[str, ...] = ()
    insecure: bool = False

    @property
    def command(self) -> str:
        """The command and what it is about: ``get Members.cluster.talos.dev``."""
        return " ".join((*self.words, self.about)).strip()

    def on(self, node: str) -> str:
        """The command and the machine that said no, or all that were asked."""
        where = node or ", ".join(self.nodes)
        return f"talosctl {self.command} on {where}" if where else f"talosctl {self.command}"


class TalosError(errors.ClientError):
    """talosctl failed."""

    node: str
    """The machine that said no, if it is known."""
    detail: str
    grpc_code: str
    """Empty if no machine was asked."""
    stderr: str
    """Masked."""
    problems: tuple[str, ...]
    """What is wrong, one by one."""
    others: tuple["TalosError", ...]
    """The answers of further machines that said no."""
    stdout: Secret
    """What it printed before it failed."""

    def __init__(
        self,
        call: TalosctlCall,
        *,
        detail: str,
        node: str = "",
        grpc_code: str = "",
        stderr: str = "",
        hint: str = "",
        problems: Sequence[str] = (),
        others: Sequence["TalosError"] = (),
    ) -> None:
        message = f"{call.on(node)}: {detail}"
        if others:
            message += f" (and {', '.join(other.node or other.detail for other in others)})"
        super().__init__(message, target=node or ", ".join(call.nodes), hint=hint or _HINTS.get(type(self), ""))
        self.call = call
        self.command = call.command
        self.node = node or (call.nodes[0] if len(call.nodes) == 1 else "")
        self.detail = detail
        self.grpc_code = grpc_code
        self.stderr = stderr
        self.problems = tuple(problems)
        self.others = tuple(others)
        self.stdout = Secret(b"")


class TalosUnreachable(TalosError, errors.Unreachable):
    """Nothing answers there."""

    @property
    def was_cut(self) -> bool:
        """Whether the connection ended just after it was made, as it also does when a certificate is refused.

        The refusal and the end of the connection race in TLS 1.3, and the reason is lost in about half of all cases.
        """
        return _CUT.search(self.detail) is not None


class TalosTimedOut(TalosError, errors.TimedOut):
    """It took too long."""


class TalosCertificateProblem(enum.Enum):
    """What is wrong with a machine's certificate."""

    EXPIRED = "expired"
    WRONG_NAME = "wrong name"
    UNKNOWN_AUTHORITY = "unknown authority"
    OTHER = "other"


class TalosUntrusted(TalosError):
    """The machine's certificate does not verify, so nothing was sent to it."""

    @property
    def problem(self) -> TalosCertificateProblem:
        """What is wrong with it."""
        return _problem(self.detail)


class TalosUnauthorised(TalosError):
    """The machine refuses our certificate, or our role."""


class TalosAlreadyDone(TalosError):
    """What was asked for is there already."""


class TalosNotReady(TalosError):
    """The machine, or a part of it, cannot do this now."""


class TalosNotFound(TalosError):
    """There is no such resource, service or log."""


class TalosRejected(TalosError):
    """The config, or another argument, is wrong."""


class TalosUnsupported(TalosError):
    """This kind or version of machine, or of talosctl, cannot do this."""


class TalosUnreadable(TalosError):
    """talosctl answered in a form that is not known here."""


_BY_CODE: Mapping[str, type[TalosError]] = {
    "Unavailable": TalosUnreachable,
    "DeadlineExceeded": TalosTimedOut,
    "PermissionDenied": TalosUnauthorised,
    "Unauthenticated": TalosUnauthorised,
    "AlreadyExists": TalosAlreadyDone,
    "FailedPrecondition": TalosNotReady,
    "NotFound": TalosNotFound,
    "InvalidArgument": TalosRejected,
    "Unimplemented": TalosUnsupported,
}

_PROBLEMS = (
    ("signed by unknown authority", TalosCertificateProblem.UNKNOWN_AUTHORITY),
    ("has expired or is not yet valid", TalosCertificateProblem.EXPIRED),
    ("x509: certificate is valid for", TalosCertificateProblem.WRONG_NAME),
    ("x509: cannot validate certificate for", TalosCertificateProblem.WRONG_NAME),
)

# The words under which ``Unavailable`` is not what it seems; the first that is found decides.
_UNAVAILABLE: Sequence[tuple[re.Pattern[str], type[TalosError]]] = (
    (re.compile(r"x509: |failed to verify certificate|match the provided fingerprint"), TalosUntrusted),
    (re.compile(r"remote error: tls: "), TalosUnauthorised),
    (
        re.compile(
            r"connection error|transport: |transport is closing|dial |server preface|error reading from server"
            r"|name resolver error|broken pipe|connection reset|connection refused|i/o timeout|keepalive|EOF|GOAWAY"
        ),
        TalosUnreachable,
    ),
    (re.compile(r""), TalosNotReady),
)

# What talosctl says on its own behalf, before any machine is asked, has no code.
_WITHOUT_CODE: Sequence[tuple[re.Pattern[str], type[TalosError]]] = (
    (re.compile(r"context deadline exceeded|timeout exceeded|retry timeout"), TalosTimedOut),
    (re.compile(r"unknown (?:shorthand )?flag|unknown command"), TalosUnsupported),
    (
        re.compile(r"load client key pair|error decoding (?:CA|certificate|key)\b|failed to append CA"),
        TalosUnauthorised,
    ),
    (re.compile(r"x509: |match the provided fingerprint"), TalosUntrusted),
)

_CUT = re.compile(r"(?:write|read): (?:broken pipe|connection reset by peer)|server preface: EOF")
_RPC = re.compile(r"rpc error: code = (?P<code>[A-Za-z]+) desc = (?P<detail>.*)", re.DOTALL)
_NODE = re.compile(
    r"^\s*(?:\* (?P<listed>\S+): "
    r"|\"(?P<tracked>[^\"]+)\": "
    r"|.*error (?:[^:]* )?(?:from|on) node (?P<named>\S+): "
    # Since talosctl 1.14, which asks every machine itself.
    r"|(?P<first>\S+): error )"
)
_PARTIAL = re.compile(r"^WARNING: \d+ errors? occurred:", re.MULTILINE)
_USAGE = re.compile(r"\n\s*\nUsage:\n.*", re.DOTALL)
_BULLET = re.compile(r"^\s*\* (?P<text>.*\S)\s*$", re.MULTILINE)
_COUNT = re.compile(r"\d+ errors? occurred:$")


def is_partial(stderr: str) -> bool:
    """Whether some machines said no although the program ended well, as it does when others said yes."""
    return _PARTIAL.search(stderr) is not None


def from_output(call: TalosctlCall, stderr: str) -> TalosError:
    """The error for a failed call.

    Args:
        call: What was asked.
        stderr: What the program printed, masked.
    """
    said = _USAGE.sub("", stderr).strip()
    found = _rpc_errors(said)
    if not found:
        return _without_code(call, said, stderr=stderr)
    first, *others = (_with_code(call, error, stderr=stderr) for error in found)
    return first if not others else _with_code(call, found[0], stderr=stderr, others=others)


def problems_of(said: str) -> tuple[str, ...]:
    """The entries of the lists of errors that Go programs print, inner lists without their headings."""
    return tuple(match["text"] for match in _BULLET.finditer(said) if not _COUNT.search(match["text"]))


@dataclasses.dataclass(frozen=True)
class _RpcError:
    node: str
    code: str
    detail: str


def _rpc_errors(said: str) -> list[_RpcError]:
    """One for each machine that is named, the last if there are several; in the order of the machines."""
    chunks: list[str] = []
    for line in said.splitlines():
        if "rpc error: code = " in line:
            chunks.append(line)
        elif chunks and not line.startswith(('"', "WARNING:", "ERROR:")):
            chunks[-1] += f"\n{line}"
    found: dict[str, _RpcError] = {}
    for chunk in chunks:
        # One error may wrap another; the innermost knows best.
        code, detail = "", chunk
        while (match := _RPC.search(detail)) is not None:
            code, detail = match["code"], match["detail"]
        where = _NODE.match(chunk)
        node = next((group for group in where.groups() if group), "") if where else ""
        node = node if machine_target.is_host(node) else ""
        found[node] = _RpcError(node, code, detail)
    return list(found.values())


def _with_code(call: TalosctlCall, error: _RpcError, *, stderr: str, others: Sequence[TalosError] = ()) -> TalosError:
    kind = _BY_CODE.get(error.code, TalosError)
    if kind is TalosUnreachable:
        kind = next(kind for pattern, kind in _UNAVAILABLE if pattern.search(error.detail))
    detail = _brief(error.detail)
    return kind(
        call,
        detail=detail,
        node=error.node,
        grpc_code=error.code,
        stderr=stderr,
        hint=_hint(kind, detail, call),
        problems=problems_of(error.detail) or (detail,),
        others=others,
    )


def _without_code(call: TalosctlCall, said: str, *, stderr: str) -> TalosError:
    lines = [line.rstrip() for line in said.splitlines() if line.strip()] or ["it printed nothing"]
    problems = problems_of(said)
    node = ""
    if not call.nodes:
        # Nobody was asked, so it is what was given that is wrong, and all lines are about that.
        kind: type[TalosError] = TalosRejected
        problems = problems or ("\n".join(lines),)
    else:
        # The lines before the last tell of progress.
        kind = TalosError
        match = _NODE.match(lines[-1])
        node = (match["tracked"] or match["listed"] or "") if match else ""
        node = node if machine_target.is_host(node) else ""
        problems = problems or (lines[-1][match.end() :] if match and node else lines[-1],)
    kind = next((kind for pattern, kind in _WITHOUT_CODE if pattern.search(said)), kind)
    detail = "; ".join(_brief(problem) for problem in problems)
    return kind(call, detail=detail, node=node, stderr=stderr, hint=_hint(kind, detail, call), problems=problems)


_WRAPPED = re.compile(r'^(?:last connection error: )?connection error: desc = "(?P<inner>.*)"$', re.DOTALL)
_NOISE = re.compile(r"^(?:transport: )?(?:Error while dialing: |authentication handshake failed: )?")


def _brief(detail: str) -> str:
    """A detail in one line, without what every failure of a connection says."""
    detail = detail.strip()
    if problems := problems_of(detail):
        head = detail.split("\n", 1)[0]
        return "; ".join(problems) if _COUNT.search(head) else f"{head} {'; '.join(problems)}"
    match = _WRAPPED.match(detail)
    detail = _NOISE.sub("", match["inner"] if match else detail)
    return " ".join(detail.split())


def _problem(detail: str) -> TalosCertificateProblem:
    return next((problem for words, problem in _PROBLEMS if words in detail), TalosCertificateProblem.OTHER)


def _hint(kind: type[TalosError], detail: str, call: TalosctlCall) -> str:
    if kind is TalosUntrusted:
        return _UNTRUSTED_HINTS[_problem(detail)]
    if kind is TalosUnauthorised and "certificate required" in detail and call.insecure:
        return "the machine is configured already: talk to it with the talosconfig of its cluster"
    if kind is TalosUnauthorised and call.insecure:
        return "a machine in maintenance mode can be looked at and configured; for more it must be configured first"
    if kind is TalosUnauthorised and ("tls: " in detail or "key pair" in detail or "decoding" in detail):
        return "does this talosconfig belong to the machine's cluster, and has its certificate expired?"
    return ""


_UNTRUSTED_HINTS = {
    TalosCertificateProblem.UNKNOWN_AUTHORITY: "the machine is in maintenance mode, or belongs to "
    "another cluster than the talosconfig",
    TalosCertificateProblem.EXPIRED: "check the clocks of this computer and of the machine",
    TalosCertificateProblem.WRONG_NAME: "use an address that is in the certificate, or add this one to "
    "machine.certSANs",
    TalosCertificateProblem.OTHER: "compare the machine's certificate with what was expected",
}

_HINTS: Mapping[type[TalosError], str] = {
    TalosUnreachable: "is the machine on, is the address right, and may this computer reach its port 50000?",
    TalosTimedOut: "see what the machine does: talosctl dmesg, talosctl service",
    TalosUnauthorised: "the role in this talosconfig does not allow that; os:admin does",
    TalosNotReady: "try again in a while",
    TalosNotFound: "talosctl get rd lists the resources, talosctl service the services of a machine",
    TalosUnsupported: "compare the versions of talosctl and of the machine; some commands work on control planes only",
    TalosUnreadable: "is this version of talosctl supported? See: firstlight tools",
}

"""What a Kubernetes API server can answer instead of yes, as types.

    errors.ClientError
      ApiError                      the server answered no; has code, reason, causes, retry_after, involved
        BadRequest          400     the request makes no sense to the server
          DryRunRefused             a webhook that would be called does not take part in dry runs
        Unauthorized        401     it does not know who asks
        Forbidden           403     it knows, and says no
        NotFound            404
        AlreadyExists       409     a create found the name taken
        Conflict            409     a precondition failed, or (``is_field_conflict``) others own a field
        Gone                410     a resource version or continue token is too old
        Invalid             422     a field is wrong; ``causes`` say which
        TooManyRequests     429
        ServerError         5xx     the server, or something before it, has a problem of its own
      UnknownKind                   discovery knows no such apiVersion and kind
      KubeUntrusted                 the server's certificate does not verify; has ``problem``
      AmbiguousWrite                a write was sent and lost: it may or may not have happened

``from_status`` is called by the client with every answer of 400 or more. What a server says about a Secret
may repeat its values, so for that kind only the reason and the field paths are kept.
"""

import dataclasses
import enum
import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors

_CONFLICT = re.compile(r'^conflict with "(?P<manager>[^"]+)"(?: with subresource "(?P<subresource>[^"]+)")?')

_NO_DRY_RUN = "does not support dry run"
_READS = frozenset({"get", "list", "watch", "GET", "HEAD"})


@dataclasses.dataclass(frozen=True)
class ApiTarget:
    """What a request is about, for messages: the verb, the object and the server."""

    verb: str
    server: str
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def is_confidential(self) -> bool:
        """Whether what the server says about it may repeat a secret value: a refused write of a Secret."""
        if self.verb in _READS:
            return False
        return self.kind in {"Secret", "SecretList"} or "secrets" in self.path.split("/")

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace and self.name else self.name or self.namespace
        thing = " ".join(part for part in (self.kind, name) if part) or self.path
        return f"{self.verb} {thing} on {self.server}"


@dataclasses.dataclass(frozen=True)
class StatusCause:
    """One of the reasons of a Status."""

    field: str
    reason: str
    message: str


@dataclasses.dataclass(frozen=True)
class StatusObject:
    """The object that a Status is about, as the server names it."""

    group: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


@dataclasses.dataclass(frozen=True)
class FieldConflict:
    """A field of an apply that somebody else owns with another value."""

    field: str
    manager: str
    subresource: str = ""


class ApiError(errors.ClientError):
    """The server answered, and the answer is no."""

    def __init__(
        self,
        target: ApiTarget,
        *,
        code: int,
        reason: str = "",
        detail: str = "",
        causes: Sequence[StatusCause] = (),
        retry_after: float | None = None,
        involved: StatusObject | None = None,
        hint: str = "",
    ) -> None:
        said = f"{code} {reason}".strip() + (f": {detail}" if detail else "")
        super().__init__(f"{target}: {said}", target=target.server, hint=hint)
        self.request = target
        self.code = code
        self.reason = reason
        self.detail = detail
        self.causes = tuple(causes)
        self.retry_after = retry_after
        self.involved = involved or StatusObject()


class BadRequest(ApiError):
    """The request makes no sense to the server."""


class DryRunRefused(BadRequest):
    """A webhook that would be called does not take part in dry runs."""


class Unauthorized(ApiError):
    """The server does not know who asks."""


class Forbidden(ApiError):
    """The server knows who asks, and says no."""


class NotFound(ApiError):
    """There is no such object, or no such path."""


class AlreadyExists(ApiError):
    """A create found the name taken."""


class Conflict(ApiError):
    """A precondition failed, or another manager owns a field."""

    @property
    def conflicts(self) -> tuple[FieldConflict, ...]:
        """The fields that other managers own; empty if a precondition failed instead."""
        found = []
        for cause in self.causes:
            if cause.reason == "FieldManagerConflict":
                match = _CONFLICT.match(cause.message)
                manager = match["manager"] if match else ""
                found.append(FieldConflict(cause.field, manager, (match and match["subresource"]) or ""))
        return tuple(found)

    @property
    def is_field_conflict(self) -> bool:
        """Whether ``force`` would be the answer, or leaving the field alone."""
        return any(cause.reason == "FieldManagerConflict" for cause in self.causes)

    @property
    def managers(self) -> tuple[str, ...]:
        """Who owns the fields in conflict, each once, sorted."""
        return tuple(sorted({conflict.manager for conflict in self.conflicts if conflict.manager}))


class Gone(ApiError):
    """A resource version or a continue token is older than what the server remembers."""


class Invalid(ApiError):
    """The object is wrong; ``causes`` say in which fields."""


class TooManyRequests(ApiError):
    """The server wants to be asked less."""


class ServerError(ApiError):
    """The server, or something before it, has a problem of its own."""


class UnknownKind(errors.ClientError):
    """Discovery knows no such apiVersion and kind; ``nearest`` are names that may have been meant."""

    def __init__(
        self, api_version: str, kind: str, *, server: str, nearest: Sequence[str] = (), stale: bool = False
    ) -> None:
        text = f"{server} serves no kind {kind} in {api_version}"
        if stale:
            text += "; the API behind that group does not answer, so this may change"
        if nearest:
            hint = f"the nearest it serves: {', '.join(nearest)}"
        else:
            hint = "is its CustomResourceDefinition installed?"
        super().__init__(text, target=server, hint=hint)
        self.api_version = api_version
        self.kind = kind
        self.nearest = tuple(nearest)
        self.is_stale = stale


class CertificateProblem(enum.Enum):
    """What is wrong with a certificate."""

    EXPIRED = "has expired"
    NOT_YET_VALID = "is not valid yet"
    WRONG_NAME = "is for another name"
    UNKNOWN_AUTHORITY = "is signed by an unknown authority"
    OTHER = "does not verify"


class KubeUntrusted(errors.ClientError):
    """The server's certificate does not verify, so nothing was sent to it."""

    def __init__(self, server: str, *, problem: CertificateProblem, detail: str) -> None:
        super().__init__(
            f"the certificate of {server} {problem.value}: {detail}",
            target=server,
            hint=_UNTRUSTED_HINTS[problem],
        )
        self.problem = problem


class AmbiguousWrite(errors.ClientError):
    """A write was sent and its answer lost: it may have happened, and repeating it could do it twice."""

    def __init__(self, target: ApiTarget, *, because: str) -> None:
        super().__init__(
            f"{target}: {because}; it may or may not have been carried out",
            target=target.server,
            hint="look at the object, then decide whether to do it again",
        )
        self.request = target


_UNTRUSTED_HINTS = {
    CertificateProblem.EXPIRED: "renew the certificate, or check this machine's clock",
    CertificateProblem.NOT_YET_VALID: "check this machine's clock and the server's",
    CertificateProblem.WRONG_NAME: "use a name from the certificate as server, or set tls-server-name in "
    "the kubeconfig",
    CertificateProblem.UNKNOWN_AUTHORITY: "is this the cluster you mean? Then write its CA into "
    "certificate-authority-data",
    CertificateProblem.OTHER: "compare certificate-authority-data in the kubeconfig with the cluster's CA",
}

_BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def from_status(
    target: ApiTarget, status: object, *, code: int, retry_after: float | None = None, text: str = ""
) -> ApiError:
    """The error for an answer of 400 or more.

    Args:
        target: What was asked.
        status: The decoded body, if it was JSON: usually a ``Status``.
        code: The HTTP status; an ERROR event of a watch has it inside.
        retry_after: Seconds from the header.
        text: The body if it was not JSON, such as a proxy's page.
    """
    body: Mapping[str, Any] = status if isinstance(status, Mapping) and status.get("kind") == "Status" else {}
    details: Mapping[str, Any] = body.get("details") or {}
    reason = str(body.get("reason") or "")
    if retry_after is None and isinstance(details.get("retryAfterSeconds"), int):
        retry_after = float(details["retryAfterSeconds"])
    causes = tuple(
        _cause(cause, confidential=target.is_confidential)
        for cause in details.get("causes") or ()
        if isinstance(cause, Mapping)
    )
    if target.is_confidential:
        fields = [cause.field for cause in causes if cause.field]
        detail = f"in {', '.join(fields)}" if fields else ""
    else:
        detail = str(body.get("message") or "") or " ".join(text.split())[:300]
    return _class_for(code, reason, str(body.get("message")))(
        target,
        code=code,
        reason=reason,
        detail=detail,
        causes=causes,
        retry_after=retry_after,
        involved=StatusObject(
            group=str(details.get("group") or ""),
            kind=str(details.get("kind") or ""),
            name=str(details.get("name") or ""),
            uid=str(details.get("uid") or ""),
        ),
        hint=_HINTS.get(code, ""),
    )


_HINTS = {
    401: "renew the credentials of this context in the kubeconfig",
    403: "kubectl auth can-i shows what this identity may do",
}


def _class_for(code: int, reason: str, message: str) -> type[ApiError]:
    if code == 400 and _NO_DRY_RUN in message:
        return DryRunRefused
    if code == 409 and reason == "AlreadyExists":
        return AlreadyExists
    if code >= 500:
        return ServerError
    return _BY_CODE.get(code, ApiError)


def _cause(cause: Mapping[str, Any], *, confidential: bool) -> StatusCause:
    reason = str(cause.get("reason") or "")
    message = str(cause.get("message") or "")
    if confidential:
        # Of a conflict only the manager's name is kept, which is no value of the object.
        match = _CONFLICT.match(message) if reason == "FieldManagerConflict" else None
        message = match[0] if match else ""
    return StatusCause(field=str(cause.get("field") or ""), reason=reason, message=message)

"""What Helm, or the registry or cluster that it asked, can answer instead of yes, as types.

    errors.ClientError
      HelmError             has command, detail and stderr
        HelmUnreachable     nothing answers there; is errors.Unreachable, too
        HelmTimedOut        it took too long; is errors.TimedOut, too
        HelmUntrusted       a server's certificate does not verify
        HelmUnauthorised    the registry, repository or cluster wants other credentials, or any
        ChartNotFound       there is no such chart, repository or directory
        VersionNotFound     there is the chart, but not in this version
        BadChart            the chart cannot be read, is not for this Kubernetes, or lacks charts that it needs
        BadValues           the values are not YAML
        SchemaViolation     the values are not what the chart's schema wants; problems say which
        HelmTemplateError   a template fails; has the file, line and column
        ReleaseNotFound     there is no such release, or no such revision
        HelmAlreadyExists   a release of this name is there already
        HelmBusy            another operation on the release is under way, or was when its Helm died
        HelmNotOwned        an object is there already and does not belong to the release
        HelmConflict        others own fields that would be written
        HelmOvertaken       an object was written by somebody else at the same moment
        HelmRejected        the cluster does not take an object
        HelmTooLarge        it printed more than is read
        HelmLimitExceeded   it wanted more memory, time or space than it may have; is errors.LimitExceeded, too
        HelmUnreadable      helm answered in a form that is not known here

Helm has one exit code for all of them, so its words decide. Everything here expects text that was masked before.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence

from firstlight import errors


@dataclasses.dataclass(frozen=True)
class SchemaProblem:
    """A value that is not what a schema wants."""

    chart: str
    path: str
    """Where the value is: ``/image/tag``."""
    message: str


@dataclasses.dataclass(frozen=True)
class TemplatePlace:
    """Where a template failed."""

    file: str
    """As Helm names it: the chart, then the path in it."""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)


class HelmError(errors.ClientError):
    """helm failed."""

    def __init__(self, command: str, *, detail: str, target: str = "", stderr: str = "", hint: str = "") -> None:
        about = f" of {target}" if target else ""
        super().__init__(f"helm {command}{about}: {detail}", target=target, hint=hint or _hint(type(self), detail))
        self.command = command
        self.detail = detail
        self.stderr = stderr
        """Masked."""


class HelmUnreachable(HelmError, errors.Unreachable):
    """Nothing answers there."""


class HelmTimedOut(HelmError, errors.TimedOut):
    """It took too long."""


class HelmUntrusted(HelmError):
    """A server's certificate does not verify, so nothing was sent to it."""


class HelmUnauthorised(HelmError):
    """The registry, repository or cluster wants other credentials, or any."""


class ChartNotFound(HelmError):
    """There is no such chart, repository or directory."""


class VersionNotFound(HelmError):
    """There is the chart, but not in this version."""


class BadChart(HelmError):
    """The chart cannot be read, is not for this Kubernetes, or lacks charts that it needs."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The charts that it needs and does not have."""
        match = _MISSING.search(self.stderr)
        return tuple(name.strip() for name in match["names"].split(",")) if match else ()


class BadValues(HelmError):
    """The values are not YAML."""


class SchemaViolation(HelmError):
    """The values are not what the chart's schema wants."""

    @property
    def problems(self) -> tuple[SchemaProblem, ...]:
        """What is wrong, one by one."""
        return _problems(self.stderr)


class HelmTemplateError(HelmError):
    """A template fails."""

    @property
    def places(self) -> tuple[TemplatePlace, ...]:
        """Where, from the template that was rendered to the one inside it that failed."""
        return _places(self.stderr)

    @property
    def place(self) -> TemplatePlace | None:
        """Where it failed."""
        return self.places[-1] if self.places else None


class ReleaseNotFound(HelmError):
    """There is no such release, or no such revision."""


class HelmAlreadyExists(HelmError):
    """A release of this name is there already."""


class HelmBusy(HelmError):
    """Another operation on the release is under way, or was when its Helm died."""


class HelmNotOwned(HelmError):
    """An object is there already and does not belong to the release."""


class HelmConflict(HelmError):
    """Others own fields that would be written."""

    @property
    def managers(self) -> tuple[str, ...]:
        """Who owns them."""
        return tuple(dict.fromkeys(_MANAGER.findall(self.stderr)))


class HelmOvertaken(HelmError):
    """An object was written by somebody else at the same moment."""


class HelmRejected(HelmError):
    """The cluster does not take an object."""


class HelmTooLarge(HelmError):
    """It printed more than is read."""


class HelmLimitExceeded(HelmError, errors.LimitExceeded):
    """It wanted more memory, time or space than it may have."""


class HelmUnreadable(HelmError):
    """helm answered in a form that is not known here."""


_MISSING = re.compile(r"found in Chart\.yaml, but missing in charts/ directory: (?P<names>.+)")
_MANAGER = re.compile(r'conflicts? with "([^"]+)"')
_PARENTHESISED = re.compile(
    r"(?:parse|execution) error at \((?P<file>[^:()\n]+):(?P<line>\d+)(?::(?P<column>\d+))?\): "
)
_BARE = re.compile(r"^(?:Error: )?(?:[A-Z ]+ FAILED: )?(?P<file>[^\s:]+):(?P<line>\d+):(?P<column>\d+)$", re.MULTILINE)
_YAML = re.compile(r"YAML parse error on (?P<file>[^:\n]+): ")

# The first that is found decides: what is certain stands before what many failures have in common.
_WORDS: Sequence[tuple[re.Pattern[str], type[HelmError]]] = (
    (re.compile(r"values don't meet the specifications of the schema"), SchemaViolation),
    (_PARENTHESISED, HelmTemplateError),
    (_BARE, HelmTemplateError),
    (
        re.compile(r"YAML parse error on |could not find template |error calling |template: no template"),
        HelmTemplateError,
    ),
    (re.compile(r"failed to parse .*: cannot unmarshal yaml document|failed to parse /proc/"), BadValues),
    (re.compile(r"release: not found|has no deployed releases"), ReleaseNotFound),
    (re.compile(r"cannot reuse a name that is still in use"), HelmAlreadyExists),
    (re.compile(r"another operation \(install/upgrade/rollback\) is in progress"), HelmBusy),
    (re.compile(r"exists and cannot be imported into the current release"), HelmNotOwned),
    (re.compile(r"Apply failed with \d+ conflicts?"), HelmConflict),
    (re.compile(r"conflict occurred while applying|the object has been modified"), HelmOvertaken),
    (
        re.compile(
            r"found in Chart\.yaml, but missing in charts/|Chart\.yaml file is missing|cannot load Chart\.yaml"
            r"|chart requires kubeVersion|validation: chart\.metadata|chart is not installable|library charts are not"
            r"|file '?Chart\.yaml'? .*does not exist|does not appear to be a (?:valid )?gzipped archive|chart archive"
        ),
        BadChart,
    ),
    (re.compile(r"x509: |certificate signed by unknown authority|failed to verify certificate"), HelmUntrusted),
    (
        re.compile(
            r"\b40[13]:? (?:Unauthorized|Forbidden)|status code 40[13]|credential not found|is forbidden: User"
            r"|You must be logged in|has asked for the client to provide credentials|unauthorized: |denied: "
        ),
        HelmUnauthorised,
    ),
    (
        re.compile(
            r"could not locate a version matching|no chart version found for|improper constraint"
            r"|chart \"[^\"]+\" version \"[^\"]+\" not found in"
        ),
        VersionNotFound,
    ),
    (
        re.compile(
            r"path \"[^\"]*\" not found|chart \"[^\"]+\" not found in|no chart name found|: not found$"
            r"|404:? Not Found|no such file or directory|has no downloadable URLs"
            r"|is not a valid chart repository .*unmarshal"
        ),
        ChartNotFound,
    ),
    (
        re.compile(
            r"context deadline exceeded|timed out waiting|Client\.Timeout exceeded|i/o timeout|TLS handshake timeout"
        ),
        HelmTimedOut,
    ),
    (
        re.compile(
            r"connection refused|no such host|Kubernetes cluster unreachable|network is unreachable|no route to host"
            r"|connection reset|server misbehaving|\b(?:429|5\d\d):? [A-Z]|EOF$"
            r"|server gave HTTP response to HTTPS client|is currently unable to handle the request|etcdserver: "
        ),
        HelmUnreachable,
    ),
    (
        re.compile(
            r"is invalid: |no matches for kind|admission webhook|unable to build kubernetes objects|error validating"
            r"|failed to create typed patch object|namespaces? \"[^\"]+\" not found|field is immutable"
        ),
        HelmRejected,
    ),
)  # fmt: skip

_HINTS: Mapping[type[HelmError], str] = {
    HelmUnreachable: "is the address right, and may this computer reach it? A proxy is read from HTTPS_PROXY",
    HelmTimedOut: "see what the cluster waits for, or allow more time",
    HelmUnauthorised: "check the credentials, and what they are allowed",
    ChartNotFound: "is the chart written correctly, and is its repository or registry the right one?",
    VersionNotFound: "see which versions there are",
    HelmBusy: "wait for it; if its Helm is gone, the pending revision must be repaired first",
    HelmNotOwned: "whose is it? Helm can take it over with take_ownership",
    HelmConflict: "who owns the field should write it; force_conflicts takes it from them",
    HelmOvertaken: "try again; if it happens each time, somebody else writes it all the time",
    HelmUnreadable: "is this version of helm supported? See: firstlight tools",
}

_PLAIN = "server gave HTTP response to HTTPS client"
_PLAIN_HINT = (
    "it speaks HTTP without TLS: if that is meant, say so in its source: spec.insecure: true of an OCIRepository, or "
    "of a HelmRepository of type oci; or for yourself: FIRSTLIGHT_PLAIN_HTTP=ADDRESS"
)

_PREFIX = re.compile(r"^(?:Error: )?(?:(?:INSTALLATION|UPGRADE) FAILED: )?")
_LOG = re.compile(r"^(?:level=|time=|WARNING: |W\d{4} |I\d{4} |E\d{4} )")
_DEBUG = re.compile(r"\n\nUse --debug flag to render out invalid YAML\s*$")


def _hint(kind: type[HelmError], detail: str) -> str:
    return _PLAIN_HINT if _PLAIN in detail else _HINTS.get(kind, "")


def from_output(command: str, stderr: str, *, target: str = "") -> HelmError:
    """The error for a failed command.

    Args:
        command: What was asked, such as ``template``.
        stderr: What the program printed, masked.
        target: The chart or the release.
    """
    said = _DEBUG.sub("", stderr.strip())
    kind = next((kind for pattern, kind in _WORDS if pattern.search(said)), HelmError)
    return kind(command, detail=brief(said), target=target, stderr=said)


def brief(said: str) -> str:
    """The error in one line, without log lines and without what every failure says."""
    if problems := _problems(said):
        return "; ".join(f"{problem.path} of {problem.chart}: {problem.message}" for problem in problems)
    start = said.find("Error: ")
    text = said[start:] if start >= 0 else said
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _LOG.match(line)]
    return _PREFIX.sub("", " ".join(lines)) or "it printed nothing"


def _problems(said: str) -> tuple[SchemaProblem, ...]:
    _, marker, listed = said.partition(
        "values don't meet the specifications of the schema(s) in the following chart(s):"
    )
    chart, found = "", []
    for line in listed.splitlines() if marker else ():
        if match := re.fullmatch(r"- at '(?P<path>[^']*)': (?P<message>.*)", line.strip()):
            found.append(SchemaProblem(chart, match["path"] or "/", match["message"]))
        elif line.startswith("- "):
            found.append(SchemaProblem(chart, "/", line.removeprefix("- ")))
        elif line.rstrip().endswith(":"):
            chart = line.strip().removesuffix(":")
    return tuple(found)


def _places(said: str) -> tuple[TemplatePlace, ...]:
    matches = sorted((*_BARE.finditer(said), *_PARENTHESISED.finditer(said)), key=lambda match: match.start())
    found = [TemplatePlace(match["file"], int(match["line"]), int(match["column"] or 0)) for match in matches]
    if not found and (match := _YAML.search(said)):
        found = [
            TemplatePlace(match["file"])
        ]  # the line that Helm names is one of what was rendered, not of the template
    return tuple(found)

"""What kustomize can answer instead of manifests, as types.

    errors.ClientError
      KustomizeError            has directory, path, line, detail and stderr
        KustomizeTimedOut       it took too long; is errors.TimedOut, too
        MissingFile             a file or a kustomization that is named is not there
        BadYaml                 a file is not YAML, or not what it must be
        KustomizeCycle          a kustomization leads back to itself
        KustomizeForbidden      it would fetch, run or read what it must not; is errors.Refused, too; has the reason
        KustomizeTooLarge       there is more of it than is allowed
        KustomizeLimitExceeded  it wanted more memory, time or space than it may have; is errors.LimitExceeded, too
        KustomizeUnmatched      a patch or a replacement finds nothing that it fits
        KustomizeDuplicate      the same object comes twice

Most of them are found before kustomize runs, by ``scan``; then they have the path of the file that is wrong, and often
the line.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from firstlight import errors

Reason = Literal["remote", "exec", "outside", "helm"]


class KustomizeError(errors.ClientError):
    """kustomize failed."""

    def __init__(
        self, directory: Path, detail: str, *, path: Path | None = None, line: int = 0, stderr: str = "", hint: str = ""
    ) -> None:
        place = f"{path or directory}:{line}" if line else str(path or directory)
        super().__init__(f"{place}: {detail}", target=str(directory), hint=hint or _HINTS.get(type(self), ""))
        self.directory = directory
        """What was to be built."""
        self.path = path
        """The file that is wrong; None if it is not known."""
        self.line = line
        self.detail = detail
        self.stderr = stderr


class KustomizeTimedOut(KustomizeError, errors.TimedOut):
    """It took too long."""


class MissingFile(KustomizeError):
    """A file or a kustomization that is named is not there."""


class BadYaml(KustomizeError):
    """A file is not YAML, or not what it must be."""


class KustomizeCycle(KustomizeError):
    """A kustomization leads back to itself."""


class KustomizeForbidden(errors.Refused, KustomizeError):
    """It would fetch, run or read what it must not."""

    def __init__(
        self,
        directory: Path,
        detail: str,
        *,
        reason: Reason,
        path: Path | None = None,
        stderr: str = "",
        hint: str = "",
    ) -> None:
        KustomizeError.__init__(self, directory, detail, path=path, stderr=stderr, hint=hint or _REASON_HINTS[reason])
        self.reason = reason


class KustomizeTooLarge(KustomizeError):
    """There is more of it than is allowed."""


class KustomizeLimitExceeded(KustomizeError, errors.LimitExceeded):
    """It wanted more memory, time or space than it may have."""


class KustomizeUnmatched(KustomizeError):
    """A patch or a replacement finds nothing that it fits."""


class KustomizeDuplicate(KustomizeError):
    """The same object comes twice."""


_REASON_HINTS: Mapping[Reason, str] = {
    "remote": "copy it into the repository, or allow remote resources",
    "exec": "only what is built into kustomize is used here",
    "outside": "everything that is built must be in the repository",
    "helm": "charts in kustomizations must be allowed, and need helm",
}

_HINTS: Mapping[type[KustomizeError], str] = {
    KustomizeTimedOut: "is it really that large? Allow more time",
    KustomizeCycle: "a kustomization cannot use itself, or a directory above it",
}

_RECURSED = re.compile(r"recursed accumulation of path '(?P<path>[^']+)'")
_MALFORMED = re.compile(r"MalformedYAMLError: (?P<detail>.*?) in File: (?P<file>[^\s']+)")
_LINE = re.compile(r"yaml: line (?P<line>\d+)")
_NOT_THERE = re.compile(r"lstat (?P<path>\S+): no such file or directory|find one of .* in directory '(?P<dir>[^']+)'")
_NOT_A_KUSTOMIZATION = re.compile(
    r"invalid Kustomization|is empty$|Failed to read kustomization|multiple kustomization files"
    r"|missing Resource metadata|expected kind"
)
_CONFIG = re.compile(r" with config: `.*?`", re.DOTALL)
_NOISE = re.compile(r": must build at directory: .*", re.DOTALL)
_WRAPPED = re.compile(r"(?:Error: )?(?:accumulating (?:resources|components): |accumulation err=')+")
_FORBIDDEN: Sequence[tuple[re.Pattern[str], Reason]] = (
    (re.compile(r"external plugins disabled|exec functions? .*disabled|unable to load external plugin"), "exec"),
    (re.compile(r"no 'git' program|proxyconnect|HTTP Error: status code|Get \"https?://"), "remote"),
    (re.compile(r"security; |cannot be absolute|outside of repo"), "outside"),
    (re.compile(r"must specify --enable-helm|must specify --helm-command"), "helm"),
)


def from_output(directory: Path, stderr: str) -> KustomizeError:
    """The error for a build that failed.

    Args:
        directory: What was to be built.
        stderr: What the program printed.
    """
    # It repeats whole configurations in its messages, the literals of secretGenerators among them.
    said = _CONFIG.sub("", stderr.strip())
    detail = brief(said)
    nearest = [Path(match["path"]) for match in _RECURSED.finditer(said)]
    where = nearest[-1] if nearest else directory
    if match := _MALFORMED.search(said):
        line = _LINE.search(match["detail"])
        return BadYaml(
            directory, match["detail"], path=where / match["file"], line=int(line["line"]) if line else 0, stderr=said
        )
    if "cycle detected" in said:
        return KustomizeCycle(directory, said[said.index("cycle detected") :].splitlines()[0], path=where, stderr=said)
    for pattern, reason in _FORBIDDEN:
        if pattern.search(said):
            return KustomizeForbidden(directory, detail, reason=reason, stderr=said)
    if match := _NOT_THERE.search(said):
        return MissingFile(directory, "there is no such file", path=Path(match["path"] or match["dir"]), stderr=said)
    kind: type[KustomizeError] = KustomizeError
    if re.search(
        r"no resource matches|no matches for Id|unable to find field|nothing selected by|could not find", said
    ):
        kind = KustomizeUnmatched
    elif "already registered id" in said:
        kind = KustomizeDuplicate
    elif _NOT_A_KUSTOMIZATION.search(said):
        kind = BadYaml
    return kind(directory, detail, path=where if nearest else None, stderr=said)


def brief(said: str) -> str:
    """The error in one line: the innermost, without what wraps it."""
    text = said
    for match in _RECURSED.finditer(said):
        text = said[match.end() :].removeprefix(": ")
    text = " ".join(_NOISE.sub("", _WRAPPED.sub("", text)).split()).removeprefix("Error: ")
    if text.count("'") % 2:
        text = text.removesuffix("'")  # the end of a quotation whose beginning was taken away
    return text or "it printed nothing"

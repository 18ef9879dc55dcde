"""Charts in kustomizations. kustomize makes a command line for helm of them without looking at what they say."""

import dataclasses
import re
import urllib.parse
from collections.abc import Mapping
from typing import Any, Self

from firstlight import errors
from firstlight.model import remote_url

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9A-Za-z^~<>=*][0-9A-Za-z.+*^~<>=!|, _-]*")
_RELEASE = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_PATTERNS = {"name": _NAME, "version": _VERSION, "releasename": _RELEASE, "namespace": _RELEASE}
_TEXTS = ("repo", "valuesfile", "kubeversion", "nametemplate", "valuesmerge")


@dataclasses.dataclass(frozen=True)
class HelmChart:
    """An entry of ``helmCharts``."""

    name: str
    version: str = ""
    repo: str = ""
    files: tuple[str, ...] = ()
    """Values that it names."""
    problem: str = ""
    """Why helm must not be started for it; empty if nothing speaks against it."""

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """An entry by its fields, whose names are in small letters."""
        for name, pattern in _PATTERNS.items():
            value = fields.get(name)
            if value is not None and not (isinstance(value, str) and pattern.fullmatch(value) and ".." not in value):
                return cls("", problem=f"{str(value)[:80]!r} is not the {name} of a chart")
        for name in _TEXTS:
            if not isinstance(fields.get(name, ""), str):
                return cls("", problem=f"the {name} of a chart is no text")
        more = fields.get("additionalvaluesfiles") or []
        if not isinstance(more, list) or not all(isinstance(item, str) for item in more):
            return cls("", problem="additionalValuesFiles is not a list of texts")
        if not fields.get("name"):
            return cls("", problem="a chart has no name")
        values = fields.get("valuesfile")
        return cls(
            name=fields["name"],
            version=fields.get("version") or "",
            repo=fields.get("repo") or "",
            files=(*([values] if values else []), *more),
        )

    @property
    def directory(self) -> str:
        """Where kustomize looks for it, below the home of charts."""
        return f"{self.name}-{self.version}/{self.name}" if self.version and self.repo else self.name

    @property
    def is_fetchable(self) -> bool:
        """Whether it may be fetched where fetching is allowed."""
        try:
            remote_url.RemoteUrl.parse(self.repo, schemes=["https", "oci"])
        except errors.UsageError:
            return False
        return True


# Which paths of a kustomization are not paths but places on the network.


# kustomize takes these for URLs before it looks for a file, whatever the case; so a file of such a name is no excuse.
_REMOTE = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:|[a-z][a-z0-9-]*@|github\.com[:/])", re.IGNORECASE)
_SHORT = re.compile(r"github\.com/", re.IGNORECASE)
_QUERY = frozenset({"ref", "version", "timeout", "submodules"})
_VALUE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./+-]*")


def is_remote(text: str) -> bool:
    """Whether kustomize would fetch this instead of opening it."""
    return _REMOTE.match(text) is not None


def is_harmless(text: str) -> bool:
    """Whether a remote resource may be fetched where fetching is allowed: by https, and with nothing but a revision.

    kustomize hands the parts of the URL to git as arguments, without looking at them.
    """
    url, _, query = text.partition("?")
    try:
        remote_url.RemoteUrl.parse(f"https://{url}" if _SHORT.match(url) else url, schemes=["https"])
        fields = urllib.parse.parse_qsl(query, strict_parsing=True) if query else []
    except (errors.UsageError, ValueError):
        return False
    return all(name in _QUERY and _VALUE.fullmatch(value) for name, value in fields)

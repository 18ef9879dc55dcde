"""The address of a repository or registry in its many spellings: which of them mean the same place.

``https://host/me/repo``, ``https://host/me/repo.git/``, ``ssh://git@host/me/repo`` and ``git@host:me/repo.git`` do.
So do ``oci://host/charts`` and ``host/charts``, as Argo CD has it.
"""

import dataclasses
import re
from typing import Literal, Self

DEFAULT_PORTS = {"http": "80", "https": "443"}
_URL = re.compile(
    r"(?P<scheme>https?|ssh|oci)://(?:[^/@]*@)?(?P<host>[^/@:\[\]]+|\[[^\]]+\])(?::(?P<port>[0-9]*))?(?P<path>/.*)?"
)
_SCP = re.compile(r"[^/@:]+@(?P<host>[^/@:]+):(?P<path>.+)")
_REGISTRY = re.compile(r"(?P<host>[^/@:\[\]]+|\[[^\]]+\])(?::(?P<port>[0-9]+))?(?P<path>/.+)")
_FOREIGN = re.compile(r"[\s{}]")


@dataclasses.dataclass(frozen=True)
class Place:
    """Where something is, however it is spelled."""

    protocol: Literal["git", "oci"]
    """HTTP and ssh are one: the large hosts serve a repository by both. Helm repositories over HTTP count here too."""
    host: str
    port: str
    """Empty if it is the usual one, or one of ssh."""
    steps: tuple[str, ...]
    """The path."""
    suffix: str = dataclasses.field(default="", compare=False)
    """``.git``, if it was written."""
    has_scheme: bool = dataclasses.field(default=True, compare=False)

    def rest_of(self, other: Self) -> tuple[str, ...] | None:
        """The rest of another's path below this one; None if it is elsewhere."""
        here, there = (self.protocol, self.host, self.port), (other.protocol, other.host, other.port)
        if here != there or other.steps[: len(self.steps)] != self.steps:
            return None
        return other.steps[len(self.steps) :]


def place_of(url: str) -> Place | None:
    """The place of an address; None if it is none, such as a template that is yet to be filled in."""
    text = url.strip()
    if _FOREIGN.search(text):
        return None
    if match := _URL.fullmatch(text):
        scheme = match["scheme"]
        port = match["port"] or ""
        if scheme == "ssh" or port == DEFAULT_PORTS.get(scheme):
            port = ""
        return _place("oci" if scheme == "oci" else "git", match["host"], port, match["path"] or "")
    if "://" in text:
        return None
    if match := _SCP.fullmatch(text):
        return _place("git", match["host"], "", match["path"])
    match = _REGISTRY.fullmatch(text)
    if match is None or not (match["port"] or "." in match["host"] or match["host"] == "localhost"):
        return None
    return _place("oci", match["host"], match["port"] or "", match["path"], has_scheme=False)


def _place(protocol: Literal["git", "oci"], host: str, port: str, path: str, *, has_scheme: bool = True) -> Place:
    steps = tuple(step for step in path.split("/") if step)
    suffix = ".git" if protocol == "git" and steps and steps[-1].endswith(".git") else ""
    if suffix:
        steps = (*steps[:-1], steps[-1].removesuffix(suffix))
    return Place(protocol, host.lower(), port, steps, suffix, has_scheme)

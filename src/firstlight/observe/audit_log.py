"""An API server's audit log, read for writes: what somebody really sent between two moments."""

import dataclasses
import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_OVER = frozenset({"ResponseComplete", "Panic"})
"""Stages at which a request is told once and whole."""
_REVIEWS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups whose objects are questions: they are created to be answered, and never stored."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A request that could have changed something."""

    at: float
    user: str
    agent: str
    verb: str
    what: str
    """``deployments kube-system/cilium-operator``."""
    code: int

    def __str__(self) -> str:
        return f"{self.verb} {self.what} ({self.user}, {self.agent}: {self.code})"


def is_person(user: str, agent: str) -> bool:
    """Whether a request is neither the cluster's own nor the lab's: firstlight's, or of a program that it called."""
    return not user.startswith(("system:", "lab:"))


def writes(
    path: Path, *, since: float, until: float, is_asked: Callable[[str, str], bool] = is_person
) -> tuple[Write, ...]:
    """The writes of somebody: mutating verbs without dry run; reviews and token requests are none.

    Args:
        path: The log; what was rotated away from it is read too.
        since: From when on, in seconds since the epoch.
        until: Up to when.
        is_asked: Given a user and a user agent: whether it is about them.
    """
    found = []
    for event in _events(path, since=since):
        if event.get("stage") not in _OVER or event.get("verb") not in WRITES or _is_harmless(event):
            continue
        at = _seconds(str(event.get("requestReceivedTimestamp") or ""))
        user, agent = str((event.get("user") or {}).get("username") or ""), str(event.get("userAgent") or "")
        if since <= at <= until and is_asked(user, agent):
            code = (event.get("responseStatus") or {}).get("code") or 0
            found.append(Write(at=at, user=user, agent=agent, verb=event["verb"], what=_what(event), code=int(code)))
    return tuple(sorted(found, key=lambda each: each.at))


def has(path: Path, text: str, *, since: float) -> bool:
    """Whether a request whose URI holds a text is in the log already."""
    return any(text in str(event.get("requestURI") or "") for event in _events(path, since=since))


def _events(path: Path, *, since: float) -> Iterator[dict[str, Any]]:
    rotated = sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"))
    for each in (*rotated, path):
        try:
            if each.stat().st_mtime < since - 1:
                continue
            lines = each.read_bytes().split(b"\n")
        except FileNotFoundError:
            continue
        for line in lines:
            try:
                event = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue  # the last line, half written
            if isinstance(event, dict):
                yield event


def _is_harmless(event: dict[str, Any]) -> bool:
    query = parse_qs(urlsplit(str(event.get("requestURI") or "")).query)
    of = event.get("objectRef") or {}
    is_token = of.get("resource") == "serviceaccounts" and of.get("subresource") == "token"
    return bool(query.get("dryRun")) or of.get("apiGroup") in _REVIEWS or is_token


def _what(event: dict[str, Any]) -> str:
    of = event.get("objectRef")
    if not of:
        return urlsplit(str(event.get("requestURI") or "")).path
    kind = "/".join(part for part in (of.get("resource"), of.get("subresource")) if part)
    name = "/".join(part for part in (of.get("namespace"), of.get("name")) if part)
    return f"{kind} {name}".strip()


def _seconds(text: str) -> float:
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0

"""Telling others of a push: what is sent, to whom, and how it went.

GitHub's form is what Flux receivers of type github and Argo CD's /api/webhook read; the generic one is what receivers
of type generic and generic-hmac do.
"""

import asyncio
import collections
import dataclasses
import hashlib
import hmac
import itertools
import time
import urllib.parse
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import aiohttp
import msgspec

from firstlight import errors
from firstlight.lab import http_serving
from firstlight.lab.sources.declarations import DeclaredWebhook
from firstlight.lab.sources.git_commits import PushedCommit
from firstlight.lab.sources.git_repositories import NOBODY, RefUpdate

PAUSES = (0.5, 2.0, 5.0)
"""Seconds before each further attempt."""
TIMEOUT = 10
KEPT = 200
"""Deliveries that are remembered."""


class DeliveryAttempt(msgspec.Struct, frozen=True):
    """One try."""

    status: int
    """0 where nothing was answered."""
    problem: str
    seconds: float


class Delivery(msgspec.Struct, frozen=True, rename="camel"):
    """A message, and how it went."""

    id: str
    repository: str
    ref: str
    after: str
    url: str
    attempts: tuple[DeliveryAttempt, ...] = ()
    is_delivered: bool = False
    is_over: bool = False
    """Whether it will not be tried again."""


@dataclasses.dataclass(frozen=True)
class PushMessage:
    """What happened, for everybody who is told."""

    repository: str
    url: str
    """Where it is cloned from, without ``.git``."""
    branch: str
    """The default one."""
    update: RefUpdate
    user: str
    is_forced: bool
    commits: tuple[PushedCommit, ...]


def check_webhook(hook: DeclaredWebhook) -> None:
    """Refuse what cannot be delivered to.

    Raises:
        errors.UsageError: The address is no HTTP address, or has credentials in it.
    """
    parts = urllib.parse.urlsplit(hook.url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise errors.UsageError("the URL of a webhook begins with http:// or https://, and has no credentials in it")


def body(message: PushMessage, shape: str) -> bytes:
    """The JSON of a delivery."""
    return msgspec.json.encode(_github(message) if shape == "github" else _generic(message))


def headers(hook: DeclaredWebhook, content: bytes, identity: str) -> dict[str, str]:
    """Those of a delivery, signed if there is a secret."""
    signature = "sha256=" + hmac.new(hook.secret.encode(), content, hashlib.sha256).hexdigest()
    found = {"Content-Type": "application/json", "User-Agent": "firstlight-lab"}
    if hook.shape == "github":
        found |= {"X-GitHub-Event": "push", "X-GitHub-Delivery": identity, "X-GitHub-Hook-ID": "1"}
    if hook.secret:
        found["X-Hub-Signature-256"] = signature
        if hook.shape == "generic":
            found["X-Signature"] = signature
    return found


class Webhooks:
    """Sends them, and remembers how it went."""

    def __init__(self, *, pauses: Sequence[float] = PAUSES, timeout: float = TIMEOUT) -> None:
        self._pauses = pauses
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._log: collections.OrderedDict[str, Delivery] = collections.OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, message: PushMessage, hooks: Sequence[DeclaredWebhook]) -> None:
        """Begin to tell all of them; nobody waits for it."""
        for hook in hooks:
            identity = str(uuid.uuid4())
            self._log[identity] = Delivery(
                identity, message.repository, message.update.ref, message.update.after, hook.url
            )
            task = asyncio.create_task(self._deliver(identity, hook, body(message, hook.shape)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        while len(self._log) > KEPT:
            self._log.popitem(last=False)

    def log(self, repository: str = "") -> tuple[Delivery, ...]:
        """The deliveries, the oldest first."""
        return tuple(each for each in self._log.values() if not repository or each.repository == repository)

    async def close(self) -> None:
        """Give up what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _deliver(self, identity: str, hook: DeclaredWebhook, content: bytes) -> None:
        given = headers(hook, content, identity)
        for pause in itertools.chain([0.0], self._pauses):
            await asyncio.sleep(pause)
            attempt = await self._attempt(hook.url, content, given)
            is_delivered = 200 <= attempt.status < 300

            def note(
                known: Delivery, attempt: DeliveryAttempt = attempt, is_delivered: bool = is_delivered
            ) -> Delivery:
                tried = (*known.attempts, attempt)
                is_over = is_delivered or len(tried) > len(self._pauses)
                return msgspec.structs.replace(known, attempts=tried, is_delivered=is_delivered, is_over=is_over)

            self._change(identity, note)
            host = urllib.parse.urlsplit(hook.url).netloc
            http_serving.LOG.info("webhook %s to %s: %s", identity, host, attempt.status or attempt.problem)
            if is_delivered:
                return

    async def _attempt(self, url: str, content: bytes, given: dict[str, str]) -> DeliveryAttempt:
        started = time.monotonic()
        status, problem = 0, ""
        try:
            async with aiohttp.ClientSession(timeout=self._timeout) as session, session.post(
                url, data=content, headers=given, allow_redirects=False
            ) as response:  # fmt: skip
                status = response.status
        except TimeoutError:
            problem = "no answer in time"
        except (aiohttp.ClientError, OSError) as error:
            problem = type(error).__name__
        return DeliveryAttempt(status, problem, round(time.monotonic() - started, 3))

    def _change(self, identity: str, note: Callable[[Delivery], Delivery]) -> None:
        if identity in self._log:  # else it is so old that it was forgotten
            self._log[identity] = note(self._log[identity])


def _github(message: PushMessage) -> dict[str, Any]:
    update = message.update
    commits = [_github_commit(message, each) for each in message.commits]
    user = message.user or "anonymous"
    owner, _, name = message.repository.rpartition("/")
    return {
        "ref": update.ref,
        "before": update.before,
        "after": update.after,
        "created": bool(NOBODY.fullmatch(update.before)),
        "deleted": bool(NOBODY.fullmatch(update.after)),
        "forced": message.is_forced,
        "compare": f"{message.url}/compare/{update.before[:12]}...{update.after[:12]}",
        "commits": commits,
        "head_commit": commits[-1] if commits else None,
        "repository": {
            "id": 1,
            "name": name,
            "full_name": message.repository,
            "html_url": message.url,
            "url": message.url,
            "clone_url": f"{message.url}.git",
            "git_url": f"{message.url}.git",
            "default_branch": message.branch,
            "master_branch": message.branch,
            "owner": {"name": owner, "login": owner},
        },
        "pusher": {"name": user, "email": f"{user}@firstlight.invalid"},
        "sender": {"login": user},
    }


def _github_commit(message: PushMessage, commit: PushedCommit) -> dict[str, Any]:
    who = {"name": commit.author, "email": commit.email}
    return {
        "id": commit.id,
        "message": commit.message,
        "timestamp": commit.time,
        "url": f"{message.url}/commit/{commit.id}",
        "distinct": True,
        "author": who,
        "committer": who,
        "added": commit.added,
        "modified": commit.modified,
        "removed": commit.removed,
    }


def _generic(message: PushMessage) -> dict[str, Any]:
    return {
        "event": "push",
        "repository": message.repository,
        "url": f"{message.url}.git",
        "ref": message.update.ref,
        "before": message.update.before,
        "after": message.update.after,
        "user": message.user,
    }

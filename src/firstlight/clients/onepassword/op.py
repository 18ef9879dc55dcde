"""1Password by its own command line, as whoever is signed in there: a person, an app on the desktop, a service account.

What it says when it fails is recognised by known sentences and never repeated.
"""

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import command
from firstlight.clients import secret_errors as problems
from firstlight.clients.sandbox import limits
from firstlight.model.reference import OnePassword
from firstlight.model.secret import Secret

PROVIDER = "op"
TIMEOUT = 120.0
"""Seconds: the app on the desktop may ask its user first."""
AT_ONCE = 4

_INHERITED = (
    "HOME", "PATH", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "OP_ACCOUNT",
    "OP_SERVICE_ACCOUNT_TOKEN", "OP_BIOMETRIC_UNLOCK_ENABLED", "OP_CONFIG_DIR", "OP_CACHE", "HTTPS_PROXY", "HTTP_PROXY",
    "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
_SESSION = "OP_SESSION_"

# The first that is found decides.
_WORDS: Sequence[tuple[str, type[problems.SecretError], str]] = (
    (r"DecodeSACredentials|credentials are not compatible|service account token", problems.NotSignedIn, "TOKEN"),
    (
        r"No accounts configured|not currently signed in|is not signed in|no account found|session expired"
        r"|authorization (?:prompt dismissed|denied|timeout)|connecting to desktop app",
        problems.NotSignedIn,
        "",
    ),
    (r"More than one item matches", problems.Several, "more than one item has this name"),
    (r"isn't a vault|could not find vault|vault query", problems.NotFound, "there is no such vault, or it is not seen"),
    (r"isn't an item|could not find item", problems.NotFound, "the vault has no such item"),
    (r"does not have a field|isn't a field|could not find field", problems.NotFound, "the item has no such field"),
    (r"invalid secret reference", problems.NotFound, "op does not take this reference"),
    (r"(?i)forbidden|do(?:n't| not) have (?:permission|access)|not authori[sz]ed", problems.Forbidden, "it is refused"),
    (r"(?i)rate limit|too many requests", problems.Unreachable, "1Password was asked too often"),
    (
        r"(?i)dial tcp|connection refused|no such host|i/o timeout|network is unreachable|TLS handshake",
        problems.Unreachable,
        "1Password cannot be reached",
    ),
)
_NOT_SIGNED_IN = "nobody is signed in to 1Password"


class Op:
    """op at a path."""

    def __init__(self, program: Path, *, environ: Mapping[str, str] = os.environ) -> None:
        """Prepare to run it.

        Args:
            program: Where it is.
            environ: Where the user's session or service account is found.
        """
        self._program = program.absolute()
        self._environ = {
            name: value for name, value in environ.items() if name in _INHERITED or name.startswith(_SESSION)
        }
        self._is_service_account = bool(environ.get("OP_SERVICE_ACCOUNT_TOKEN"))
        # The first question may make the app on the desktop ask its user: once, and not for each of many.
        self._first = asyncio.Lock()
        self._has_answered = False
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def whoami(self) -> str:
        """Who is signed in: an address, or the kind of account.

        A person who unlocks 1Password by its app counts as signed in only after something was read.

        Raises:
            problems.NotSignedIn: Nobody is.
        """
        done = await self._run(["whoami", "--format=json"], "op whoami")
        try:
            found = json.loads(done)
            return str(found.get("email") or found["user_type"])
        except (ValueError, KeyError, AttributeError):
            raise problems.Unreadable(PROVIDER, "op whoami", "op answers in a form that is not known here") from None

    async def read(self, reference: OnePassword) -> Secret:
        """The value of a field, or the content of a file.

        Raises:
            problems.NotSignedIn: Nobody is signed in.
            problems.NotFound: There is no such vault, item or field.
        """
        arguments = ["read", "--no-newline", str(reference)]
        if not self._has_answered:
            async with self._first:
                if not self._has_answered:
                    value = await self._run(arguments, str(reference))
                    self._has_answered = True
                    return Secret(value)
        async with self._turns:
            return Secret(await self._run(arguments, str(reference)))

    async def _run(self, arguments: Sequence[str], about: str) -> bytes:
        try:
            done = await command.run(
                [str(self._program), *arguments], timeout=TIMEOUT, env={**self._environ, "LC_ALL": "C"}, check=False,
                within=limits.KEEPER,
            )  # fmt: skip
        except errors.TimedOut:
            raise problems.TimedOut(PROVIDER, about, f"op did not finish within {TIMEOUT:g} s") from None
        except errors.Unreachable as error:
            raise errors.ToolError(str(error), hint=MISSING) from None
        if done.code != 0:
            raise self._failure(about, done.stderr, done.code)
        return done.stdout

    def _failure(self, about: str, said: str, code: int) -> problems.SecretError:
        for pattern, kind, what in _WORDS:
            if not re.search(pattern, said):
                continue
            if kind is problems.NotSignedIn:
                if what or self._is_service_account:
                    return kind(PROVIDER, about, "OP_SERVICE_ACCOUNT_TOKEN is not valid", hint=_TOKEN)
                return kind(PROVIDER, about, _NOT_SIGNED_IN, hint=_SIGN_IN)
            return kind(PROVIDER, about, what, hint=_hint(kind, what))
        # What it says is not shown: it may be, or hold, a value.
        return problems.Unreadable(PROVIDER, about, f"op exited with {code}", hint=f"see: op read '{about}' >/dev/null")


MISSING = "install op as 1Password's documentation says, or set OP_CONNECT_HOST and OP_CONNECT_TOKEN"
_SIGN_IN = "sign in: eval $(op signin); or set OP_SERVICE_ACCOUNT_TOKEN, or OP_CONNECT_HOST and OP_CONNECT_TOKEN"
_TOKEN = "make a new token for the service account, and set OP_SERVICE_ACCOUNT_TOKEN to it"  # noqa: S105 -- no token


def _hint(kind: type[problems.SecretError], what: str) -> str:
    if kind is problems.NotFound:
        return "compare with: op vault list, op item list --vault VAULT, op item get ITEM; ids work everywhere"
    if kind is problems.Forbidden:
        return "may whoever is signed in see this vault? See: op vault list"
    if kind is problems.Unreachable:
        return "try again in a while" if "often" in what else "is there a way to the internet, or a proxy to name?"
    return ""

"""1Password by a Connect server: OP_CONNECT_HOST and OP_CONNECT_TOKEN, without op.

Names are compared as op compares them: ids as they are, names without regard to case.
"""

import asyncio
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from firstlight import errors
from firstlight.clients import command, secret_errors
from firstlight.clients.json_api import JsonApi, JsonResponse
from firstlight.clients.sandbox import program_limits
from firstlight.model.secret import Secret
from firstlight.model.secret_reference import OnePasswordReference

__all__ = ["OnePasswordCli", "OnePasswordConnect", "is_connect_set"]

CONNECT_PROVIDER = "1Password Connect"
CONNECT_HOST = "OP_CONNECT_HOST"
CONNECT_TOKEN = "OP_CONNECT_TOKEN"  # noqa: S105 -- the name of a variable
_ID = re.compile(r"[a-z0-9]{26}")
_FILE = re.compile(r"/v1/vaults/[a-z0-9]{26}/items/[a-z0-9]{26}/files/[A-Za-z0-9]+/content")
_ATTRIBUTES = {"": "value", "value": "value", "otp": "totp", "type": "type", "id": "id", "label": "label"}


def is_connect_set(environ: Mapping[str, str]) -> bool:
    """Whether the user has a Connect server."""
    return bool(environ.get(CONNECT_HOST) and environ.get(CONNECT_TOKEN))


class OnePasswordConnect:
    """The server of the user's environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Prepare; nothing is asked yet.

        Raises:
            errors.UsageError: OP_CONNECT_HOST is no URL.
        """
        token = Secret(f"Bearer {environ.get(CONNECT_TOKEN, '').strip()}")
        self._api = JsonApi(
            CONNECT_PROVIDER, environ.get(CONNECT_HOST, ""), headers={"Authorization": token}, environ=environ
        )

    async def read(self, reference: OnePasswordReference) -> Secret:
        """The value of a field, or the content of a file.

        Raises:
            problems.NotSignedIn: The token is not valid.
            problems.Forbidden: The token is not for this vault.
            problems.NotFound: There is no such vault, item or field.
            problems.Several: More than one item has the name.
        """
        about = str(reference)
        vault = self._one(await self._list("/v1/vaults", about), reference.vault, "name", about, "vault")
        items = f"/v1/vaults/{vault}/items"
        item = self._one(await self._list(items, about), reference.item, "title", about, "item")
        whole = await self._get(f"{items}/{item}", about)
        if not isinstance(whole, dict):
            _unreadable(about)
        return await self._value(whole, reference)

    async def close(self) -> None:
        """Close all connections."""
        await self._api.close()

    async def _value(self, item: dict[str, Any], reference: OnePasswordReference) -> Secret:
        about = str(reference)
        sections = {str(each.get("id")): str(each.get("label", "")) for each in _mappings(item.get("sections"))}

        def is_meant(part: dict[str, Any], label: str) -> bool:
            section = str((part.get("section") or {}).get("id", ""))
            named = not reference.section or _is_called(reference.section, section, sections.get(section, ""))
            return named and _is_called(reference.field, str(part.get("id", "")), str(part.get(label, "")))

        fields = [each for each in _mappings(item.get("fields")) if is_meant(each, "label")]
        files = [each for each in _mappings(item.get("files")) if is_meant(each, "name")]
        if fields:
            # Without a section, a field that is in none comes first.
            first = min(fields, key=lambda each: bool(each.get("section")))
            name = _ATTRIBUTES.get(reference.attribute)
            if name is None:
                what = f"Connect has no attribute {reference.attribute}"
                raise secret_errors.SecretNotFound(
                    CONNECT_PROVIDER, about, what, hint="it has value, otp, type, id and label"
                )
            return Secret(str(first.get(name) or ""))
        if files:
            path = str(files[0].get("content_path", ""))
            if not _FILE.fullmatch(path):
                _unreadable(about)
            return Secret((await self._ask(path, about)).body)
        raise secret_errors.SecretNotFound(CONNECT_PROVIDER, about, "the item has no such field", hint=_COMPARE)

    def _one(self, found: list[dict[str, Any]], name: str, label: str, about: str, what: str) -> str:
        meant = [each for each in found if _is_called(name, str(each.get("id", "")), str(each.get(label, "")))]
        if not meant:
            said = (
                "there is no such vault, or the token is not for it"
                if what == "vault"
                else "the vault has no such item"
            )
            raise secret_errors.SecretNotFound(CONNECT_PROVIDER, about, said, hint=_COMPARE)
        if len(meant) > 1:
            raise secret_errors.SecretNotUnique(CONNECT_PROVIDER, about, f"more than one {what} has this name")
        identifier = str(meant[0]["id"])
        if not _ID.fullmatch(identifier):
            _unreadable(about)
        return identifier

    async def _list(self, path: str, about: str) -> list[dict[str, Any]]:
        found = await self._get(path, about)
        if not isinstance(found, list):
            _unreadable(about)
        return list(_mappings(found))

    async def _get(self, path: str, about: str) -> Any:
        return (await self._ask(path, about)).document

    async def _ask(self, path: str, about: str) -> JsonResponse:
        answer = await self._api.get(path, about=about)
        if answer.status == 200:
            return answer
        where = f"Connect at {self._api.url}"
        if answer.status == 401:
            hint = "make a token for this Connect server, and set OP_CONNECT_TOKEN to it"
            raise secret_errors.SecretStoreNotSignedIn(
                CONNECT_PROVIDER, about, f"{where} does not take the token in {CONNECT_TOKEN}", hint=hint
            )
        if answer.status == 403:
            hint = "make a token that has access to the vault"
            raise secret_errors.SecretForbidden(CONNECT_PROVIDER, about, "the token is not for this vault", hint=hint)
        if answer.status in (400, 404):
            raise secret_errors.SecretNotFound(
                CONNECT_PROVIDER, about, f"{where} does not have it ({answer.status})", hint=_COMPARE
            )
        if answer.status in (429, 500, 502, 503, 504):
            hint = f"see what {self._api.url}/health says"
            raise secret_errors.SecretStoreUnreachable(
                CONNECT_PROVIDER, about, f"{where} answers {answer.status}", hint=hint
            )
        raise secret_errors.SecretUnreadable(
            CONNECT_PROVIDER, about, f"{where} answers {answer.status}", hint=f"is {CONNECT_HOST} that of Connect?"
        )


_COMPARE = "compare the names in the reference with those in 1Password; ids work everywhere"


def _is_called(name: str, identifier: str, label: str) -> bool:
    return bool(name) and (name == identifier or name.casefold() == label.casefold())


def _mappings(found: Any) -> Iterator[dict[str, Any]]:
    yield from (each for each in found or () if isinstance(each, dict))


def _unreadable(about: str) -> NoReturn:
    raise secret_errors.SecretUnreadable(CONNECT_PROVIDER, about, f"what answers at {CONNECT_HOST} is not Connect")


# 1Password by its own command line, as whoever is signed in there: a person, an app on the desktop, a service account.
#
# What it says when it fails is recognised by known sentences and never repeated.


OP_PROVIDER = "op"
OP_TIMEOUT = 120.0
"""Seconds: the app on the desktop may ask its user first."""
AT_ONCE = 4

_INHERITED = (
    "HOME", "PATH", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "OP_ACCOUNT",
    "OP_SERVICE_ACCOUNT_TOKEN", "OP_BIOMETRIC_UNLOCK_ENABLED", "OP_CONFIG_DIR", "OP_CACHE", "HTTPS_PROXY", "HTTP_PROXY",
    "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
_SESSION = "OP_SESSION_"

# The first that is found decides.
_WORDS: Sequence[tuple[str, type[secret_errors.SecretError], str]] = (
    (
        r"DecodeSACredentials|credentials are not compatible|service account token",
        secret_errors.SecretStoreNotSignedIn,
        "TOKEN",
    ),
    (
        r"No accounts configured|not currently signed in|is not signed in|no account found|session expired"
        r"|authorization (?:prompt dismissed|denied|timeout)|connecting to desktop app",
        secret_errors.SecretStoreNotSignedIn,
        "",
    ),
    (r"More than one item matches", secret_errors.SecretNotUnique, "more than one item has this name"),
    (
        r"isn't a vault|could not find vault|vault query",
        secret_errors.SecretNotFound,
        "there is no such vault, or it is not seen",
    ),
    (r"isn't an item|could not find item", secret_errors.SecretNotFound, "the vault has no such item"),
    (
        r"does not have a field|isn't a field|could not find field",
        secret_errors.SecretNotFound,
        "the item has no such field",
    ),
    (r"invalid secret reference", secret_errors.SecretNotFound, "op does not take this reference"),
    (
        r"(?i)forbidden|do(?:n't| not) have (?:permission|access)|not authori[sz]ed",
        secret_errors.SecretForbidden,
        "it is refused",
    ),
    (r"(?i)rate limit|too many requests", secret_errors.SecretStoreUnreachable, "1Password was asked too often"),
    (
        r"(?i)dial tcp|connection refused|no such host|i/o timeout|network is unreachable|TLS handshake",
        secret_errors.SecretStoreUnreachable,
        "1Password cannot be reached",
    ),
)
_NOT_SIGNED_IN = "nobody is signed in to 1Password"


class OnePasswordCli:
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
            raise secret_errors.SecretUnreadable(
                OP_PROVIDER, "op whoami", "op answers in a form that is not known here"
            ) from None

    async def read(self, reference: OnePasswordReference) -> Secret:
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
                [str(self._program), *arguments], timeout=OP_TIMEOUT, env={**self._environ, "LC_ALL": "C"}, check=False,
                within=program_limits.KEEPER,
            )  # fmt: skip
        except errors.TimedOut:
            raise secret_errors.SecretStoreTimedOut(
                OP_PROVIDER, about, f"op did not finish within {OP_TIMEOUT:g} s"
            ) from None
        except errors.Unreachable as error:
            raise errors.ToolError(str(error), hint=OP_MISSING) from None
        if done.code != 0:
            raise self._failure(about, done.stderr, done.code)
        return done.stdout

    def _failure(self, about: str, said: str, code: int) -> secret_errors.SecretError:
        for pattern, kind, what in _WORDS:
            if not re.search(pattern, said):
                continue
            if kind is secret_errors.SecretStoreNotSignedIn:
                if what or self._is_service_account:
                    return kind(OP_PROVIDER, about, "OP_SERVICE_ACCOUNT_TOKEN is not valid", hint=_TOKEN)
                return kind(OP_PROVIDER, about, _NOT_SIGNED_IN, hint=_SIGN_IN)
            return kind(OP_PROVIDER, about, what, hint=_hint(kind, what))
        # What it says is not shown: it may be, or hold, a value.
        return secret_errors.SecretUnreadable(
            OP_PROVIDER, about, f"op exited with {code}", hint=f"see: op read '{about}' >/dev/null"
        )


OP_MISSING = "install op as 1Password's documentation says, or set OP_CONNECT_HOST and OP_CONNECT_TOKEN"
_SIGN_IN = "sign in: eval $(op signin); or set OP_SERVICE_ACCOUNT_TOKEN, or OP_CONNECT_HOST and OP_CONNECT_TOKEN"
_TOKEN = "make a new token for the service account, and set OP_SERVICE_ACCOUNT_TOKEN to it"  # noqa: S105 -- no token


def _hint(kind: type[secret_errors.SecretError], what: str) -> str:
    if kind is secret_errors.SecretNotFound:
        return "compare with: op vault list, op item list --vault VAULT, op item get ITEM; ids work everywhere"
    if kind is secret_errors.SecretForbidden:
        return "may whoever is signed in see this vault? See: op vault list"
    if kind is secret_errors.SecretStoreUnreachable:
        return "try again in a while" if "often" in what else "is there a way to the internet, or a proxy to name?"
    return ""

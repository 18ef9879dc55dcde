"""1Password by a Connect server: OP_CONNECT_HOST and OP_CONNECT_TOKEN, without op.

Names are compared as op compares them: ids as they are, names without regard to case.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from firstlight.clients import secret_errors as problems
from firstlight.clients.json_api import Answer, JsonApi
from firstlight.model.reference import OnePassword
from firstlight.model.secret import Secret

PROVIDER = "1Password Connect"
HOST = "OP_CONNECT_HOST"
TOKEN = "OP_CONNECT_TOKEN"  # noqa: S105 -- the name of a variable
_ID = re.compile(r"[a-z0-9]{26}")
_FILE = re.compile(r"/v1/vaults/[a-z0-9]{26}/items/[a-z0-9]{26}/files/[A-Za-z0-9]+/content")
_ATTRIBUTES = {"": "value", "value": "value", "otp": "totp", "type": "type", "id": "id", "label": "label"}


def is_set(environ: Mapping[str, str]) -> bool:
    """Whether the user has a Connect server."""
    return bool(environ.get(HOST) and environ.get(TOKEN))


class Connect:
    """The server of the user's environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Prepare; nothing is asked yet.

        Raises:
            errors.UsageError: OP_CONNECT_HOST is no URL.
        """
        token = Secret(f"Bearer {environ.get(TOKEN, '').strip()}")
        self._api = JsonApi(PROVIDER, environ.get(HOST, ""), headers={"Authorization": token}, environ=environ)

    async def read(self, reference: OnePassword) -> Secret:
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

    async def _value(self, item: dict[str, Any], reference: OnePassword) -> Secret:
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
                raise problems.NotFound(PROVIDER, about, what, hint="it has value, otp, type, id and label")
            return Secret(str(first.get(name) or ""))
        if files:
            path = str(files[0].get("content_path", ""))
            if not _FILE.fullmatch(path):
                _unreadable(about)
            return Secret((await self._ask(path, about)).body)
        raise problems.NotFound(PROVIDER, about, "the item has no such field", hint=_COMPARE)

    def _one(self, found: list[dict[str, Any]], name: str, label: str, about: str, what: str) -> str:
        meant = [each for each in found if _is_called(name, str(each.get("id", "")), str(each.get(label, "")))]
        if not meant:
            said = (
                "there is no such vault, or the token is not for it"
                if what == "vault"
                else "the vault has no such item"
            )
            raise problems.NotFound(PROVIDER, about, said, hint=_COMPARE)
        if len(meant) > 1:
            raise problems.Several(PROVIDER, about, f"more than one {what} has this name")
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

    async def _ask(self, path: str, about: str) -> Answer:
        answer = await self._api.get(path, about=about)
        if answer.status == 200:
            return answer
        where = f"Connect at {self._api.url}"
        if answer.status == 401:
            hint = "make a token for this Connect server, and set OP_CONNECT_TOKEN to it"
            raise problems.NotSignedIn(PROVIDER, about, f"{where} does not take the token in {TOKEN}", hint=hint)
        if answer.status == 403:
            hint = "make a token that has access to the vault"
            raise problems.Forbidden(PROVIDER, about, "the token is not for this vault", hint=hint)
        if answer.status in (400, 404):
            raise problems.NotFound(PROVIDER, about, f"{where} does not have it ({answer.status})", hint=_COMPARE)
        if answer.status in (429, 500, 502, 503, 504):
            hint = f"see what {self._api.url}/health says"
            raise problems.Unreachable(PROVIDER, about, f"{where} answers {answer.status}", hint=hint)
        raise problems.Unreadable(
            PROVIDER, about, f"{where} answers {answer.status}", hint=f"is {HOST} that of Connect?"
        )


_COMPARE = "compare the names in the reference with those in 1Password; ids work everywhere"


def _is_called(name: str, identifier: str, label: str) -> bool:
    return bool(name) and (name == identifier or name.casefold() == label.casefold())


def _mappings(found: Any) -> Iterator[dict[str, Any]]:
    yield from (each for each in found or () if isinstance(each, dict))


def _unreadable(about: str) -> NoReturn:
    raise problems.Unreadable(PROVIDER, about, f"what answers at {HOST} is not Connect")

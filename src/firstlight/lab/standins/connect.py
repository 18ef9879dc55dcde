"""A stand-in for 1Password Connect's REST API: vaults, items and files of the declared ones, read-only.

Shapes and refusals are those of its API reference and of what its clients were told. Its headers and its version say
that it is a stand-in. The file of the vaults is read at every request, so that a changed secret is there at once.
"""

import asyncio
import base64
import hmac
import logging
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from firstlight import errors
from firstlight.lab import http_serving
from firstlight.lab.standins import standin_vaults

VERSION = "1.8.1+firstlight.lab.standin"
STAND_IN = "firstlight-lab-standin (not 1Password Connect)"
LOG = logging.getLogger("firstlight.lab.standins")
_ID = re.compile(r"[a-z0-9]{26}")
_FILTER = re.compile(r'(?P<key>\w+) eq "(?P<value>.*)"', re.DOTALL)
_JWT = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+")


class _Refusal(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ConnectServer:
    """The server."""

    def __init__(self, home: Path) -> None:
        self._file = home / standin_vaults.VAULT_FILE
        self._was_asked = False

    def app(self) -> web.Application:
        """What serves it."""
        app = web.Application(middlewares=[http_serving.own_user_only, self._say])
        app.router.add_get("/heartbeat", self._heartbeat)
        app.router.add_get("/health", self._health)
        vault = "/v1/vaults/{vault}"
        item = vault + "/items/{item}"
        routes: dict[str, Callable[[web.Request], Awaitable[web.Response]]] = {
            "/v1/vaults": self._vaults,
            vault: self._vault,
            vault + "/items": self._items,
            item: self._item,
            item + "/files": self._files,
            item + "/files/{file}": self._file_details,
            item + "/files/{file}/content": self._content,
        }
        for path, handler in routes.items():
            app.router.add_get(path, handler)
        return app

    @web.middleware
    async def _say(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        answer: web.StreamResponse
        try:
            answer = await handler(request)
        except _Refusal as refusal:
            answer = _json({"status": refusal.status, "message": str(refusal)}, status=refusal.status)
        except errors.ConfigError as error:
            LOG.error("%s: %s", error.path, error)
            answer = _json({"status": 500, "message": f"{STAND_IN}: {error}"}, status=500)
        except web.HTTPException as error:
            answer = _json({"status": error.status, "message": error.reason}, status=error.status)
        answer.headers["Server"] = STAND_IN
        LOG.info("%s %s %s", request.method, request.rel_url.raw_path, answer.status)
        return answer

    async def _heartbeat(self, request: web.Request) -> web.Response:
        return web.Response(text=".")

    async def _health(self, request: web.Request) -> web.Response:
        declared = await self._load()
        sqlite = {"service": "sqlite", "status": "ACTIVE", "message": f"{len(declared.vaults)} vaults of {STAND_IN}"}
        sync = {"service": "sync", "status": "ACTIVE" if self._was_asked else "TOKEN_NEEDED"}
        return _json({"name": "1Password Connect API", "version": VERSION, "dependencies": [sqlite, sync]})

    async def _load(self) -> standin_vaults.DeclaredVaults:
        return await asyncio.to_thread(standin_vaults.load_vaults, self._file)

    async def _seen(self, request: web.Request) -> tuple[tuple[standin_vaults.StandinVault, ...], bool]:
        """What the token of a request may see, and whether that is everything."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        declared = await self._load()
        for each in declared.connect_tokens:
            if scheme.lower() == "bearer" and hmac.compare_digest(each.token.encode(), token.strip().encode()):
                self._was_asked = True
                return standin_vaults.visible_vaults(declared, each.vaults), not each.vaults
        raise _Refusal(401, "Invalid token signature" if _JWT.fullmatch(token.strip()) else "Invalid bearer token")

    async def _one_vault(self, request: web.Request) -> standin_vaults.StandinVault:
        seen, is_everything = await self._seen(request)
        asked = request.match_info["vault"]
        if not _ID.fullmatch(asked):
            raise _Refusal(400, "Invalid Vault UUID")
        for each in seen:
            if each.id == asked:
                return each
        if is_everything:
            raise _Refusal(404, f"vault {asked} not found")
        raise _Refusal(403, "Authorization: token does not have access to vault")

    async def _one_item(self, request: web.Request) -> tuple[standin_vaults.StandinVault, standin_vaults.VaultItem]:
        vault = await self._one_vault(request)
        asked = request.match_info["item"]
        if not _ID.fullmatch(asked):
            raise _Refusal(400, "Invalid Item UUID")
        for each in vault.items:
            if each.id == asked:
                return vault, each
        raise _Refusal(404, f"item {asked} not found")

    async def _one_file(
        self, request: web.Request
    ) -> tuple[standin_vaults.StandinVault, standin_vaults.VaultItem, standin_vaults.VaultAttachment]:
        vault, item = await self._one_item(request)
        asked = request.match_info["file"]
        for each in item.files:
            if each.id == asked:
                return vault, item, each
        raise _Refusal(404, f"file {asked} not found")

    async def _vaults(self, request: web.Request) -> web.Response:
        seen, _ = await self._seen(request)
        # The documentation says name; the Go client, and so External Secrets, asks for the title.
        wanted = _wanted(request, "name", "title")
        return _json([_vault(each) for each in seen if wanted is None or each.name == wanted[1]])

    async def _vault(self, request: web.Request) -> web.Response:
        return _json(_vault(await self._one_vault(request)))

    async def _items(self, request: web.Request) -> web.Response:
        vault = await self._one_vault(request)
        wanted = _wanted(request, "title", "tag")

        def fits(item: standin_vaults.VaultItem) -> bool:
            if wanted is None:
                return True
            key, value = wanted
            return value in item.tags if key == "tag" else item.title == value

        return _json([_item(vault, each) for each in vault.items if fits(each)])

    async def _item(self, request: web.Request) -> web.Response:
        return _json(_full_item(*await self._one_item(request)))

    async def _files(self, request: web.Request) -> web.Response:
        vault, item = await self._one_item(request)
        return _json([_file(vault, item, each, inline=_is_inline(request)) for each in item.files])

    async def _file_details(self, request: web.Request) -> web.Response:
        vault, item, file = await self._one_file(request)
        return _json(_file(vault, item, file, inline=_is_inline(request)))

    async def _content(self, request: web.Request) -> web.Response:
        _, _, file = await self._one_file(request)
        name = file.name.replace("\\", "").replace('"', "")
        headers = {"Content-Disposition": f'attachment; filename="{name}"'} if name.isprintable() else {}
        return web.Response(body=file.content, content_type="application/octet-stream", headers=headers)


def _wanted(request: web.Request, *keys: str) -> tuple[str, str] | None:
    text = request.query.get("filter", "")
    if not text:
        return None
    match = _FILTER.fullmatch(text.strip())
    if match is None or match["key"] not in keys:
        raise _Refusal(400, "Invalid filter")
    return match["key"], match["value"].replace('\\"', '"')


def _is_inline(request: web.Request) -> bool:
    return request.query.get("inline_files", "") == "true"


def _vault(vault: standin_vaults.StandinVault) -> dict[str, Any]:
    return {
        "id": vault.id,
        "name": vault.name,
        "description": vault.description,
        "attributeVersion": 1,
        "contentVersion": max((each.version for each in vault.items), default=1),
        "items": len(vault.items),
        "type": "USER_CREATED",
        "createdAt": standin_vaults.CREATED,
        "updatedAt": max((each.updated for each in vault.items), default=standin_vaults.CREATED),
    }


def _item(vault: standin_vaults.StandinVault, item: standin_vaults.VaultItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "title": item.title,
        **({"tags": list(item.tags)} if item.tags else {}),
        "version": item.version,
        "vault": {"id": vault.id, "name": vault.name},
        "category": item.category,
        "lastEditedBy": "FIRSTLIGHTLABSTANDIN",
        "createdAt": item.created,
        "updatedAt": item.updated,
    }


def _full_item(vault: standin_vaults.StandinVault, item: standin_vaults.VaultItem) -> dict[str, Any]:
    return {
        **_item(vault, item),
        **({"sections": [{"id": each.id, "label": each.label} for each in item.sections]} if item.sections else {}),
        "fields": [_field(each) for each in item.fields],
        **({"files": [_file(vault, item, each) for each in item.files]} if item.files else {}),
    }


def _field(field: standin_vaults.VaultField) -> dict[str, Any]:
    return {
        "id": field.id,
        **({"section": {"id": field.section.id, "label": field.section.label}} if field.section else {}),
        "type": "TOTP" if field.type == "OTP" else field.type,
        **({"purpose": field.purpose} if field.purpose else {}),
        "label": field.label,
        **({"value": field.value} if field.value else {}),
    }


def _file(
    vault: standin_vaults.StandinVault,
    item: standin_vaults.VaultItem,
    file: standin_vaults.VaultAttachment,
    *,
    inline: bool = False,
) -> dict[str, Any]:
    return {
        "id": file.id,
        "name": file.name,
        "size": len(file.content),
        "content_path": f"/v1/vaults/{vault.id}/items/{item.id}/files/{file.id}/content",
        **({"section": {"id": file.section.id}} if file.section else {}),
        **({"content": base64.b64encode(file.content).decode()} if inline else {}),
    }


def _json(value: object, *, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json", status=status)

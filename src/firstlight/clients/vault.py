"""Vault's key-value engine, version 1 and 2, over HTTP: VAULT_ADDR, VAULT_TOKEN or ~/.vault-token, VAULT_NAMESPACE.

Which version a mount has is asked of Vault itself, as its command line does; a path is the one that ``vault kv get``
takes. Nothing is ever written.
"""

import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.clients.json_api import JsonApi, JsonResponse
from firstlight.model.secret import Secret
from firstlight.model.secret_reference import VaultReference

__all__ = ["VaultClient"]

PROVIDER = "Vault"
_SEALED = 503
_NOT_INITIALISED = 501


class VaultClient:
    """The Vault of the user's environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Prepare; nothing is asked yet.

        Raises:
            problems.NotSignedIn: There is no address, or no token.
            errors.UsageError: VAULT_ADDR is no URL.
            errors.ConfigError: A certificate cannot be read.
        """
        address = environ.get("VAULT_ADDR", "")
        if not address:
            hint = "set it to the URL of your Vault: https://vault.example.org:8200"
            raise secret_errors.SecretStoreNotSignedIn(PROVIDER, "VAULT_ADDR", "it is not set", hint=hint)
        if environ.get("VAULT_SKIP_VERIFY", "").lower() in ("1", "t", "true"):
            raise errors.Refused(
                "VAULT_SKIP_VERIFY is set: a token is not sent to a server that proves nothing",
                hint="unset it, and set VAULT_CACERT to the file of the certificate authority",
            )
        headers = {"X-Vault-Token": _token(environ), "X-Vault-Request": Secret("true")}
        if namespace := environ.get("VAULT_NAMESPACE", "").strip("/"):
            headers["X-Vault-Namespace"] = Secret(namespace)
        key = environ.get("VAULT_CLIENT_KEY", "")
        self._api = JsonApi(
            PROVIDER, address, headers=headers, environ=environ, authority=_authority(environ),
            server_name=environ.get("VAULT_TLS_SERVER_NAME", ""), certificate=_read(environ, "VAULT_CLIENT_CERT"),
            key=Secret(_read(environ, "VAULT_CLIENT_KEY")) if key else None,
        )  # fmt: skip

    async def read(self, reference: VaultReference) -> Secret:
        """The value of a key.

        Raises:
            problems.Sealed: Vault is sealed.
            problems.Forbidden: The token is not valid, or may not read this.
            problems.NotFound: There is no such path or key, or it was deleted.
        """
        about = str(reference)
        mount, version = await self._mount(reference)
        rest = reference.path.removeprefix(mount)
        if version == 2:
            data = _version_2(await self._ask(f"{mount}data/{rest}", about), reference)
        else:
            answer = await self._ask(reference.path, about)
            data = _mapping(answer.document, about).get("data") if answer.status == 200 else None
        if not isinstance(data, dict):
            raise secret_errors.SecretNotFound(
                PROVIDER, about, "there is nothing at this path", hint=_path_hint(rest, version)
            )
        if reference.key not in data:
            raise secret_errors.SecretNotFound(
                PROVIDER, about, "the secret has no such key", hint=f"it has: {_listed(data)}"
            )
        value = data[reference.key]
        if isinstance(value, dict | list):
            raise secret_errors.SecretUnreadable(PROVIDER, about, "the value is a list or a mapping, and no text")
        return Secret("" if value is None else value if isinstance(value, str) else _plain(value))

    async def close(self) -> None:
        """Close all connections."""
        await self._api.close()

    async def _mount(self, reference: VaultReference) -> tuple[str, int]:
        """Where the engine of a path is, with a slash at the end, and its version."""
        about = str(reference)
        answer = await self._ask(f"sys/internal/ui/mounts/{reference.path}", about)
        if answer.status == 404:  # older than 0.10, which had no version 2
            return reference.path.partition("/")[0] + "/", 1
        found = _mapping(_mapping(answer.document, about).get("data"), about)
        mount = str(found.get("path", ""))
        if not mount or not reference.path.startswith(mount):
            mount = reference.path.partition("/")[0] + "/"
        kind = str(found.get("type", "kv"))
        if kind not in ("kv", "generic", "cubbyhole"):
            what = f"{mount} is an engine of type {kind}"
            raise secret_errors.SecretUnreadable(PROVIDER, about, what, hint="only key-value engines are read")
        options = found.get("options")
        return mount, 2 if isinstance(options, dict) and str(options.get("version", "")) == "2" else 1

    async def _ask(self, path: str, about: str) -> JsonResponse:
        target = "/v1/" + urllib.parse.quote(path, safe="/")
        answer = await self._api.get(target, about=about)
        if answer.status == 307:
            answer = await self._api.get(target, about=about, base=self._elsewhere(answer.location, about))
        if answer.status in (200, 404):
            return answer
        said = _errors(answer)
        where = f"Vault at {self._api.url}"
        if answer.status == _SEALED and "sealed" in said:
            raise secret_errors.VaultSealed(
                PROVIDER, about, f"{where} is sealed", hint="unseal it: vault operator unseal"
            )
        if answer.status == _NOT_INITIALISED:
            raise secret_errors.VaultSealed(PROVIDER, about, f"{where} is not initialised", hint="vault operator init")
        if "invalid token" in said or "missing client token" in said:
            raise secret_errors.SecretStoreNotSignedIn(PROVIDER, about, f"{where} does not take the token", hint=_LOGIN)
        if answer.status == 403:
            hint = f"the policy of the token must allow read; or the token has expired: {_LOGIN}"
            raise secret_errors.SecretForbidden(PROVIDER, about, f"{where} refuses to show it", hint=hint)
        if answer.status in (412, 429, 472, 473, 500, 502, 503, 504):
            raise secret_errors.SecretStoreUnreachable(
                PROVIDER, about, f"{where} answers {answer.status}", hint="see: vault status"
            )
        raise secret_errors.SecretUnreadable(
            PROVIDER, about, f"{where} answers {answer.status}", hint="is VAULT_ADDR a Vault?"
        )

    def _elsewhere(self, location: str, about: str) -> str:
        """The active server that a standby points to; the token goes there only if it is as safe as here."""
        parts = urllib.parse.urlsplit(location)
        if parts.scheme != urllib.parse.urlsplit(self._api.url).scheme or not parts.netloc or "@" in parts.netloc:
            raise secret_errors.SecretStoreUnreachable(
                PROVIDER, about, "this Vault is a standby, and does not say where the active one is"
            )
        return f"{parts.scheme}://{parts.netloc}"


_LOGIN = "vault login"


def _token(environ: Mapping[str, str]) -> Secret:
    if token := environ.get("VAULT_TOKEN", "").strip():
        return Secret(token)
    try:
        kept = (Path(environ["HOME"]) / ".vault-token").read_text().strip()
    except (OSError, KeyError, UnicodeDecodeError):
        kept = ""
    if not kept:
        hint = f"{_LOGIN}; or set VAULT_TOKEN"
        raise secret_errors.SecretStoreNotSignedIn(
            PROVIDER, "VAULT_TOKEN", "it is not set, and nobody is logged in", hint=hint
        )
    return Secret(kept)


def _authority(environ: Mapping[str, str]) -> bytes:
    if given := environ.get("VAULT_CACERT_BYTES"):
        return given.encode()
    if directory := environ.get("VAULT_CAPATH"):
        try:
            files = sorted(each for each in Path(directory).iterdir() if each.is_file())
            return b"\n".join(each.read_bytes() for each in files)
        except OSError as error:
            raise errors.ConfigError(f"it cannot be read: {error.strerror}", path="VAULT_CAPATH") from None
    return _read(environ, "VAULT_CACERT")


def _read(environ: Mapping[str, str], name: str) -> bytes:
    path = environ.get(name, "")
    if not path:
        return b""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise errors.ConfigError(f"{path} cannot be read: {error.strerror}", path=name) from None


def _version_2(answer: JsonResponse, reference: VaultReference) -> Any:
    about = str(reference)
    document = answer.document
    outer = document.get("data") if isinstance(document, dict) else None
    if not isinstance(outer, dict):
        return None
    metadata = outer.get("metadata")
    if outer.get("data") is None and isinstance(metadata, dict):
        if metadata.get("destroyed"):
            raise secret_errors.SecretNotFound(
                PROVIDER, about, "the last version was destroyed", hint="write it anew: vault kv put"
            )
        if metadata.get("deletion_time"):
            hint = f"bring it back: vault kv undelete -versions={metadata.get('version', 'N')} {reference.path}"
            raise secret_errors.SecretNotFound(PROVIDER, about, "the last version was deleted", hint=hint)
    return outer.get("data")


def _path_hint(rest: str, version: int) -> str:
    if version == 2 and rest.startswith("data/"):
        return "leave out data/ in the path: it is added for engines of version 2"
    return "compare with: vault kv list MOUNT"


def _mapping(found: Any, about: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise secret_errors.SecretUnreadable(PROVIDER, about, "what answers at VAULT_ADDR is not Vault")
    return found


def _errors(answer: JsonResponse) -> str:
    """What the server says is wrong; only looked at, never shown."""
    document = answer.document
    said = document.get("errors") if isinstance(document, dict) else None
    return " ".join(str(each) for each in said) if isinstance(said, list) else ""


def _listed(data: dict[str, Any]) -> str:
    keys = sorted(data)
    return ", ".join(keys[:8]) + (" …" if len(keys) > 8 else "")


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

"""As whom ``op`` was called, and what it sees then: Connect before a service account before a person."""

import dataclasses
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from firstlight.lab.standins import standin_vaults

Kind = Literal["SERVICE_ACCOUNT", "HUMAN"]
NOT_SIGNED_IN = "account is not signed in"
NO_ACCOUNT = "no account found for filter"
SIGN_IN = "error initializing client: You are not currently signed in. Please run `op signin --help` for instructions"
BAD_FORM = (
    "error initializing client: Validation: (failed to session.DecodeSACredentials), "
    "Server: (failed to DecodeSACredentials), failed to parseToken, format is invalid"
)
BAD_TOKEN = "error initializing client: Signin credentials are not compatible with the provided user auth from server"  # noqa: S105 -- no token


class OpSession(Protocol):
    """What is seen."""

    def read(self, vault: str, item: str) -> tuple[standin_vaults.StandinVault, standin_vaults.VaultItem]:
        """The item that a reference means.

        Raises:
            OpFailure: There is none, or more than one.
        """

    def get(self, item: str, vault: str) -> tuple[standin_vaults.StandinVault, standin_vaults.VaultItem]:
        """The item that ``op item get`` means; no vault is any vault.

        Raises:
            OpFailure: There is none, or more than one.
        """

    def lacks(self, place: str, field: str, section: str) -> str:
        """What is said of an item without a field."""


@dataclasses.dataclass(frozen=True)
class LocalSession:
    """A person or a service account, whose vaults are in the file."""

    kind: Kind
    url: str
    email: str
    identifier: str
    seen: tuple[standin_vaults.StandinVault, ...]

    def read(self, vault: str, item: str) -> tuple[standin_vaults.StandinVault, standin_vaults.VaultItem]:
        """The item that a reference means."""
        try:
            return self._in(vault, item)
        except OpFailure as error:
            raise OpFailure(f"could not get item {vault}/{item}: {error}") from None

    def get(self, item: str, vault: str) -> tuple[standin_vaults.StandinVault, standin_vaults.VaultItem]:
        """The item that ``op item get`` means."""
        if vault:
            return self._in(vault, item)
        if self.kind == "SERVICE_ACCOUNT":
            raise OpFailure("a vault query must be provided when this command is called by a service account")
        found = [(each, one) for each in self.seen for one in each.called(item)]
        if not found:
            raise OpFailure(f'"{item}" isn\'t an item. Specify the item with its UUID, name, or domain.')
        return _only(item, found)

    def lacks(self, place: str, field: str, section: str) -> str:
        """What is said of an item without a field."""
        return f"item '{place}' does not have a field '{section + '.' if section else ''}{field}'"

    def _in(self, vault: str, item: str) -> tuple[standin_vaults.StandinVault, standin_vaults.VaultItem]:
        place = standin_vaults.vault_called(self.seen, vault)
        if place is None:
            raise OpFailure(f'"{vault}" isn\'t a vault in this account. Specify the vault with its ID or name.')
        found = [(place, one) for one in place.called(item)]
        if not found:
            raise OpFailure(
                f'"{item}" isn\'t an item in the "{vault}" vault. Specify the item with its UUID, name, or domain.'
            )
        return _only(item, found)


def _only(
    name: str, found: list[tuple[standin_vaults.StandinVault, standin_vaults.VaultItem]]
) -> tuple[standin_vaults.StandinVault, standin_vaults.VaultItem]:
    if len(found) > 1:
        lines = [f'\t* for the item "{item.title}" in vault {vault.name}: {item.id}' for vault, item in found]
        said = f'More than one item matches "{name}". Try again and specify the item by its ID:'
        raise OpFailure("\n".join([said, *lines]))
    return found[0]


def begin_session(env: Mapping[str, str], home: Path) -> OpSession:
    """Sign in.

    Raises:
        OpFailure: Nobody is signed in, or a token is not valid.
        errors.ConfigError: The file of the vaults cannot be used.
    """
    if env.get("OP_CONNECT_HOST") and env.get("OP_CONNECT_TOKEN"):
        return ConnectSession(env["OP_CONNECT_HOST"], env["OP_CONNECT_TOKEN"])
    declared = standin_vaults.load_vaults(home / standin_vaults.VAULT_FILE)
    if token := env.get("OP_SERVICE_ACCOUNT_TOKEN"):
        if not token.startswith("ops_"):
            raise OpFailure(BAD_FORM)
        for account in declared.service_accounts:
            if account.token == token:
                seen = standin_vaults.visible_vaults(declared, account.vaults)
                identifier = standin_vaults.made_id("account", token).upper()
                return LocalSession("SERVICE_ACCOUNT", declared.url, "", identifier, seen)
        raise OpFailure(BAD_TOKEN)
    if declared.user is None:
        raise OpUnconfigured
    if not declared.user.signed_in:
        raise OpFailure(SIGN_IN, of_whoami=NOT_SIGNED_IN)
    email = declared.user.email
    return LocalSession(
        "HUMAN",
        declared.url,
        email,
        standin_vaults.made_id("user", email).upper(),
        standin_vaults.declared_vaults(declared),
    )


# ``op`` with a Connect server: the same questions over HTTP, with the words that it has then.


TIMEOUT = 30
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Past any proxy of the user's, which knows nothing of a lab."""


class ConnectSession:
    """What a token of Connect may see."""

    def __init__(self, host: str, token: str) -> None:
        if not host.startswith(("http://", "https://")):
            raise OpFailure(f"invalid Connect host {host}")
        self._host = host.rstrip("/")
        self._token = token

    def read(self, vault: str, item: str) -> tuple[standin_vaults.StandinVault, standin_vaults.VaultItem]:
        """The item that a reference means."""
        known = self._vault(vault)
        found = [
            each
            for each in self._get(f"/v1/vaults/{known.id}/items")
            if item == each["id"] or item.casefold() == each["title"].casefold()
        ]
        if not found:
            raise OpFailure(
                f"could not resolve item UUID for item {item}: could not find item {item} in vault {known.id}"
            )
        if len(found) > 1:
            lines = [f'\t* for the item "{each["title"]}" in vault {known.name}: {each["id"]}' for each in found]
            said = f'More than one item matches "{item}". Try again and specify the item by its ID:'
            raise OpFailure("\n".join([f"could not resolve item UUID for item {item}: {said}", *lines]))
        return known, self._item(self._get(f"/v1/vaults/{known.id}/items/{found[0]['id']}"))

    def get(self, item: str, vault: str) -> tuple[standin_vaults.StandinVault, standin_vaults.VaultItem]:
        """The item that ``op item get`` means."""
        if not vault:
            raise OpFailure("a vault query must be provided when this command is called with Connect")
        return self.read(vault, item)

    def lacks(self, place: str, field: str, section: str) -> str:
        """What is said of an item without a field."""
        vault, _, item = place.partition("/")
        where = f" in section {section}" if section else ""
        return f"could not find field or file {field}{where} on item {item} in vault {vault}"

    def _vault(self, name: str) -> standin_vaults.StandinVault:
        for each in self._get("/v1/vaults"):
            if name == each["id"] or name.casefold() == each["name"].casefold():
                return standin_vaults.StandinVault(each["id"], each["name"])
        raise OpFailure(f"could not resolve vault UUID for vault {name}: could not find vault {name}")

    def _item(self, full: dict[str, Any]) -> standin_vaults.VaultItem:
        sections = {
            each["id"]: standin_vaults.VaultSection(each["id"], each.get("label", ""))
            for each in full.get("sections", ())
        }

        def section(part: dict[str, Any]) -> standin_vaults.VaultSection | None:
            return sections.get((part.get("section") or {}).get("id", ""))

        return standin_vaults.VaultItem(
            id=full["id"],
            title=full["title"],
            category=full["category"],
            tags=tuple(full.get("tags", ())),
            created=full.get("createdAt", ""),
            updated=full.get("updatedAt", ""),
            version=full.get("version", 1),
            sections=tuple(sections.values()),
            fields=tuple(
                standin_vaults.VaultField(
                    each["id"],
                    each.get("label", ""),
                    each.get("value", ""),
                    each["type"],
                    each.get("purpose", ""),
                    section(each),
                )
                for each in full.get("fields", ())
            ),
            files=tuple(
                standin_vaults.VaultAttachment(
                    each["id"], each["name"], self._fetch(each["content_path"]), section(each)
                )
                for each in full.get("files", ())
            ),
        )

    def _get(self, path: str) -> Any:
        return json.loads(self._fetch(path))

    def _fetch(self, path: str) -> bytes:
        url = f"{self._host}/{path.lstrip('/')}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self._token}"})  # noqa: S310 -- http
        try:
            with _DIRECT.open(request, timeout=TIMEOUT) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            raise OpFailure(f"status {error.code}: {_message(error.read())}") from None
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise OpFailure(f'Get "{url}": {reason}') from None


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return "no message"


# How a stand-in says that something went wrong, in the words of the real thing.


class OpFailure(Exception):
    """``op`` prints this and ends with 1."""

    def __init__(self, message: str, *, of_whoami: str = "") -> None:
        super().__init__(message)
        self.of_whoami = of_whoami
        """What ``op whoami`` says instead."""


class OpUnconfigured(OpFailure):
    """No account is configured; where that is so, the real one prints help instead of an error."""

    def __init__(self) -> None:
        super().__init__("No accounts configured for use with 1Password CLI.", of_whoami=NO_ACCOUNT)

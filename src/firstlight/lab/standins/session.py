"""As whom ``op`` was called, and what it sees then: Connect before a service account before a person."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

from firstlight.lab.standins import connect_session, vault_file, vaults
from firstlight.lab.standins.failure import OpFailure

Kind = Literal["SERVICE_ACCOUNT", "HUMAN"]
NOT_SIGNED_IN = "account is not signed in"
NO_ACCOUNT = "no account found for filter"
NO_ACCOUNTS = "No accounts configured for use with 1Password CLI."
SIGN_IN = "error initializing client: You are not currently signed in. Please run `op signin --help` for instructions"
BAD_FORM = (
    "error initializing client: Validation: (failed to session.DecodeSACredentials), "
    "Server: (failed to DecodeSACredentials), failed to parseToken, format is invalid"
)
BAD_TOKEN = "error initializing client: Signin credentials are not compatible with the provided user auth from server"  # noqa: S105 -- no token


class Session(Protocol):
    """What is seen."""

    def read(self, vault: str, item: str) -> tuple[vaults.Vault, vaults.Item]:
        """The item that a reference means.

        Raises:
            OpFailure: There is none, or more than one.
        """

    def get(self, item: str, vault: str) -> tuple[vaults.Vault, vaults.Item]:
        """The item that ``op item get`` means; no vault is any vault.

        Raises:
            OpFailure: There is none, or more than one.
        """

    def lacks(self, place: str, field: str, section: str) -> str:
        """What is said of an item without a field."""


@dataclasses.dataclass(frozen=True)
class Local:
    """A person or a service account, whose vaults are in the file."""

    kind: Kind
    url: str
    email: str
    identifier: str
    seen: tuple[vaults.Vault, ...]

    def read(self, vault: str, item: str) -> tuple[vaults.Vault, vaults.Item]:
        """The item that a reference means."""
        try:
            return self._in(vault, item)
        except OpFailure as error:
            raise OpFailure(f"could not get item {vault}/{item}: {error}") from None

    def get(self, item: str, vault: str) -> tuple[vaults.Vault, vaults.Item]:
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

    def _in(self, vault: str, item: str) -> tuple[vaults.Vault, vaults.Item]:
        place = vaults.called(self.seen, vault)
        if place is None:
            raise OpFailure(f'"{vault}" isn\'t a vault in this account. Specify the vault with its ID or name.')
        found = [(place, one) for one in place.called(item)]
        if not found:
            raise OpFailure(
                f'"{item}" isn\'t an item in the "{vault}" vault. Specify the item with its UUID, name, or domain.'
            )
        return _only(item, found)


def _only(name: str, found: list[tuple[vaults.Vault, vaults.Item]]) -> tuple[vaults.Vault, vaults.Item]:
    if len(found) > 1:
        lines = [f'\t* for the item "{item.title}" in vault {vault.name}: {item.id}' for vault, item in found]
        said = f'More than one item matches "{name}". Try again and specify the item by its ID:'
        raise OpFailure("\n".join([said, *lines]))
    return found[0]


def begin(env: Mapping[str, str], home: Path) -> Session:
    """Sign in.

    Raises:
        OpFailure: Nobody is signed in, or a token is not valid.
        errors.ConfigError: The file of the vaults cannot be used.
    """
    if env.get("OP_CONNECT_HOST") and env.get("OP_CONNECT_TOKEN"):
        return connect_session.ConnectSession(env["OP_CONNECT_HOST"], env["OP_CONNECT_TOKEN"])
    declared = vault_file.load(home / vault_file.NAME)
    if token := env.get("OP_SERVICE_ACCOUNT_TOKEN"):
        if not token.startswith("ops_"):
            raise OpFailure(BAD_FORM)
        for account in declared.service_accounts:
            if account.token == token:
                seen = vault_file.visible(declared, account.vaults)
                identifier = vault_file.made_id("account", token).upper()
                return Local("SERVICE_ACCOUNT", declared.url, "", identifier, seen)
        raise OpFailure(BAD_TOKEN)
    if declared.user is None:
        raise OpFailure(NO_ACCOUNTS)
    if not declared.user.signed_in:
        raise OpFailure(SIGN_IN)
    email = declared.user.email
    return Local("HUMAN", declared.url, email, vault_file.made_id("user", email).upper(), vault_file.contents(declared))

"""``op`` with a Connect server: the same questions over HTTP, with the words that it has then."""

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from firstlight.lab.standins import vaults
from firstlight.lab.standins.failure import OpFailure

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

    def read(self, vault: str, item: str) -> tuple[vaults.Vault, vaults.Item]:
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

    def get(self, item: str, vault: str) -> tuple[vaults.Vault, vaults.Item]:
        """The item that ``op item get`` means."""
        if not vault:
            raise OpFailure("a vault query must be provided when this command is called with Connect")
        return self.read(vault, item)

    def lacks(self, place: str, field: str, section: str) -> str:
        """What is said of an item without a field."""
        vault, _, item = place.partition("/")
        where = f" in section {section}" if section else ""
        return f"could not find field or file {field}{where} on item {item} in vault {vault}"

    def _vault(self, name: str) -> vaults.Vault:
        for each in self._get("/v1/vaults"):
            if name == each["id"] or name.casefold() == each["name"].casefold():
                return vaults.Vault(each["id"], each["name"])
        raise OpFailure(f"could not resolve vault UUID for vault {name}: could not find vault {name}")

    def _item(self, full: dict[str, Any]) -> vaults.Item:
        sections = {each["id"]: vaults.Section(each["id"], each.get("label", "")) for each in full.get("sections", ())}

        def section(part: dict[str, Any]) -> vaults.Section | None:
            return sections.get((part.get("section") or {}).get("id", ""))

        return vaults.Item(
            id=full["id"], title=full["title"], category=full["category"], tags=tuple(full.get("tags", ())),
            created=full.get("createdAt", ""), updated=full.get("updatedAt", ""), version=full.get("version", 1),
            sections=tuple(sections.values()),
            fields=tuple(
                vaults.Field(each["id"], each.get("label", ""), each.get("value", ""), each["type"],
                             each.get("purpose", ""), section(each))
                for each in full.get("fields", ())
            ),
            files=tuple(
                vaults.File(each["id"], each["name"], self._fetch(each["content_path"]), section(each))
                for each in full.get("files", ())
            ),
        )  # fmt: skip

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

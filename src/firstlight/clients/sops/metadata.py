"""What an encrypted file says in plain: by which keys it can be decrypted, and whom sops would ask for them."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from firstlight.clients import safe_yaml

_PROVIDERS = ("age", "pgp", "kms", "gcp_kms", "azure_kv", "hc_vault", "hckms")
_FLAT = re.compile(r"^(?:sops_)?(?P<kind>[a-z_]+?)__list_\d+__map_(?P<name>\w+)\s*=\s*(?P<value>.*)$", re.MULTILINE)
"""How dotenv and ini files have it: ``sops_age__list_0__map_recipient=age1…``."""


@dataclasses.dataclass(frozen=True)
class Metadata:
    """The part of an encrypted file that sops wrote for itself."""

    kinds: frozenset[str]
    """``age``, ``pgp``, ``kms``, ``gcp_kms``, ``azure_kv``, ``hc_vault``, ``hckms``."""
    recipients: tuple[str, ...] = ()
    """Public keys of age, and fingerprints of PGP."""
    vaults: tuple[str, ...] = ()
    """Addresses of Vault servers that sops would show the user's token to."""


def read(data: bytes, path: Path) -> Metadata | None:
    """What a file says of its keys; None if it is not encrypted.

    Raises:
        ValueError: It cannot be read.
    """
    if path.suffix in (".env", ".ini"):
        return _flat(data.decode(errors="replace"))
    if path.suffix in (".yaml", ".yml"):
        documents = safe_yaml.load_all(data)
    else:
        # Everything that is neither is kept as JSON, with the content in one field; what is no JSON is plain.
        try:
            documents = [json.loads(data)]
        except (ValueError, RecursionError):
            return None
    found = [each["sops"] for each in documents if isinstance(each, dict) and isinstance(each.get("sops"), dict)]
    if not any("mac" in each for each in found):
        return None
    keys = [(kind, entry) for each in found for kind, entry in _entries(each)]
    return _metadata(keys)


def _flat(text: str) -> Metadata | None:
    if not re.search(r"^(?:sops_)?mac\s*=", text, re.MULTILINE):
        return None
    return _metadata([(match["kind"], {match["name"]: match["value"].strip()}) for match in _FLAT.finditer(text)])


def _metadata(keys: list[tuple[str, Mapping[str, Any]]]) -> Metadata:
    names = [str(entry[name]) for _, entry in keys for name in ("recipient", "fp") if entry.get(name)]
    vaults = [str(entry["vault_address"]) for _, entry in keys if entry.get("vault_address")]
    return Metadata(
        # Kinds in groups of keys are named before them: "key_groups__list_0__map_age".
        kinds=frozenset(each for each in _PROVIDERS if any(kind.endswith(each) for kind, _ in keys)),
        recipients=tuple(dict.fromkeys(names)),
        vaults=tuple(dict.fromkeys(vaults)),
    )


def _entries(section: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for group in [section, *(section.get("key_groups") or ())]:
        if not isinstance(group, Mapping):
            continue
        for kind in _PROVIDERS:
            entries = group.get(kind) or ()
            yield from ((kind, each) for each in entries if isinstance(each, Mapping))

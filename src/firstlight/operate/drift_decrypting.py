"""Secrets that Git holds encrypted, as the engine applies them: compared, and never shown."""

import asyncio
import dataclasses
from collections.abc import Mapping
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients.sops import Sops
from firstlight.document.within import mapping
from firstlight.model.rendition import Object
from firstlight.ownership.drifting import Wanted

_FORM = Path("secret.json")
_AT_ONCE = 4
"""Each is a process of its own."""


async def decrypted(wanted: tuple[Wanted, ...], program: Path | None) -> tuple[tuple[Wanted, ...], tuple[str, ...]]:
    """What is compared, with Secrets decrypted; and why some are not.

    Args:
        wanted: What is compared.
        program: Where sops is; None to leave everything as it is.
    """
    client = Sops(program) if program is not None else None
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(each: Wanted) -> tuple[Wanted, str]:
        # What is no Secret would be shown where it differs.
        if client is None or not each.id.is_secret or not isinstance(each.object.value.get("sops"), Mapping):
            return each, ""
        about = str(each.id)
        try:
            async with turns:
                plain = await client.reread(msgspec.json.encode(each.object.value), _FORM, about=about, is_whole=False)
        except (errors.Refused, errors.ClientError, errors.ToolError) as error:
            return each, error.message
        text = plain.reveal()
        made = dataclasses.replace(each, object=Object(msgspec.json.decode(text)))
        # Flux replaces variables after it has decrypted.
        if b"${" in text and mapping(each.definition, "spec", "postBuild"):
            why = f"{about} has variables in what is encrypted: only that it is there was looked at"
            return dataclasses.replace(made, doubt=made.doubt or why), why
        return made, ""

    found = await asyncio.gather(*map(one, wanted))
    return tuple(each for each, _ in found), tuple(why for _, why in found if why)

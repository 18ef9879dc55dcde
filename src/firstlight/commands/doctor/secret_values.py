"""The values of a cluster's Secrets, read only to be recognised where something else has printed them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import yaml

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.execute.masks import Masks
from firstlight.model import helm_names
from firstlight.model.secret import Secret

PATIENCE = 10.0
"""Seconds for all of them."""
_SHORTEST = 6
"""Characters below which a value is a part of too many words; where it stands by itself it is masked by its place."""
_LONGEST = 16_384
"""Characters above which it is no password, but a file; its lines are known by how they look."""
_PAGE = 500
_NAMED = (("v1", "Namespace"), ("v1", "Service"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"))
"""Kinds whose names are often users and databases, too."""


async def remember(client: kube.Client, masks: Masks) -> bool:
    """Hide what Secrets hold; what is also the name of something is no secret. Whether they could be read."""
    is_read = True
    try:
        # A group: what fails takes the others with it, which would go on trying after the client is closed.
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            held = group.create_task(
                client.list("v1", "Secret", fields=f"type!={helm_names.RELEASE_SECRET_TYPE}", limit=_PAGE)
            )
            named = [group.create_task(client.list(*kind, limit=_PAGE, metadata_only=True)) for kind in _NAMED]
    except* (errors.ClientError, TimeoutError):
        is_read = False
    if not is_read:
        return False
    public = names(item for each in (held, *named) for item in each.result().items)
    for each in held.result().items:
        for value in _values(each):
            if value not in public:
                hide(masks, value)
    return True


def hide(masks: Masks, value: str) -> None:
    """Hide a value also as JSON, YAML and URLs write it."""
    for each in {value, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1], quote(value, safe="")}:
        masks.add(Secret(each))


def remember_config(masks: Masks, config: kube.ClientConfig) -> None:
    """Hide what the kubeconfig in use holds."""
    for each in (config.client_key, config.token, config.password):
        if each is not None:
            masks.add(each)
    if config.proxy is not None and config.proxy.password is not None:
        masks.add(config.proxy.password)


def remember_talosconfig(masks: Masks, talosconfig: Secret) -> None:
    """Hide the keys of a talosconfig."""
    try:
        found = yaml.load(talosconfig.reveal(), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError):
        masks.add(talosconfig)
        return
    for context in mapping(found, "contexts").values():
        if key := text(context, "key"):
            masks.add(Secret(key))


def _values(item: Mapping[str, Any]) -> Iterator[str]:
    for each in mapping(item, "data").values():
        try:
            value = base64.b64decode(str(each), validate=True).decode()
        except (binascii.Error, ValueError):
            continue  # what is no text is in no log
        value = value.strip()
        if _SHORTEST <= len(value) <= _LONGEST and not value.isdigit():
            yield value


def names(objects: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """What anybody sees of objects."""
    steps = (("metadata", "name"), ("metadata", "namespace"), ("kind",))
    return frozenset(text(each, *path) for each in objects for path in steps)

"""A Secret of the foundation: its values resolved, compared in memory with the live ones, and written if they differ.

Only names of keys are ever shown. A Secret that an engine or a controller owns is read and never written.
"""

import asyncio
import base64
import binascii
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.engines import engine_marks
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.execute.world import PendingChange, World
from firstlight.model import helm_names
from firstlight.model.platform import FoundationSecret
from firstlight.model.secret import Secret
from firstlight.model.work import CreateSecret

_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_LARGEST = 1 << 20
"""Bytes of all values together that Kubernetes takes."""
_OPAQUE = "Opaque"
_DOCKER = ".dockerconfigjson"
_TYPES = (
    (frozenset({"tls.crt", "tls.key"}), "kubernetes.io/tls"),
    (frozenset({_DOCKER}), "kubernetes.io/dockerconfigjson"),
    (frozenset({"ssh-privatekey"}), "kubernetes.io/ssh-auth"),
)
_MAKERS = ("ExternalSecret", "SealedSecret", "OnePasswordItem", "Certificate", "VaultStaticSecret", "InfisicalSecret")
_EXTERNAL_SECRETS = "reconcile.external-secrets.io/managed"

Values = Mapping[str, Secret]


async def look(task: CreateSecret, world: World, step: str) -> PendingChange | None:
    """What of a Secret has to be written.

    Raises:
        errors.Refused: It cannot be a Secret, or must not be changed.
        errors.ClientError: A value cannot be had.
    """
    wanted = task.secret
    name = f"{wanted.namespace}/{wanted.name}"
    _check_keys(wanted, name)
    live = await _live(world, wanted)
    owner = _owner(live) if live is not None else ""
    try:
        resolved = await asyncio.gather(*(world.resolve(each) for each in wanted.data.values()))
    except errors.FirstlightError as error:
        if not owner:
            raise
        world.tell(step, f"Secret {name} belongs to {owner}, and is not compared: {error.message}")
        return None
    values = dict(zip(wanted.data, resolved, strict=True))
    if live is None:
        _check_values(values, name)
        writing = _writing(task, world, values, kind=_type(wanted.data), live=None)
        return PendingChange(writes=(f"create Secret {name}",), perform=writing)
    differing, dropped = _differences(values, live), _dropped(task, live)
    if owner:
        if differing:
            said = f"Secret {name} belongs to {owner} and is left as it is; not as declared: {', '.join(differing)}"
            world.tell(step, said)
        return None
    if not differing and not dropped:
        return None
    _check_values(values, name)
    kind = str(live.get("type") or _OPAQUE)
    if live.get("immutable"):
        hint = "delete it, if nothing needs the old values, and run this again"
        raise errors.Refused(
            f"Secret {name} is immutable, and not as declared: {', '.join(differing or dropped)}", hint=hint
        )
    if kind != _type(wanted.data):
        world.tell(step, f"Secret {name} stays of type {kind}: the type of a Secret cannot be changed")
    return PendingChange(
        writes=tuple(_writes(differing, dropped, name)),
        perform=_writing(task, world, values, kind=kind, live=live),
        danger=_danger(task, live, differing, name),
    )


def _writing(
    task: CreateSecret, world: World, values: Values, *, kind: str, live: Mapping[str, Any] | None
) -> Callable[[], Awaitable[None]]:
    async def perform() -> None:
        wanted = task.secret
        obj = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": wanted.name, "namespace": wanted.namespace},
            "type": kind,
            "data": {key: _encoded(value) for key, value in values.items()},
        }
        # Declared values win: whoever else has set a key did so by hand, and was told of. Whoever did so since, or
        # took the Secret over, was not: then the server answers with a conflict, and the loop looks again.
        written = await world.kube.apply(guarded(obj, live), manager=task.manager, force=True)
        if left := _differences(values, written):
            name = f"{wanted.namespace}/{wanted.name}"
            raise errors.ClientError(
                f"Secret {name} was written, and is not as it was sent: {', '.join(left)}",
                hint="does an admission webhook change Secrets?",
            )

    return perform


async def _live(world: World, wanted: FoundationSecret) -> Mapping[str, Any] | None:
    try:
        return await world.kube.get("v1", "Secret", wanted.name, namespace=wanted.namespace)
    except kube.NotFound:
        return None


def _owner(live: Mapping[str, Any]) -> str:
    """Who reconciles it; empty if nobody does."""
    metadata = live.get("metadata") or {}
    mark = engine_marks.of(live)
    if mark is not None:
        return mark.owner
    for each in metadata.get("ownerReferences") or ():
        if each.get("kind") in _MAKERS or each.get("controller"):
            return f"{each.get('kind')} {metadata.get('namespace')}/{each.get('name')}"
    if (metadata.get("labels") or {}).get(_EXTERNAL_SECRETS) == "true":
        return "an ExternalSecret"
    release = (metadata.get("annotations") or {}).get(helm_names.RELEASE_NAME_ANNOTATION)
    return f"the Helm release {release}" if release else ""


def _differences(values: Values, live: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys whose values are not there."""
    data = live.get("data") or {}
    return tuple(key for key, value in sorted(values.items()) if _decoded(data.get(key)) != value)


def _dropped(task: CreateSecret, live: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys that the manager applied earlier and that are no longer declared; those of others stay."""
    owned: set[str] = set()
    for each in (live.get("metadata") or {}).get("managedFields") or ():
        if each.get("manager") == task.manager and each.get("operation") == "Apply":
            fields = (each.get("fieldsV1") or {}).get("f:data") or {}
            owned |= {key.removeprefix("f:") for key in fields if key.startswith("f:")}
    return tuple(sorted(owned - set(task.secret.data)))


def _danger(task: CreateSecret, live: Mapping[str, Any], differing: tuple[str, ...], name: str) -> str:
    """Values that somebody else has set and that are nowhere else, as far as is known here."""
    data = live.get("data") or {}
    others: dict[str, set[str]] = {}
    for each in (live.get("metadata") or {}).get("managedFields") or ():
        for key in (each.get("fieldsV1") or {}).get("f:data") or {}:
            others.setdefault(key.removeprefix("f:"), set()).add(str(each.get("manager")))
    foreign = [key for key in differing if key in data and task.manager not in others.get(key, set())]
    if not foreign:
        return ""
    who = ", ".join(sorted(set().union(*(others.get(key, set()) for key in foreign)))) or "somebody"
    return f"replaces {_keys(foreign)} of Secret {name}, written by {who}; the old values are kept nowhere"


def _writes(differing: tuple[str, ...], dropped: tuple[str, ...], name: str) -> list[str]:
    found = [f"change {_keys(differing)} of Secret {name}"] if differing else []
    return [*found, f"remove {_keys(dropped)} of Secret {name}"] if dropped else found


def _keys(keys: "tuple[str, ...] | list[str]") -> str:
    return f"key {keys[0]}" if len(keys) == 1 else f"keys {', '.join(keys)}"


def _check_keys(wanted: FoundationSecret, name: str) -> None:
    unknown = sorted(key for key, reference in wanted.data.items() if not reference)
    if unknown or not wanted.data:
        keys = f" ({', '.join(unknown)})" if unknown else ""
        hint = "name its source in firstlight.yaml: secrets, data, with op://, sops:, vault:, env: or file:"
        raise errors.Refused(f"nothing says where the Secret {name}{keys} comes from", hint=hint)
    if wrong := sorted(key for key in wanted.data if not _KEY.fullmatch(key)):
        hint = "keys have letters, digits, - _ and . only"
        raise errors.Refused(f"Secret {name} cannot have the key {wrong[0]!r}", hint=hint)


def _check_values(values: Values, name: str) -> None:
    if empty := sorted(key for key, value in values.items() if not value.reveal()):
        raise errors.Refused(f"Secret {name}: the value of {empty[0]} is empty")
    if sum(len(value.reveal()) for value in values.values()) > _LARGEST:
        raise errors.Refused(f"Secret {name} has more than 1 MiB, which Kubernetes does not take")
    if _DOCKER in values and not _is_docker_config(values[_DOCKER]):
        hint = 'it must be JSON: {"auths": {"registry.example.org": {"auth": "…"}}}'
        raise errors.Refused(f"Secret {name}: the value of {_DOCKER} is no config of Docker", hint=hint)


def _is_docker_config(value: Secret) -> bool:
    try:
        found = json.loads(value.reveal())
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("auths"), dict)


def _type(data: Mapping[str, str]) -> str:
    return next((kind for keys, kind in _TYPES if keys <= data.keys()), _OPAQUE)


def _encoded(value: Secret) -> str:
    return base64.b64encode(value.reveal()).decode()


def _decoded(text: object) -> Secret | None:
    try:
        return Secret(base64.b64decode(text)) if isinstance(text, str) else None
    except binascii.Error:
        return None

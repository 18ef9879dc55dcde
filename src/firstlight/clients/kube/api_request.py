"""How verbs of the API become requests, and answers objects: parameters, headers, and what may be repeated."""

import base64
import contextlib
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from firstlight import errors
from firstlight.clients.kube import discovery, retry, transport, watch_tracker

Object = dict[str, Any]
PatchForm = Literal["merge", "json", "strategic"]


def repeat(*, is_guarded: bool, dry_run: bool) -> retry.Repeat:
    """How a write may be repeated."""
    if not is_guarded:
        return retry.Repeat.CONVERGENT
    return retry.Repeat.ALWAYS if dry_run else retry.Repeat.GUARDED


def patch_repeat(
    body: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, form: PatchForm, dry_run: bool
) -> retry.Repeat:
    """How a patch may be repeated: only a guard makes a second JSON patch harmless."""
    if isinstance(body, Mapping):
        metadata = body.get("metadata") or {}
        return repeat(is_guarded=bool(metadata.get("resourceVersion") or metadata.get("uid")), dry_run=dry_run)
    if dry_run:
        return retry.Repeat.ALWAYS
    is_guarded = any(
        operation.get("op") == "test" or operation.get("path") == "/metadata/resourceVersion" for operation in body
    )
    return retry.Repeat.GUARDED if is_guarded else retry.Repeat.NEVER


def write_params(manager: str, dry_run: bool) -> tuple[tuple[str, str], ...]:
    """The parameters of every write."""
    return (("fieldManager", manager), *((("dryRun", "All"),) if dry_run else ()))


def selectors(labels: str, fields: str) -> tuple[tuple[str, str], ...]:
    """The parameters of every selection."""
    wanted = (("labelSelector", labels), ("fieldSelector", fields))
    return tuple(pair for pair in wanted if pair[1])


def accept(partial: str) -> dict[str, str]:
    """The headers of a read, reduced to metadata or not."""
    if not partial:
        return {"Accept": "application/json"}
    # An aggregated API that cannot reduce its objects sends them whole; they are reduced here.
    return {"Accept": f"application/json;as={partial};g=meta.k8s.io;v=v1,application/json"}


def as_metadata(found: Object, resource: discovery.ApiResource) -> Object:
    """An object reduced to its metadata."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": found.get("metadata") or {},
    }


async def metadata_events(
    events: AsyncGenerator[watch_tracker.WatchEvent, None], api_version: str, kind: str
) -> AsyncGenerator[watch_tracker.WatchEvent, None]:
    """Events whose objects are reduced to their metadata."""
    async with contextlib.aclosing(events):
        async for event in events:
            if isinstance(event, watch_tracker.Synced):
                yield event
            else:
                reduced = {
                    "apiVersion": api_version,
                    "kind": kind,
                    "metadata": event.object.get("metadata") or {},
                }
                yield type(event)(reduced)


def identity(obj: Mapping[str, Any]) -> tuple[str, str, str, Mapping[str, Any]]:
    """apiVersion, kind, name and metadata of an object that is to be written."""
    metadata = obj.get("metadata") or {}
    api_version, kind, name = obj.get("apiVersion"), obj.get("kind"), metadata.get("name")
    if not api_version or not kind or not (name or metadata.get("generateName")):
        raise errors.ClientError(
            f"an object needs apiVersion, kind and a name; this one has {api_version!r}, {kind!r}, {name!r}"
        )
    return str(api_version), str(kind), str(name or ""), metadata


def required(name: str) -> str:
    """An empty name would turn a request for one object into one for all of them."""
    if not name:
        raise errors.ClientError("the name of the object is empty")
    return name


def as_object(answer: transport.HttpResponse, call: transport.HttpCall) -> Object:
    """The answer as the object that it must be."""
    if isinstance(answer.document, dict):
        return answer.document
    raise errors.ClientError(f"{call.target}: the answer is no JSON object", target=call.target.server)


# Objects as bytes of a request.


# Allowed raw in JSON, but not in YAML 1.1, or read there as line breaks and folded into spaces.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def as_json(document: Any) -> bytes:
    """For creates and patches."""
    return msgspec.json.encode(document)


def as_apply(document: Any) -> bytes:
    """For server-side apply, which reads YAML: JSON, with escapes where the two differ."""
    text = msgspec.json.encode(document).decode()
    return _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


# Whether a live object contains all that was wanted: how a create recognises its own work after a cut.


def is_subset(wanted: object, live: object) -> bool:
    """Whether everything in ``wanted`` is in ``live``, which may hold more: defaults, status."""
    if isinstance(wanted, Mapping):
        if not isinstance(live, Mapping):
            return not wanted and live is None
        return all(is_subset(value, live.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list):
        if not isinstance(live, list):
            return not wanted and live is None
        rest = iter(live)
        return all(any(is_subset(item, candidate) for candidate in rest) for item in wanted)
    if wanted in (None, "") and live is None:
        return True  # the server leaves out what is empty
    return wanted == live and isinstance(wanted, bool) == isinstance(live, bool)


def is_object_subset(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    """The same for whole objects, knowing that ``stringData`` of a Secret comes back as ``data``."""
    if wanted.get("kind") == "Secret" and wanted.get("stringData"):
        encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in wanted["stringData"].items()}
        wanted = {key: value for key, value in wanted.items() if key != "stringData"}
        wanted["data"] = {**(wanted.get("data") or {}), **encoded}
    return is_subset(wanted, live)

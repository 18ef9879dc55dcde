"""What Helm keeps of a release in the cluster, read without Helm: a Secret for each revision."""

import base64
import binascii
import dataclasses
import datetime
import gzip
import io
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import kube, safe_yaml
from firstlight.clients.helm import output
from firstlight.model import helm
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret

MAKER = "firstlight.dev/maker"
"""The label of the Secrets of releases that bootstrap makes: when one of them is pending and the lease is ours, its
maker is gone, since it held the lease and its Helm dies with it."""
_LARGEST = 64 << 20


class _Template(msgspec.Struct, frozen=True):
    name: str
    data: bytes | None = b""


class _Chart(msgspec.Struct, frozen=True):
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    templates: tuple[_Template, ...] | None = ()


class _Info(msgspec.Struct, frozen=True):
    status: str = "unknown"
    last_deployed: str = ""


class _Release(msgspec.Struct, frozen=True):
    name: str
    version: int
    info: _Info = _Info()
    chart: _Chart | None = None
    config: dict[str, Any] | None = None
    manifest: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The last revision of a release."""

    secret: str
    """The name of the Secret."""
    resource_version: str
    uid: str
    revision: int
    status: str
    is_ours: bool
    """Whether bootstrap made it."""
    chart: str
    version: str
    updated: datetime.datetime | None
    values: Secret = dataclasses.field(repr=False)
    """As JSON with sorted keys."""
    templates: Mapping[str, bytes] = dataclasses.field(repr=False)
    manifest: Secret = dataclasses.field(repr=False)

    @property
    def is_pending(self) -> bool:
        """Whether somebody is at work on it, or was when they died."""
        return self.status.startswith("pending-") or self.status == "uninstalling"

    def objects(self, name: str, namespace: str) -> tuple[Object, ...]:
        """The objects of the release with the marks that Helm puts on them."""
        found = []
        for value in safe_yaml.load_all(self.manifest.reveal()):
            if isinstance(value, dict) and value.get("kind"):
                found += [Object(_marked(each, name, namespace)) for each in _unlisted(value)]
        return tuple(found)


async def last(client: "kube.Client", name: str, namespace: str) -> Kept | None:
    """The last revision of a release; None if there is none.

    Raises:
        errors.ClientError: It cannot be read.
    """
    labels = f"owner=helm,name={name}"
    listing = await client.list("v1", "Secret", namespace=namespace, labels=labels, metadata_only=True)
    revisions = {int(each["metadata"].get("labels", {}).get("version") or 0): each for each in listing.items}
    if not revisions:
        return None
    secret = revisions[max(revisions)]["metadata"]["name"]
    try:
        live = await client.get("v1", "Secret", secret, namespace=namespace)
    except kube.NotFound:
        return await last(client, name, namespace)
    try:
        return decoded(live)
    except (ValueError, KeyError, EOFError, zlib.error, binascii.Error, msgspec.DecodeError, OSError) as error:
        raise errors.ClientError(
            f"the Secret {namespace}/{secret} holds no release that can be read", hint="was it written by Helm 3 or 4?"
        ) from error


def decoded(live: Mapping[str, Any]) -> Kept:
    """A release out of its Secret.

    Raises:
        ValueError: It is none; so are the errors of gzip, base64 and msgspec.
    """
    raw = base64.b64decode(base64.b64decode(live["data"]["release"]))
    with gzip.open(io.BytesIO(raw)) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError("it is too large")
    release = msgspec.json.decode(content, type=_Release)
    chart = release.chart or _Chart()
    metadata = live["metadata"]
    return Kept(
        secret=metadata["name"],
        resource_version=metadata["resourceVersion"],
        uid=metadata["uid"],
        revision=release.version,
        status=release.info.status,
        is_ours=MAKER in (metadata.get("labels") or {}),
        chart=str(chart.metadata.get("name") or ""),
        version=str(chart.metadata.get("version") or ""),
        updated=output.time(release.info.last_deployed),
        values=_canonical(release.config or {}),
        templates={each.name: each.data or b"" for each in chart.templates or ()},
        manifest=Secret(release.manifest),
    )


def same_values(one: Secret, kept: Kept) -> bool:
    """Whether values, as JSON, are those of a release."""
    given = msgspec.json.decode(one.reveal() or b"{}")
    return _canonical(given if isinstance(given, dict) else {}) == kept.values


def same_templates(chart: helm.LocalChart, kept: Kept) -> bool:
    """Whether the chart has the templates that the release was made from; those of charts in it Helm does not keep."""
    found = _archived(chart.path) if chart.path.is_file() else _lying(chart.path)
    return all(found.get(name) == data for name, data in kept.templates.items()) and len(kept.templates) > 0


def _archived(path: Path) -> dict[str, bytes]:
    found = {}
    with tarfile.open(path, "r:gz") as archive:
        for entry in archive:
            name = entry.name.partition("/")[2]
            if entry.isreg() and name.startswith("templates/"):
                file = archive.extractfile(entry)
                found[name] = file.read() if file else b""
    return found


def _lying(path: Path) -> dict[str, bytes]:
    return {
        each.relative_to(path).as_posix(): each.read_bytes()
        for each in (path / "templates").rglob("*")
        if each.is_file()
    }


def _canonical(values: Mapping[str, Any]) -> Secret:
    """Numbers as JavaScript has them: Helm makes floats of integers on some ways."""
    return Secret(msgspec.json.encode(_whole(values), order="sorted"))


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _whole(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _unlisted(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    items = value.get("items")
    if str(value["kind"]).endswith("List") and isinstance(items, list):
        return [each for each in items if isinstance(each, Mapping)]
    return [value]


def _marked(value: Mapping[str, Any], name: str, namespace: str) -> dict[str, Any]:
    metadata = value.get("metadata") or {}
    return {
        **value,
        "metadata": {
            **metadata,
            "labels": {**(metadata.get("labels") or {}), "app.kubernetes.io/managed-by": "Helm"},
            "annotations": {
                **(metadata.get("annotations") or {}),
                "meta.helm.sh/release-name": name,
                "meta.helm.sh/release-namespace": namespace,
            },
        },
    }

"""What Helm keeps of a release in the cluster, read without Helm: a Secret for each revision."""

import base64
import binascii
import dataclasses
import datetime
import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.helm import helm_output
from firstlight.document import yaml_reader
from firstlight.model import helm_chart, helm_names
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret

MAKER, CHART = "firstlight.dev/maker", "firstlight.dev/chart"
"""Labels of the Secrets of releases that bootstrap makes: who runs Helm, and the digest of the chart. Both name their
revision, since Helm carries labels over to what somebody else writes after it."""
_PART = 60
"""Characters of a maker in one label; Kubernetes takes 63."""
_MOST = 32
_DIGITS = 40
_REVISION = re.compile(r"[1-9][0-9]{0,8}")
_BOM = b"\xef\xbb\xbf"
_LARGEST = 64 << 20


class _Template(msgspec.Struct, frozen=True):
    name: str
    data: bytes | None = b""


class _Chart(msgspec.Struct, frozen=True):
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    templates: tuple[_Template, ...] | None = ()
    files: tuple[_Template, ...] | None = ()
    values: dict[str, Any] | None = None


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
class HelmRevision:
    """The last revision of a release."""

    secret: str
    """The name of the Secret."""
    resource_version: str
    uid: str
    revision: int
    status: str
    maker: str
    """The holder that made this very revision, if it was bootstrap; empty for anybody else."""
    digest: str
    """Of the chart, if bootstrap made this revision."""
    chart: str
    version: str
    updated: datetime.datetime | None
    values: Secret = dataclasses.field(repr=False)
    """As JSON with sorted keys."""
    templates: Mapping[str, bytes] = dataclasses.field(repr=False)
    files: Mapping[str, bytes] = dataclasses.field(repr=False)
    """Those of the chart that are no templates."""
    defaults: Secret = dataclasses.field(repr=False)
    """The chart's own values, as JSON with sorted keys."""
    manifest: Secret = dataclasses.field(repr=False)

    @property
    def is_pending(self) -> bool:
        """Whether somebody is at work on it, or was when they died."""
        return self.status.startswith("pending-") or self.status == "uninstalling"

    def objects(self, name: str, namespace: str) -> tuple[Object, ...]:
        """The objects of the release with the marks that Helm puts on them."""
        return objects(self.manifest, name, namespace)


def objects(manifest: Secret, name: str, namespace: str) -> tuple[Object, ...]:
    """The objects of a manifest with the marks that Helm puts on those of a release.

    Args:
        manifest: What Helm made.
        name: Of the release.
        namespace: Its namespace.
    """
    found = []
    for value in yaml_reader.load_all(manifest.reveal()):
        if isinstance(value, dict) and value.get("kind"):
            found += [Object(_marked(each, name, namespace)) for each in _unlisted(value)]
    return tuple(found)


async def last(client: "kube.Client", name: str, namespace: str, *, status: str = "") -> HelmRevision | None:
    """The last revision of a release; None if there is none.

    Args:
        client: The API.
        name: Of the release.
        namespace: Its namespace.
        status: Only of revisions with this one.

    Raises:
        errors.ClientError: It cannot be read.
    """
    labels = f"{helm_names.RELEASE_SECRET_SELECTOR},name={name}{f',status={status}' if status else ''}"
    while True:
        listing = await client.list("v1", "Secret", namespace=namespace, labels=labels, metadata_only=True)
        revisions = {number: each for each in listing.items if (number := _number(each))}
        if not revisions:
            return None
        secret = revisions[max(revisions)]["metadata"]["name"]
        try:
            live = await client.get("v1", "Secret", secret, namespace=namespace)
        except kube.NotFound:
            continue  # somebody is at work on it
        try:
            return decoded(live)
        except (ValueError, KeyError, EOFError, zlib.error, binascii.Error, msgspec.DecodeError, OSError) as error:
            raise errors.ClientError(
                f"the Secret {namespace}/{secret} holds no release that can be read",
                hint="was it written by Helm 3 or 4?",
            ) from error


def labels(*, holder: str, revision: int, digest: str) -> dict[str, str]:
    """The labels of a release that is about to be written.

    Args:
        holder: Who runs Helm.
        revision: The number that the release will have.
        digest: Of the chart; empty if it is not known.
    """
    text = base64.b32encode(holder.encode(errors="surrogateescape")).decode().rstrip("=").lower()
    parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
    made = {MAKER: f"{revision}-{len(parts)}"}
    made |= {f"{MAKER}-{number}": part for number, part in enumerate(parts, 1)}
    return made | ({CHART: f"{revision}-{digest[:_DIGITS]}"} if digest else {})


def decoded(live: Mapping[str, Any]) -> HelmRevision:
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
    marks = metadata.get("labels") or {}
    return HelmRevision(
        secret=metadata["name"],
        resource_version=metadata["resourceVersion"],
        uid=metadata["uid"],
        revision=release.version,
        status=release.info.status,
        maker=_maker(marks, release.version),
        digest=_said(marks, CHART, release.version),
        chart=str(chart.metadata.get("name") or ""),
        version=str(chart.metadata.get("version") or ""),
        updated=helm_output.time(release.info.last_deployed),
        values=_canonical(release.config or {}),
        templates={each.name: each.data or b"" for each in chart.templates or ()},
        files={each.name: each.data or b"" for each in chart.files or ()},
        defaults=_canonical(chart.values or {}),
        manifest=Secret(release.manifest),
    )


def same_values(one: Secret, kept: HelmRevision) -> bool:
    """Whether values, as JSON, are those of a release."""
    given = msgspec.json.decode(one.reveal() or b"{}")
    return _canonical(given if isinstance(given, dict) else {}) == kept.values


def same_chart(chart: helm_chart.LocalChart, kept: HelmRevision, *, digest: str) -> bool:
    """Whether a chart is the one that a release was made from.

    Of charts in charts Helm keeps nothing: where somebody else made the release, a change in those is not seen.

    Args:
        chart: Where it is; it is only read if the digests do not tell.
        kept: The release.
        digest: Of the chart.
    """
    if digest and kept.digest:
        return digest[:_DIGITS] == kept.digest
    found = _archived(chart.path) if chart.path.is_file() else _lying(chart.path)
    if any(found.get(name) != data for name, data in (*kept.templates.items(), *kept.files.items())):
        return False
    if ".helmignore" not in found and {name for name in found if name.startswith("templates/")} - kept.templates.keys():
        return False
    if any(name.startswith("charts/") for name in found):
        return True  # they may have changed the values
    return _defaults(found.get("values.yaml", b"")) == kept.defaults


def _defaults(content: bytes) -> Secret | None:
    try:
        values = next(iter(yaml_reader.load_all(content)), None)
    except ValueError:
        return None
    return _canonical(values if isinstance(values, dict) else {})


def _archived(path: Path) -> dict[str, bytes]:
    found = {}
    with tarfile.open(path, "r:gz") as archive:
        for entry in archive:
            file = archive.extractfile(entry) if entry.isreg() else None
            if file is not None:
                found[entry.name.partition("/")[2]] = file.read().removeprefix(_BOM)
    return found


def _lying(path: Path) -> dict[str, bytes]:
    return {
        each.relative_to(path).as_posix(): each.read_bytes().removeprefix(_BOM)
        for each in path.rglob("*")
        if each.is_file()
    }


def _number(secret: Mapping[str, Any]) -> int:
    """The revision that a Secret says it is of; 0 if it says none, as somebody else's might."""
    found = str((secret["metadata"].get("labels") or {}).get("version") or "")
    return int(found) if _REVISION.fullmatch(found) else 0


def _said(marks: Mapping[str, str], name: str, revision: int) -> str:
    """What a label says of a revision; empty if it is of another one."""
    of, _, said = str(marks.get(name) or "").partition("-")
    return said if of == str(revision) else ""


def _maker(marks: Mapping[str, str], revision: int) -> str:
    count = _said(marks, MAKER, revision)
    if not _REVISION.fullmatch(count):
        return ""
    text = "".join(str(marks.get(f"{MAKER}-{number}") or "") for number in range(1, min(int(count), _MOST) + 1))
    try:
        return base64.b32decode(text.upper() + "=" * (-len(text) % 8)).decode(errors="surrogateescape")
    except binascii.Error:
        return ""


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
            "labels": {**(metadata.get("labels") or {}), helm_names.MANAGED_BY_LABEL: helm_names.MANAGED_BY_HELM},
            "annotations": {
                **(metadata.get("annotations") or {}),
                helm_names.RELEASE_NAME_ANNOTATION: name,
                helm_names.RELEASE_NAMESPACE_ANNOTATION: namespace,
            },
        },
    }

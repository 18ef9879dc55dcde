"""Things for the registry, made here: a chart as helm pushes it, a folder of manifests as Flux does."""

import dataclasses
import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from firstlight import errors
from firstlight.lab.sources import source_names

# Files on their way into a commit or an artifact.


FILES_LIMIT = 256 << 20
"""Bytes of all files together that are taken in one piece."""


class SourceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file; the content of a link is where it points."""

    content: bytes
    mode: Literal["100644", "100755", "120000"] = "100644"


def read_folder(folder: Path) -> dict[str, SourceFile]:
    """Every file below a folder, by its path there; Git's own directory is left out.

    Raises:
        errors.UsageError: It is no folder, or there is something in it that is neither file, folder nor link.
    """
    if not folder.is_dir():
        raise errors.UsageError(f"{folder} is no directory")
    found: dict[str, SourceFile] = {}
    size = 0
    for parent, below, here in os.walk(folder):
        below[:] = sorted(name for name in below if name != ".git" and not (Path(parent) / name).is_symlink())
        links = [entry.name for entry in os.scandir(parent) if entry.is_dir() and entry.is_symlink()]
        for name in sorted([*here, *links]):
            path = Path(parent) / name
            if name == ".git":
                continue
            file = _read(path)
            size += len(file.content)
            if size > FILES_LIMIT:
                raise errors.UsageError(f"{folder} has more than {FILES_LIMIT >> 20} MiB")
            found[source_names.file_path(path.relative_to(folder).as_posix())] = file
    return found


def _read(path: Path) -> SourceFile:
    if path.is_symlink():
        return SourceFile(os.readlink(path).encode(), "120000")
    if not path.is_file():
        raise errors.UsageError(f"{path} is neither a file nor a folder nor a link")
    return SourceFile(path.read_bytes(), "100755" if os.access(path, os.X_OK) else "100644")


FLUX_CONFIG = "application/vnd.cncf.flux.config.v1+json"
FLUX_CONTENT = "application/vnd.cncf.flux.content.v1.tar+gzip"
HELM_CONFIG = "application/vnd.cncf.helm.config.v1+json"
HELM_CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
CREATED_ANNOTATION = "org.opencontainers.image.created"
SOURCE_ANNOTATION = "org.opencontainers.image.source"
REVISION_ANNOTATION = "org.opencontainers.image.revision"


@dataclasses.dataclass(frozen=True)
class OciArtifact:
    """A manifest with what belongs to it."""

    config: bytes
    layer: bytes
    manifest: bytes


def flux_artifact(
    files: Mapping[str, SourceFile], *, created: str, source: str, revision: str, annotations: Mapping[str, str]
) -> OciArtifact:
    """A folder, as ``flux push artifact`` packs it; the same files make the same layer."""
    archive = _archive(files)
    config = {
        "architecture": "",
        "os": "",
        "created": created,
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(archive).hexdigest()}"]},
    }
    notes = {CREATED_ANNOTATION: created, SOURCE_ANNOTATION: source, REVISION_ANNOTATION: revision, **annotations}
    layer = gzip.compress(archive, compresslevel=6, mtime=0)
    return _artifact(FLUX_CONFIG, msgspec.json.encode(config), FLUX_CONTENT, layer, notes)


def helm_artifact(chart: bytes, metadata: Mapping[str, Any], *, created: str) -> OciArtifact:
    """A chart, as ``helm push`` puts it."""
    notes = {
        "org.opencontainers.image.title": metadata["name"],
        "org.opencontainers.image.version": metadata["version"],
        "org.opencontainers.image.description": metadata.get("description", ""),
        "org.opencontainers.image.url": metadata.get("home", ""),
        CREATED_ANNOTATION: created,
    }
    shown = {key: str(value) for key, value in notes.items() if value}
    return _artifact(HELM_CONFIG, msgspec.json.encode(metadata), HELM_CONTENT, chart, shown)


def helm_tag(version: str) -> str:
    """The tag of a chart's version: a plus cannot be in one."""
    return version.replace("+", "_")


def _artifact(
    config_type: str, config: bytes, layer_type: str, layer: bytes, annotations: Mapping[str, str]
) -> OciArtifact:
    manifest = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": config_type, "size": len(config), "digest": content_digest(config)},
        "layers": [{"mediaType": layer_type, "size": len(layer), "digest": content_digest(layer)}],
        "annotations": dict(annotations),
    }
    return OciArtifact(config, layer, msgspec.json.encode(manifest))


def _archive(files: Mapping[str, SourceFile]) -> bytes:
    """A tar of regular files and their folders, with nothing of this machine; links are left out, as Flux does."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        folders: set[str] = set()
        for path, file in sorted(files.items()):
            if file.mode == "120000":
                continue
            parts = path.split("/")
            for depth in range(1, len(parts)):
                folder = "/".join(parts[:depth])
                if folder not in folders:
                    folders.add(folder)
                    entry = tarfile.TarInfo(folder)
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(entry)
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(file.content), 0o755 if file.mode == "100755" else 0o644
            tar.addfile(entry, io.BytesIO(file.content))
    return packed.getvalue()


# What a manifest says: the part of it that a registry must understand.


OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX: Final = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
MEDIA_TYPES = (OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST)
INDEX_TYPES = (OCI_INDEX, DOCKER_LIST)
MANIFEST_LIMIT = 4 << 20
"""Bytes of a manifest: what clients accept."""


class InvalidManifestError(Exception):
    """It is no manifest."""


class OciDescriptor(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Names a piece of content."""

    media_type: str
    digest: str
    size: int
    artifact_type: str = ""
    annotations: dict[str, str] = {}
    urls: tuple[str, ...] = ()


class OciManifest(msgspec.Struct, frozen=True, rename="camel"):
    """An image, an artifact, or a list of them."""

    schema_version: int
    media_type: str = ""
    artifact_type: str = ""
    config: OciDescriptor | None = None
    layers: tuple[OciDescriptor, ...] = ()
    manifests: tuple[OciDescriptor, ...] = ()
    subject: OciDescriptor | None = None
    annotations: dict[str, str] | None = None

    @property
    def blobs(self) -> tuple[OciDescriptor, ...]:
        """What the repository must have beside it; layers with addresses are had from there."""
        config = (self.config,) if self.config is not None else ()
        return (*config, *(each for each in self.layers if not each.urls))


def content_digest(content: bytes) -> str:
    """The name of content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def parse_manifest(content: bytes, media_type: str) -> OciManifest:
    """Read one.

    Raises:
        InvalidError: It is none, or not of this type.
    """
    if media_type not in MEDIA_TYPES:
        raise InvalidManifestError(f"{media_type or 'no media type'} is not one of {', '.join(MEDIA_TYPES)}")
    try:
        manifest = msgspec.json.decode(content, type=OciManifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidManifestError(str(error)) from error
    if manifest.schema_version != 2:
        raise InvalidManifestError(f"schemaVersion is {manifest.schema_version}, not 2")
    if manifest.media_type not in ("", media_type):
        raise InvalidManifestError(f"it says of itself that it is {manifest.media_type}, and was sent as {media_type}")
    if (media_type in INDEX_TYPES) == (manifest.config is not None):
        raise InvalidManifestError(f"an index has manifests, everything else a config: this is no {media_type}")
    return manifest


def referrer_descriptor(manifest: OciManifest, content: bytes, media_type: str) -> OciDescriptor:
    """How a manifest with a subject is listed among the referrers of that."""
    kind = manifest.artifact_type or (manifest.config.media_type if manifest.config is not None else "")
    return OciDescriptor(media_type, content_digest(content), len(content), kind, manifest.annotations or {})


def manifest_index(descriptors: tuple[OciDescriptor, ...]) -> bytes:
    """An index of manifests."""
    return msgspec.json.encode({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": descriptors})

"""Things for the registry, made here: a chart as helm pushes it, a folder of manifests as Flux does."""

import dataclasses
import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from typing import Any

import msgspec

from firstlight.lab.sources.files import File
from firstlight.lab.sources.registry.manifests import OCI_MANIFEST, digest

FLUX_CONFIG = "application/vnd.cncf.flux.config.v1+json"
FLUX_CONTENT = "application/vnd.cncf.flux.content.v1.tar+gzip"
HELM_CONFIG = "application/vnd.cncf.helm.config.v1+json"
HELM_CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
CREATED = "org.opencontainers.image.created"
SOURCE = "org.opencontainers.image.source"
REVISION = "org.opencontainers.image.revision"


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A manifest with what belongs to it."""

    config: bytes
    layer: bytes
    manifest: bytes


def flux(
    files: Mapping[str, File], *, created: str, source: str, revision: str, annotations: Mapping[str, str]
) -> Artifact:
    """A folder, as ``flux push artifact`` packs it; the same files make the same layer."""
    archive = _archive(files)
    config = {
        "architecture": "",
        "os": "",
        "created": created,
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(archive).hexdigest()}"]},
    }
    notes = {CREATED: created, SOURCE: source, REVISION: revision, **annotations}
    layer = gzip.compress(archive, compresslevel=6, mtime=0)
    return _artifact(FLUX_CONFIG, msgspec.json.encode(config), FLUX_CONTENT, layer, notes)


def helm(chart: bytes, metadata: Mapping[str, Any], *, created: str) -> Artifact:
    """A chart, as ``helm push`` puts it."""
    notes = {
        "org.opencontainers.image.title": metadata["name"],
        "org.opencontainers.image.version": metadata["version"],
        "org.opencontainers.image.description": metadata.get("description", ""),
        "org.opencontainers.image.url": metadata.get("home", ""),
        CREATED: created,
    }
    shown = {key: str(value) for key, value in notes.items() if value}
    return _artifact(HELM_CONFIG, msgspec.json.encode(metadata), HELM_CONTENT, chart, shown)


def helm_tag(version: str) -> str:
    """The tag of a chart's version: a plus cannot be in one."""
    return version.replace("+", "_")


def _artifact(
    config_type: str, config: bytes, layer_type: str, layer: bytes, annotations: Mapping[str, str]
) -> Artifact:
    manifest = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": config_type, "size": len(config), "digest": digest(config)},
        "layers": [{"mediaType": layer_type, "size": len(layer), "digest": digest(layer)}],
        "annotations": dict(annotations),
    }
    return Artifact(config, layer, msgspec.json.encode(manifest))


def _archive(files: Mapping[str, File]) -> bytes:
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

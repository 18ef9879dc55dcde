"""What a manifest says: the part of it that a registry must understand."""

import hashlib
from typing import Final

import msgspec

OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX: Final = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
MEDIA_TYPES = (OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST)
INDEXES = (OCI_INDEX, DOCKER_LIST)
LIMIT = 4 << 20
"""Bytes of a manifest: what clients accept."""


class InvalidError(Exception):
    """It is no manifest."""


class Descriptor(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Names a piece of content."""

    media_type: str
    digest: str
    size: int
    artifact_type: str = ""
    annotations: dict[str, str] = {}
    urls: tuple[str, ...] = ()


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """An image, an artifact, or a list of them."""

    schema_version: int
    media_type: str = ""
    artifact_type: str = ""
    config: Descriptor | None = None
    layers: tuple[Descriptor, ...] = ()
    manifests: tuple[Descriptor, ...] = ()
    subject: Descriptor | None = None
    annotations: dict[str, str] | None = None

    @property
    def blobs(self) -> tuple[Descriptor, ...]:
        """What the repository must have beside it; layers with addresses are had from there."""
        config = (self.config,) if self.config is not None else ()
        return (*config, *(each for each in self.layers if not each.urls))


def digest(content: bytes) -> str:
    """The name of content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def parse(content: bytes, media_type: str) -> Manifest:
    """Read one.

    Raises:
        InvalidError: It is none, or not of this type.
    """
    if media_type not in MEDIA_TYPES:
        raise InvalidError(f"{media_type or 'no media type'} is not one of {', '.join(MEDIA_TYPES)}")
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidError(str(error)) from error
    if manifest.schema_version != 2:
        raise InvalidError(f"schemaVersion is {manifest.schema_version}, not 2")
    if manifest.media_type not in ("", media_type):
        raise InvalidError(f"it says of itself that it is {manifest.media_type}, and was sent as {media_type}")
    if (media_type in INDEXES) == (manifest.config is not None):
        raise InvalidError(f"an index has manifests, everything else a config: this is no {media_type}")
    return manifest


def referrer(manifest: Manifest, content: bytes, media_type: str) -> Descriptor:
    """How a manifest with a subject is listed among the referrers of that."""
    kind = manifest.artifact_type or (manifest.config.media_type if manifest.config is not None else "")
    return Descriptor(media_type, digest(content), len(content), kind, manifest.annotations or {})


def index(descriptors: tuple[Descriptor, ...]) -> bytes:
    """An index of manifests."""
    return msgspec.json.encode({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": descriptors})

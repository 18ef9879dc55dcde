"""What a component is made from: a chart, a directory of the repo, manifests elsewhere, or a piece of a machine config.

Everything stands here as the repo says it, resolved as far as reading alone can resolve it. Rendering is for others.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model.place import Place


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """Values for a chart, from one place; of several the later ones win."""

    place: Place
    inline: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    file: str = ""
    """A file of the repo, relative to its root."""
    reference: str = ""
    """What holds them where they are neither here nor in a file: ``ConfigMap/ns/name``, ``Secret/ns/name``, a URL."""
    key: str = ""
    """The key in the reference; Flux's default is values.yaml."""
    target: str = ""
    """The path in the values where a single value goes, as ``helm --set`` has it."""
    text: str | None = dataclasses.field(default=None, repr=False)
    """The single value for ``target`` as it is written, where it is neither in a file nor in a reference."""
    is_text: bool = False
    """Whether the single value stays a text, as with ``helm --set-string``."""
    optional: bool = False
    unresolved: str = ""
    """Why they are not known, if they are not: a template without its variables, an encrypted file …"""
    is_secret: bool = False
    """Whether they are only not known because they are encrypted or secret."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChartSource:
    """A Helm release: its chart and what it is given."""

    name: str
    """The chart's name, or its path in the repo where ``repository`` is empty."""
    repository: str = ""
    """``oci://…``, ``https://…``, a Git URL; empty for a chart of this repo."""
    version: str = ""
    """As it is written, ranges too; ``digest`` pins harder."""
    digest: str = ""
    release: str = ""
    namespace: str = ""
    """Where the release's objects go."""
    storage_namespace: str = ""
    """Where Helm keeps the release's history; like ``namespace`` unless Flux says otherwise."""
    values: tuple[Values, ...] = ()
    post_renderers: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)
    credentials: str = ""
    """The Secret with the credentials of the repository, ``ns/name``."""
    insecure: bool = False
    """Whether its registry is spoken to without TLS, as ``insecure`` of its source says."""
    origin: Place | None = None
    """The HelmRepository, OCIRepository, GitRepository or ``repositories:`` entry that says where the chart is."""
    pinned: Place | None = None
    """Where its version stands, if that is not where the release is: an OCIRepository or GitRepository."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObjectReference:
    """An object that another one names."""

    kind: str
    name: str
    namespace: str = ""
    optional: bool = False

    def __str__(self) -> str:
        return "/".join(each for each in (self.kind, self.namespace, self.name) if each)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DirectorySource:
    """A directory (or file) of this repo with manifests, and what the engine does to them."""

    path: str
    """Relative to the repo's root; ``.`` is the root."""
    kustomize: bool = True
    """Built by kustomize; else the files are taken as they are."""
    recurse: bool = True
    include: str = ""
    exclude: str = ""
    """Globs, for plain directories of Argo CD."""
    source: ObjectReference | None = None
    """The GitRepository or OCIRepository that a Flux Kustomization reads."""
    substitute: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    substitute_from: tuple[ObjectReference, ...] = ()
    target_namespace: str = ""
    name_prefix: str = ""
    name_suffix: str = ""
    common_metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    components: tuple[str, ...] = ()
    patches: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)
    images: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)
    decryption: str = ""
    """The provider (``sops``), with its Secret: ``sops Secret/flux-system/sops-age``."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSource:
    """Manifests that are not in this repo: a URL, another Git repository, an OCI artifact."""

    url: str
    revision: str = ""
    path: str = ""
    digest: str = ""
    """``sha256:…``, which a file must have if it is given."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Manifests inside another file, such as ``cluster.inlineManifests[2].contents`` of a Talos patch."""

    place: Place
    steps: tuple[str | int, ...]
    """The way to the contents in the document at ``place``."""
    size: int = 0
    """Bytes of the contents."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unresolved:
    """A source that reading alone cannot tell."""

    text: str
    """As it is written."""
    reason: str


Source = ChartSource | DirectorySource | RemoteSource | Embedded | Unresolved


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeveralSources:
    """Several sources of one component, as Argo CD has them."""

    each: tuple[Source, ...]


def namespace(source: Source | SeveralSources) -> str:
    """Where objects go that name no namespace; empty where nothing says so."""
    match source:
        case ChartSource():
            return source.namespace
        case DirectorySource():
            return source.target_namespace
        case SeveralSources():
            return next((found for each in source.each if (found := namespace(each))), "")
    return ""

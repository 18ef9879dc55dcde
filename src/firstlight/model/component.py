"""Components: what is deployed, where that is said, what it needs, and who owns it in the end."""

import dataclasses
import enum
import posixpath
import re
from collections.abc import Mapping
from typing import Any, Protocol

from firstlight.model import argocd_names, flux_names
from firstlight.model.own_gates import Hook, OwnGate
from firstlight.model.place import Place
from firstlight.model.source import SeveralSources, Source

_VALUES = re.compile(r"\s(?:--values|-f)[= ]['\"]?([^\s'\"]+)")


class Phase(enum.StrEnum):
    """A stretch of a run, in this order."""

    MACHINE = "machine"
    INLINE = "inline"
    CRDS = "crds"
    CORE = "core"
    ENGINE = "engine"
    HANDOVER = "handover"
    GITOPS = "gitops"


class Side(enum.StrEnum):
    """Where a change or a component belongs."""

    BOOTSTRAP = "bootstrap"
    GITOPS = "gitops"
    HYBRID = "hybrid"


class Owner(enum.StrEnum):
    """Who owns a component in the end."""

    BOOTSTRAP = "bootstrap"
    GITOPS = "gitops"


class Certainty(enum.StrEnum):
    """How sure the reading is."""

    DECLARED = "declared"
    """A manifest or a config file says it."""
    PARSED = "parsed"
    """A command in a script says it, and every word of it is known."""
    GUESSED = "guessed"
    """A command says it, and parts are variables that only a run would tell."""


class SourceForm(enum.StrEnum):
    """In which form a repo says that something is deployed."""

    KUSTOMIZATION = flux_names.KUSTOMIZATION
    HELM_RELEASE = flux_names.HELM_RELEASE
    FLUX_INSTANCE = flux_names.FLUX_INSTANCE
    FLUX_COMPONENTS = "Flux components"
    APPLICATION = argocd_names.APPLICATION
    HELMFILE = "helmfile release"
    INLINE_MANIFEST = "inline manifest"
    EXTRA_MANIFEST = "extra manifest"
    HELM_COMMAND = "helm command"
    KUBECTL_COMMAND = "kubectl command"
    KUSTOMIZE_COMMAND = "kustomize command"
    FLUX_COMMAND = "flux command"
    HOOK = "hook"
    TOFU = "OpenTofu resource"
    DECLARED = "firstlight.yaml"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class ObjectId:
    """One Kubernetes object."""

    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "ObjectId":
        """What an object is called; empty where a stranger's object says nothing."""
        group, _, _ = str(value.get("apiVersion") or "").rpartition("/")
        metadata = value.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        return cls(
            group,
            str(value.get("kind") or ""),
            str(metadata.get("namespace") or ""),
            str(metadata.get("name") or ""),
        )

    def __str__(self) -> str:
        """As people call it: ``Deployment kube-system/coredns``."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def is_secret(self) -> bool:
        """Whether it is a Secret of Kubernetes itself; other groups have kinds of that name that are none."""
        return (self.group, self.kind) == ("", "Secret")


class Stated(Protocol):
    """An object as its engine would get it, kustomized and with its variables filled in, and the way to its lines."""

    @property
    def value(self) -> Mapping[str, Any]:
        """The object; shared with others, so it is never changed in place."""

    @property
    def place(self) -> Place:
        """Where it is written first."""

    @property
    def id(self) -> ObjectId:
        """What it is called."""

    @property
    def way(self) -> tuple[int, tuple[str | int, ...]] | None:
        """The number of its document in the file, and the way to it there; None for one that something made."""

    def at(self, *steps: str | int) -> Place:
        """Where a value of it is written, or the nearest parent that is."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ComponentNeed:
    """That one thing needs another."""

    id: str
    """The id of the origin that is needed, such as ``kustomization/flux-system/cilium``."""
    place: Place
    why: str = ""
    """``dependsOn``, ``needs``, ``sync wave 2 after 1``, ``task order`` …"""
    is_order: bool = False
    """Whether only the order of a script says so, which may be chance."""
    is_awaited: bool = False
    """Whether Flux waits for it, as ``dependsOn`` says."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SecretNeed:
    """A Secret that must exist before something works."""

    name: str
    namespace: str
    keys: tuple[str, ...] = ()
    """What must be in it, as far as that is known."""
    place: Place
    why: str
    """``decrypts …``, ``credentials of …``, ``what the store … logs in with``."""
    is_decryption: bool = False
    """It has the keys that decrypt what Git holds encrypted."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One place that deploys something: what a reader finds. Components are made of these."""

    form: SourceForm
    side: Side
    place: Place
    name: str
    namespace: str = ""
    """Of the declaration itself; where its objects go is the source's to say."""
    cluster: str = ""
    """Empty where nothing says to which cluster it belongs."""
    phase: Phase | None = None
    """Where the form alone tells it."""
    source: Source | SeveralSources
    version: str = ""
    """As people call it: the chart's version, a tag, a revision."""
    needs: tuple[ComponentNeed, ...] = ()
    parent: str = ""
    """The id of the origin that brings this one: the Kustomization of a HelmRelease, the app of an app."""
    certainty: Certainty = Certainty.DECLARED
    doubt: str = ""
    """Why it is not certain."""
    wave: int | None = None
    suspended: bool = False
    objects: tuple[ObjectId, ...] = ()
    """The plain objects that it applies itself; those of its charts and children are not among them."""
    secrets: tuple[SecretNeed, ...] = ()
    """The Secrets that it names and cannot work without."""
    definition: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """The object that declares it, as the engine would see it; empty for forms that are no objects."""
    maker: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """What makes it, where it is not written itself: an ApplicationSet; of Flux's own manifests the Kustomization."""
    command: str = ""
    """The command line of a script, on one line."""
    stated: tuple[Stated, ...] = dataclasses.field(default=(), repr=False, compare=False)
    """The objects that it applies itself as they are stated, those that declare its children among them."""

    @property
    def id(self) -> str:
        """Unique in its cluster: ``helmrelease/kube-system/cilium``, ``helmfile-release/kube-system/cilium``."""
        form = self.form.value.lower().replace(" ", "-")
        return "/".join(each for each in (form, self.namespace, self.name) if each)

    @property
    def values_files(self) -> tuple[str, ...]:
        """Files that a helm command names for values, counted from the repo's top and from where the script stands.

        Where the chart is not known this is all that is known of them; some of the paths may lead to nothing.
        """
        if self.form is not SourceForm.HELM_COMMAND:
            return ()
        written = [each for each in _VALUES.findall(self.command) if not {"$", "{", "*"} & set(each)]
        homes = ("", posixpath.dirname(self.place.path))
        found = (posixpath.normpath(posixpath.join(home, each)) for each in written for home in homes)
        return tuple(dict.fromkeys(each for each in found if not each.startswith(("/", ".."))))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """The smallest unit that is deployed by itself, in one cluster."""

    name: str
    """Unique in its cluster, and as short as that allows."""
    cluster: str
    phase: Phase
    side: Side
    owner: Owner
    role: str = ""
    """What it is for, where that is known: cni, dns, certificates, secrets, engine, storage, crds …"""
    why: str
    is_why_declared: bool = False
    is_why_only_form: bool = False
    """Whether nothing says why, so that ``why`` is the form and the file."""
    version: str = ""
    needs: tuple[str, ...] = ()
    """Names of components of the same cluster."""
    missing: tuple[ComponentNeed, ...] = ()
    """Needs that nothing in the cluster meets."""
    parent: str = ""
    """The name of the component that brings this one."""
    part_of: str = ""
    """The name of the hybrid whose GitOps half this is, such as Cilium for its BGP peers."""
    origins: tuple[Origin, ...]
    gates: tuple[OwnGate, ...] = ()
    """What its owners ask beside what firstlight asks by itself."""
    hooks: tuple[Hook, ...] = ()
    """What its owners run once bootstrap has it up."""

    @property
    def halves(self) -> tuple[tuple[Origin, ...], tuple[Origin, ...]]:
        """What bootstrap has of it, and what GitOps has of it."""
        return (
            tuple(each for each in self.origins if each.side == Side.BOOTSTRAP),
            tuple(each for each in self.origins if each.side == Side.GITOPS),
        )

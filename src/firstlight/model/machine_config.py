"""What becomes of a machine config: whether it is valid, and what applying it did."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from firstlight.model.cluster import Machine
from firstlight.model.place import Place
from firstlight.model.secret import Secret

ApplyMode = Literal["auto", "no-reboot", "staged", "try"]
"""Without ``reboot``: talosctl 1.14 does not have it any more."""
Effect = Literal["at-once", "reboot", "staged", "tried", "unknown"]
Kind = Literal["controlplane", "worker", "talosconfig"]
"""What can be generated from a cluster's secrets."""
ValidationMode = Literal["metal", "cloud", "container"]


@dataclasses.dataclass(frozen=True)
class AppliedConfig:
    """What a machine did, or would do, with a config."""

    effect: Effect
    """``at-once``: without a reboot. ``tried``: as that, and taken back later. ``unknown``: in words not known here."""
    is_dry_run: bool
    reason: str = ""
    """Why a reboot is needed, if it is."""
    warnings: tuple[str, ...] = ()
    diff: Secret | None = None
    """What changes, which may show keys and tokens; None if nothing does, or if Talos did not say."""

    @property
    def needs_reboot(self) -> bool:
        """Whether the machine reboots for it, now or later; what is not known to do without does."""
        return self.effect not in {"at-once", "tried"}


@dataclasses.dataclass(frozen=True)
class ConfigValidation:
    """Whether a config would be accepted."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether there is no problem; warnings are none."""
        return not self.problems


# A machine's config before it is one: what goes into it, without the cluster's secrets.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DraftPatch:
    """A strategic merge patch, or a whole config document."""

    place: Place
    text: Secret | None = None
    """What it says; None where it is encrypted, and ``reference`` tells how to read it."""
    reference: str = ""
    """``sops:PATH`` for a file that is decrypted at the last moment."""
    documents: Secret | None = None
    """The same for a config that consists of documents, where the patch was made here."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MachineDraft:
    """What one machine is to be."""

    machine: Machine
    cluster: str
    endpoint: str
    """The URL of the Kubernetes API."""
    whole: DraftPatch | None = None
    """A complete config, where the repo has one; then it holds the cluster's secrets itself."""
    patches: tuple[DraftPatch, ...] = ()
    """In their order; the last wins."""
    talos: str = ""
    contract: str = ""
    """The version of Talos whose form and defaults a generated config has; empty until something tells."""
    kubernetes: str = ""
    install_disk: str = ""
    disk_selector: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    install_image: str = ""
    dns_domain: str = ""
    sans: tuple[str, ...] = ()
    inline: Mapping[str, Secret] = dataclasses.field(default_factory=dict, repr=False)
    """Contents of inline manifests by name, rendered anew: what a cluster begins with. Later machines keep theirs."""
    passing: frozenset[str] = frozenset()
    """URLs of manifests that pass to the engine: a machine that has one no longer does not get it again."""

    @property
    def generated_for(self) -> str:
        """The version of Talos that its config is generated for: what it is to run, where nothing else is known."""
        return self.contract or self.talos

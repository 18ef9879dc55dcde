"""A machine's config before it is one: what goes into it, without the cluster's secrets."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model.cluster import Machine
from firstlight.model.place import Place
from firstlight.model.secret import Secret


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A strategic merge patch, or a whole config document."""

    place: Place
    text: Secret | None = None
    """What it says; None where it is encrypted, and ``reference`` tells how to read it."""
    reference: str = ""
    """``sops:PATH`` for a file that is decrypted at the last moment."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MachineDraft:
    """What one machine is to be."""

    machine: Machine
    cluster: str
    endpoint: str
    """The URL of the Kubernetes API."""
    whole: Patch | None = None
    """A complete config, where the repo has one; then it holds the cluster's secrets itself."""
    patches: tuple[Patch, ...] = ()
    """In their order; the last wins."""
    talos: str = ""
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

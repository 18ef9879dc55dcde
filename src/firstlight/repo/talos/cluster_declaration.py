"""What one file, or a set of files, declares about a cluster, before it is put together."""

import dataclasses
import enum
import posixpath
from collections.abc import Mapping

from firstlight.model.cluster import ConfigBase, Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.talos.config_facts import StatedFact
from firstlight.repo.talos.config_files import ConfigDocument
from firstlight.repo.talos.config_manifests import ListedManifest


class TalosStyle(enum.StrEnum):
    """How a team writes its machine configs."""

    TALHELPER = "talhelper"
    TOPF = "topf"
    OMNI = "Omni"
    TOFU = "OpenTofu"
    PLAIN = "talosctl"


class ConfigRank(enum.IntEnum):
    """What is applied to what: the later one counts."""

    BASE = 10
    """Fields of the tool's own file, and whole machine configs."""
    ALL = 30
    SET = 40
    """Patches of the control plane, or of workers."""
    MACHINE = 50


@dataclasses.dataclass(frozen=True, slots=True)
class ConfigPart:
    """One document of machine config, and which machines it is for."""

    config: ConfigDocument
    rank: ConfigRank
    role: MachineRole | None = None
    """None: for all."""
    machine: str = ""
    """For this one alone."""

    def reaches(self, role: MachineRole, machine: str) -> bool:
        """Whether it goes into the config of a machine."""
        return self.role in (None, role) and self.machine in ("", machine)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TalosDeclaration:
    """A cluster, as far as one place declares it."""

    cluster: str
    """Empty where nothing names it."""
    place: Place
    style: TalosStyle
    base: ConfigBase = ConfigBase.GENERATED
    """What its machine configs begin with."""
    machines: tuple[Machine, ...] = ()
    facts: tuple[StatedFact, ...] = ()
    """What is said in fields of the tool's own."""
    parts: tuple[ConfigPart, ...] = ()
    listed: tuple[ListedManifest, ...] = ()
    """Manifests that stand in no machine config."""
    kinds: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """What each file holds."""
    diagnostics: tuple[Diagnostic, ...] = ()
    unread: tuple[Diagnostic, ...] = ()
    """What shapes its configs and could not be read: it may say anything."""

    @property
    def directory(self) -> str:
        """Where it stands."""
        return posixpath.dirname(self.place.path)

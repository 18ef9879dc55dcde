"""What a script does, command by command; components are only some of it."""

import dataclasses
import enum

from firstlight.model.place import Place


class Role(enum.StrEnum):
    """What a command is for."""

    DEPLOY = "deploy"
    """It brings something into the cluster."""
    GATE = "gate"
    """It waits or looks."""
    CHANGE = "change"
    """It changes or removes what is there: patch, delete, restart, uninstall."""
    MACHINE = "machine"
    """It acts on machines: talosctl, talhelper, omnictl."""
    SECRET = "secret"  # noqa: S105 (a role, not a password)
    """It reads or decrypts secrets: op, sops."""
    SUPPORT = "support"
    """It prepares for others: helm repo add, a template that somebody else applies."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScriptStep:
    """One command of a script that is understood."""

    place: Place
    kind: str
    """The program with its subcommand: ``talosctl bootstrap``, ``kubectl apply``."""
    role: Role
    args: tuple[str, ...]
    """The arguments, with secrets masked and variables as far as they are known."""
    task: str
    """The task, recipe, target or script that it stands in."""
    is_reached: bool
    """Whether a bootstrap leads here."""
    unknowns: tuple[str, ...] = ()
    """Variables that only a run would tell."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HelmfileCall:
    """A command that runs helmfile."""

    place: Place
    files: tuple[str, ...]
    """Files or directories of the repo; empty where they are not known."""
    environment: str = ""
    verb: str
    """``apply``, ``sync``, ``template`` …"""
    is_crds: bool = False
    """Whether only the CRDs of what it renders are applied."""
    is_reached: bool
    task: str
    needs: tuple[str, ...] = ()
    """Ids of what runs before it."""
    doubt: str = ""

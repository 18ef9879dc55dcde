"""The one directory of a lab: every file it has, so that deleting the directory deletes the lab."""

import dataclasses
import os
import re
import shutil
import stat
from pathlib import Path

from firstlight import errors
from firstlight.clients import atomic_file

LAB_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?")


def labs_root() -> Path:
    """Where labs live: ``$FIRSTLIGHT_LABS``, else below the user's state directory."""
    if given := os.environ.get("FIRSTLIGHT_LABS"):
        base = Path(given).absolute()
        if base.exists() and not base.is_dir():
            raise errors.UsageError(f"FIRSTLIGHT_LABS is {base}, which is no directory")
        return base
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state).absolute() / "firstlight" / "labs"


@dataclasses.dataclass(frozen=True)
class LabDirectory:
    """The paths of one lab."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the lab."""
        return self.path.name

    @property
    def settings(self) -> Path:
        """What the lab was asked to be."""
        return self.path / "settings.json"

    @property
    def network(self) -> Path:
        """Which loopback network it has."""
        return self.path / "network.json"

    @property
    def lock(self) -> Path:
        """Held by the supervisor as long as it lives."""
        return self.path / "lock"

    @property
    def certificates(self) -> Path:
        """Authorities, certificates and keys of the parts."""
        return self.path / "certificates"

    @property
    def etcd(self) -> Path:
        """The data of etcd."""
        return self.path / "etcd"

    @property
    def machines(self) -> Path:
        """The virtual machines, a directory each, and their address book."""
        return self.path / "machines"

    @property
    def book(self) -> Path:
        """Where every machine is; all of them read it."""
        return self.machines / "book.json"

    def machine(self, name: str) -> Path:
        """All that one machine has: its disks, and what it says of itself."""
        return self.machines / name

    @property
    def live(self) -> Path:
        """Which machines run now; the simulator reads it."""
        return self.run / "live.json"

    @property
    def sources(self) -> Path:
        """Git repositories, OCI registry and Helm repositories."""
        return self.path / "sources"

    @property
    def sources_control(self) -> Path:
        """The socket of the sources."""
        return self.run / "sources.sock"

    @property
    def standins(self) -> Path:
        """What the stand-ins for 1Password know."""
        return self.path / "standins"

    @property
    def actors(self) -> Path:
        """What actors keep, a directory each, and the numbers of their addresses."""
        return self.path / "actors"

    @property
    def wanted_actors(self) -> Path:
        """Which actors are to run; the simulator writes it, the supervisor reads it."""
        return self.run / "actors.json"

    def actor(self, name: str) -> Path:
        """The home of one actor's process: its kubeconfig and its temporary files."""
        return self.run / "actors" / name

    @property
    def saved(self) -> Path:
        """Cold copies of etcd's data, or of the machines, by name."""
        return self.path / "saved"

    @property
    def run(self) -> Path:
        """Sockets, ready marks and generated configuration; made anew at every start."""
        return self.path / "run"

    @property
    def control(self) -> Path:
        """The supervisor's socket."""
        return self.run / "control.sock"

    @property
    def faults(self) -> Path:
        """The fault proxy's socket."""
        return self.run / "faults.sock"

    @property
    def etcd_health(self) -> Path:
        """Where etcd says how it is."""
        return self.run / "etcd.sock"

    @property
    def logs(self) -> Path:
        """What the parts print, a file each."""
        return self.path / "logs"

    @property
    def audit_log(self) -> Path:
        """Every request that the API server answered."""
        return self.logs / "audit.log"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's, straight to the API server."""
        return self.path / "kubeconfig"

    @property
    def talosconfig(self) -> Path:
        """The administrator's of the machines, if the lab itself made them a cluster."""
        return self.path / "talosconfig"

    @property
    def omni(self) -> Path:
        """What the lab keeps in place of Omni's server: the secrets of the cluster."""
        return self.path / "omni.yaml"

    @property
    def kubeconfig_faults(self) -> Path:
        """The administrator's, through the fault proxy."""
        return self.path / "kubeconfig-faults"

    @property
    def starting(self) -> Path:
        """Held while somebody starts the supervisor."""
        return self.path / "starting"

    @property
    def mark(self) -> Path:
        """Says that this directory is a lab's, and may be deleted with it."""
        return self.path / ".firstlight-lab"

    def exists(self) -> bool:
        """Whether a lab was ever made here."""
        return self.mark.exists() and self.settings.exists()

    def make(self) -> None:
        """Create the directory, for its owner alone.

        Raises:
            errors.Refused: Something else is there, or programs could not be told where it is.
        """
        if ":" in str(self.path):
            raise errors.Refused(
                f"{self.path} has a colon in it, at which programs would part it in KUBECONFIG",
                hint="Let FIRSTLIGHT_LABS name a directory without one.",
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.mkdir(mode=0o700, exist_ok=True)
        if not self.mark.exists() and any(self.path.iterdir()):
            raise errors.Refused(
                f"{self.path} is not empty and no lab", hint="Choose another name, or FIRSTLIGHT_LABS."
            )
        self.path.chmod(0o700)  # also where somebody made it beforehand: sockets and keys are in it
        self.mark.touch()
        for path in (self.certificates, self.run, self.logs, self.saved):
            path.mkdir(mode=0o700, exist_ok=True)

    def remove(self) -> None:
        """Delete everything.

        Raises:
            errors.Refused: It is no lab's directory.
            errors.LabError: Something cannot be deleted.
        """
        if not self.path.exists():
            return
        if not self.mark.exists() and any(self.path.iterdir()):
            raise errors.Refused(f"{self.path} is no lab, and stays as it is")
        try:
            remove_tree(self.path)
        except OSError as error:
            raise errors.LabError(f"{self.path} cannot be deleted: {error}") from error


def lab_named(name: str) -> LabDirectory:
    """The directory of the lab with a name."""
    if not LAB_NAME.fullmatch(name):
        raise errors.UsageError(
            f"{name!r} cannot be the name of a lab",
            hint="Use lower-case letters, digits and hyphens, at most 32 characters.",
        )
    return LabDirectory(labs_root() / name)


def all_labs() -> tuple[LabDirectory, ...]:
    """The labs that exist, by name."""
    base = labs_root()
    if not base.is_dir():
        return ()
    found = (LabDirectory(path) for path in sorted(base.iterdir()) if path.is_dir())
    return tuple(directory for directory in found if directory.exists())


def write_whole(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file so that a reader sees the old or the new content, never a part, even after a power failure."""
    atomic_file.replace(path, content, mode=mode)


# Copies of what a lab keeps on disk, made while nothing writes there: kept under names, and put back.


def _passing(folder: str, names: list[str]) -> set[str]:
    """Sockets and pipes, and what is true of a running process only."""
    return {name for name in names if name == "ready" or not _is_kept(Path(folder) / name)}


def _is_kept(path: Path) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def save_copy(source: Path, saved: Path, name: str) -> None:
    """Keep a copy of a directory under a name; an older one of that name goes when the new one is whole."""
    temporary, target = saved / f".{name}.new", saved / name
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        shutil.copytree(source, temporary, ignore=_passing, symlinks=True)
    except (OSError, shutil.Error):
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)


def restore_copy(target: Path, saved: Path, name: str) -> None:
    """Put a copy in place of a directory."""
    incoming, outgoing = saved / ".incoming", saved / ".outgoing"
    for path in (incoming, outgoing):
        shutil.rmtree(path, ignore_errors=True)
    # The old data goes when the new is whole: a full disk or a kill costs nothing.
    shutil.copytree(saved / name, incoming, symlinks=True)
    target.rename(outgoing)
    incoming.rename(target)
    shutil.rmtree(outgoing, ignore_errors=True)


def check_copy(saved: Path, name: str, *, lab: str) -> None:
    """Refuse a name that nothing was saved under."""
    if not (saved / name).is_dir():
        raise errors.UsageError(f"lab {lab} has no saved state {name!r}")


# Removing a tree whose directories may be locked against their own owner, as Argo CD does with its checkouts.


def remove_tree(path: Path) -> None:
    """Remove a tree; one that is not there is removed already.

    Raises:
        OSError: Something of it stays.
    """
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except PermissionError:
        unlock_tree(path)
        shutil.rmtree(path)


def unlock_tree(path: Path) -> None:
    """Let the owner into all directories of a tree."""
    path.chmod(0o700)
    for folder, names, _ in os.walk(path):  # it looks into a directory after this has seen its parent
        for each in (Path(folder, name) for name in names):
            if not each.is_symlink():
                each.chmod(0o700)

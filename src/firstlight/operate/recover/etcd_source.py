"""What etcd is restored from: a backup, a snapshot in a file, or what a member that is left still has."""

import dataclasses
from pathlib import Path

from firstlight import errors
from firstlight.execute import identity
from firstlight.execute.world import World
from firstlight.operate.backup import bolt, making, opening, sealing, shelf
from firstlight.operate.backup.bolt import Store
from firstlight.render import private_directory

_NAMESPACE = b"/registry/namespaces/kube-system"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Opened:
    """A snapshot in the clear, in a private place, for as long as the world lasts."""

    path: Path
    store: Store


def file_of(source: Path) -> Path:
    """The snapshot of a backup's directory; a file is one itself.

    Raises:
        errors.Refused: There is none.
    """
    found = source / making.ETCD if source.is_dir() else source
    if not found.is_file():
        raise errors.Refused(
            f"{source} is neither a backup nor a snapshot of etcd", hint="What there is: firstlight backup list"
        )
    return found


async def opened(source: Path, world: World) -> Opened:
    """Open a snapshot, and see that it is whole and this cluster's: etcd is wiped for it.

    Raises:
        errors.Refused: It is damaged, or another cluster's.
        secret_errors.SecretError: It cannot be decrypted.
    """
    sealing.refuse_disk()
    file = file_of(source)
    if source.is_dir():
        _check_digest(source)
    home = world.holding(private_directory.made("etcd"))
    path = home / "snapshot"
    await opening.opened(file, path, sops=world.programs.sops)
    try:
        bolt.check_sum(path)
        store = bolt.read(path)
        namespace = bolt.value_of(path, _NAMESPACE)
    except bolt.Damaged as error:
        raise errors.Refused(f"{file} is no snapshot to restore: {error}", hint="Take another one.") from error
    known = identity.known(world.state, world.cluster.name)
    if known and known.encode() not in namespace:
        raise errors.Refused(
            f"{file} is of another cluster: kube-system of {world.cluster.name} has the UID {known}, and not in there",
            hint="What there is: firstlight backup list",
        )
    return Opened(path=path, store=store)


def _check_digest(source: Path) -> None:
    one = shelf.find(source.parent, source.name)
    if one.manifest is None:
        raise errors.Refused(f"{source}: {one.problem}", hint="What is wrong with it: firstlight backup verify")
    for part in one.manifest.parts:
        if part.file == making.ETCD:
            opening.check_digest(one, part)

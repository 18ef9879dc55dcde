"""Which cluster this is: the authority of its API, and the UID of kube-system, written down the first time.

The authority is in the Talos secrets; for a cluster of Omni it is Omni's id that counts. The UID is what a cluster that
was made anew with the same secrets has not: what firstlight knows of the old one would be wrong for it.
"""

import json
import ssl
from pathlib import Path

from firstlight import errors
from firstlight.clients import atomic_file
from firstlight.execute.world import World
from firstlight.journal import state_files


def check_authority(served: bytes, expected: bytes) -> None:
    """Refuse a kubeconfig whose authority is not the one in the Talos secrets.

    Raises:
        errors.Refused: It is another cluster's.
    """
    if not expected:
        return
    if not served or _certificates(served).isdisjoint(_certificates(expected)):
        raise errors.Refused(
            "the Kubernetes API is served under another authority than the one in the Talos secrets: another cluster",
            hint="Check the endpoint, the addresses of the control planes, and which Talos secrets are declared.",
        )


def check_uid(world: World, uid: str) -> None:
    """Compare the UID of kube-system with the one that was written down, or write it down.

    Raises:
        errors.Refused: It is another cluster than before.
    """
    path = _path(world)
    known = _read(path, "kubeSystem")
    if not known:
        _write(path, {"kubeSystem": uid})
    elif known != uid:
        raise errors.Refused(
            f"{world.cluster.name} is not the cluster that it was: kube-system has the UID {uid}, and had {known}",
            hint=f"If it was made anew on purpose, delete {path}.",
        )


def check_omni(world: World, id: str) -> None:
    """Compare the id of the cluster in Omni with the one that was written down.

    Args:
        world: The run.
        id: Empty where Omni has no cluster of that name.

    Raises:
        errors.Refused: It is another one than before, or is gone.
    """
    path = _path(world)
    known = _read(path, "omni")
    if known and known != id:
        what = f"has the id {id} in Omni" if id else "is not in Omni"
        raise errors.Refused(
            f"{world.cluster.name} is not the cluster that it was: it {what}, and had {known}",
            hint=f"Is it the right Omni? See: omnictl config info. If it was made anew on purpose, delete {path}.",
        )


def keep_omni(world: World, id: str) -> None:
    """Write the id of the cluster in Omni down, the first time."""
    path = _path(world)
    if not _read(path, "omni"):
        _write(path, {"omni": id})


def known(state: Path, cluster: str) -> str:
    """The UID of kube-system of the cluster that was seen here before; empty if none was.

    Raises:
        errors.Refused: What was written down cannot be read.
    """
    return _read(state / cluster / "identity.json", "kubeSystem")


def set_aside(world: World) -> None:
    """The cluster begins anew: etcd is bootstrapped. What was known of the one before stays to be read by people."""
    path = _path(world)
    state_files.check(path)
    number = 1
    while (aside := path.with_name(f"identity.{number}.json")).exists() or aside.is_symlink():
        number += 1
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    except OSError as error:
        raise errors.FirstlightError(
            f"{path} cannot be set aside: {error.strerror or error}", hint="Give write permission."
        ) from error


def _path(world: World) -> Path:
    return world.state / world.cluster.name / "identity.json"


def _read(path: Path, key: str) -> str:
    found = _all(path).get(key)
    return found if isinstance(found, str) else ""


def _all(path: Path) -> dict[str, object]:
    try:
        value = json.loads(state_files.read(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise errors.Refused(f"{path} cannot be read: {error}", hint="Delete it if you know the cluster.") from error
    return value if isinstance(value, dict) else {}


def _write(path: Path, fresh: dict[str, str]) -> None:
    """Add what is known now to what was known before."""
    content = f"{json.dumps({**_all(path), **fresh})}\n".encode()
    try:
        state_files.enter(path)
        atomic_file.replace(path, content)
    except OSError as error:
        raise errors.FirstlightError(
            f"{path} cannot be written: {error.strerror or error}", hint="Make room, or give write permission."
        ) from error


def _certificates(pem: bytes) -> frozenset[bytes]:
    """The certificates of a PEM, without its spaces and comments."""
    found = []
    marker = "-----END CERTIFICATE-----"
    for part in pem.decode(errors="replace").split(marker)[:-1]:
        start = part.find("-----BEGIN CERTIFICATE-----")
        if start >= 0:
            try:
                found.append(ssl.PEM_cert_to_DER_cert(f"{part[start:].strip()}\n{marker}\n"))
            except ValueError:
                continue
    return frozenset(found)

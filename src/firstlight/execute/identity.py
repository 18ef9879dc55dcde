"""Which cluster this is: the authority of its API, and the UID of kube-system, written down the first time.

The authority is in the Talos secrets. The UID is what a cluster that was made anew with the same secrets has not: what
firstlight knows of the old one would be wrong for it.
"""

import json
import os
import ssl
import tempfile
from pathlib import Path

from firstlight import errors
from firstlight.execute.world import World


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
    known = _read(path)
    if not known:
        _write(path, {"kubeSystem": uid})
    elif known != uid:
        raise errors.Refused(
            f"{world.cluster.name} is not the cluster that it was: kube-system has the UID {uid}, and had {known}",
            hint=f"If it was made anew on purpose, delete {path}.",
        )


def forget(world: World) -> None:
    """The cluster begins anew: etcd is bootstrapped."""
    _path(world).unlink(missing_ok=True)


def _path(world: World) -> Path:
    return world.state / world.cluster.name / "identity.json"


def _read(path: Path) -> str:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise errors.Refused(f"{path} cannot be read: {error}", hint="Delete it if you know the cluster.") from error
    found = value.get("kubeSystem") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _write(path: Path, value: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=".identity-")
    with os.fdopen(fd, "w") as file:
        json.dump(value, file)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)


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

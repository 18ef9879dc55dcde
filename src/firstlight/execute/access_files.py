"""The kubeconfig and talosconfig that ``up`` has left: the one place where they are read.

They lie in the directory of a repo. So they are ours by the rules of ``journal.trust``, and nothing in them leads out
of the file: no file, program or proxy, no server in the clear.
"""

import base64
import binascii
import datetime
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509

from firstlight import errors
from firstlight.clients import atomic_file, kube
from firstlight.clients.talosctl import machine_target
from firstlight.execute.means import Means
from firstlight.execute.world import World
from firstlight.journal import state_files
from firstlight.model.secret import Secret

_INLINE = ("target", "endpoints", "nodes", "ca", "crt", "key", "cluster")
_SCHEME = "https://"
_HINT = "Delete it: the next run, or firstlight recover CLUSTER --talosconfig, makes it again."


def kept_kubeconfig(path: Path) -> kube.ClientConfig:
    """The way to a cluster's API.

    Raises:
        errors.Refused: It may be somebody else's work, or leads out of the file.
        errors.ConfigError: There is none, or it is wrong.
    """
    state_files.check(path)
    return kube.load(path, is_kept=True)


def kept_talosconfig(path: Path) -> Secret:
    """The way to a cluster's machines.

    Raises:
        errors.Refused: It may be somebody else's work, or leads out of the file.
        OSError: It cannot be read.
    """
    content = state_files.read(path)
    try:
        value = yaml.load(content, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        # There are keys in it, so that the parser's message is not passed on.
        raise errors.Refused(f"{path} is not YAML", hint=_HINT) from None
    contexts = value.get("contexts") if isinstance(value, dict) else None
    for name, context in contexts.items() if isinstance(contexts, dict) else ():
        check_context(context, f"{path}: context {name}")
    return Secret(content)


def check_context(context: Any, what: str) -> None:
    """See that a context of a talosconfig has everything in itself, and its endpoints are machines.

    Raises:
        errors.Refused: It does not.
    """
    if not isinstance(context, dict):
        raise errors.Refused(f"{what} is not a mapping", hint=_HINT)
    strange = [str(key) for key, value in context.items() if key not in _INLINE and value not in (None, "", [], {})]
    if strange:
        raise errors.Refused(f"{what} has {strange[0]}, which firstlight does not keep", hint=_HINT)
    for key in ("endpoints", "nodes"):
        found = context.get(key) or []
        for each in found if isinstance(found, list) else [found]:
            if not isinstance(each, str) or not machine_target.is_host(each.removeprefix(_SCHEME)):
                raise errors.Refused(f"{what}: {key} has {str(each)!r:.80}, which is not a host", hint=_HINT)


# The user's own kubeconfig and talosconfig, with the entries of a cluster put into them when that is asked for.
#
# Whatever is there stays. An entry of the same name that is another cluster's is refused; one of the same cluster is
# left as it is, unless its certificate ends soon. Files are readable for their owner only, and written whole or not
# at all.


SOON = datetime.timedelta(days=30)
_LISTS = ("clusters", "users", "contexts")


def merge_kubeconfig(path: Path, kubeconfig: Secret, *, now: datetime.datetime) -> bool:
    """Put the context of a cluster into a kubeconfig; whether anything was written.

    Raises:
        errors.Refused: An entry of the same name is another cluster's, or a link in a repo leads away.
        errors.ConfigError: The file is no kubeconfig.
    """
    theirs, ours = _read(path), _parsed(kubeconfig)
    if _is_there(theirs, ours, path, now=now):
        return False
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", **theirs}
    for each in _LISTS:
        new = {str(entry["name"]): entry for entry in _entries(ours, each)}
        kept = [entry for entry in _entries(theirs, each) if str(entry.get("name")) not in new]
        merged[each] = [*kept, *new.values()]
    if not merged.get("current-context"):
        merged["current-context"] = ours.get("current-context", "")
    _write(path, merged)
    return True


def merge_talosconfig(path: Path, talosconfig: Secret, *, now: datetime.datetime) -> bool:
    """Put the contexts of a cluster into a talosconfig; whether anything was written.

    Raises:
        errors.Refused: A context of the same name is another cluster's.
        errors.ConfigError: The file is no talosconfig.
    """
    theirs, ours = _read(path), _parsed(talosconfig)
    known, new = _mapping(theirs.get("contexts")), _mapping(ours.get("contexts"))
    wanted = {}
    for name, context in new.items():
        old = _mapping(known.get(name))
        if old and old.get("ca") != context.get("ca"):
            raise _clash(path, "context", str(name))
        if not old or _ends_soon(old.get("crt"), now):
            wanted[name] = context
    if not wanted:
        return False
    merged = {**theirs, "contexts": {**known, **wanted}}
    merged["context"] = theirs.get("context") or ours.get("context", "")
    _write(path, merged)
    return True


def _is_there(theirs: Mapping[str, Any], ours: Mapping[str, Any], path: Path, *, now: datetime.datetime) -> bool:
    """Whether the entries are there already, and good for a while."""
    for entry in _entries(ours, "clusters"):
        old = _named(theirs, "clusters", entry["name"])
        if old and _inner(old, "cluster").get("certificate-authority-data") != _inner(entry, "cluster").get(
            "certificate-authority-data"
        ):
            raise _clash(path, "cluster", str(entry["name"]))
    for entry in _entries(ours, "users"):
        old = _named(theirs, "users", entry["name"])
        if old and not _named(theirs, "clusters", _cluster_of(ours)):
            raise _clash(path, "user", str(entry["name"]))
    for entry in _entries(ours, "contexts"):
        old = _named(theirs, "contexts", entry["name"])
        if old and _inner(old, "context").get("cluster") != _inner(entry, "context").get("cluster"):
            raise _clash(path, "context", str(entry["name"]))
    if not all(_named(theirs, each, entry["name"]) for each in _LISTS for entry in _entries(ours, each)):
        return False
    users = [_inner(_named(theirs, "users", entry["name"]), "user") for entry in _entries(ours, "users")]
    return not any(_ends_soon(each.get("client-certificate-data"), now) for each in users)


def _cluster_of(ours: Mapping[str, Any]) -> str:
    return next((str(each["name"]) for each in _entries(ours, "clusters")), "")


def _clash(path: Path, what: str, name: str) -> errors.Refused:
    return errors.Refused(
        f"{path} has a {what} {name} already, which is another cluster's",
        hint="Rename or remove it there; firstlight writes over nothing that it does not know.",
    )


def _ends_soon(certificate: object, now: datetime.datetime) -> bool:
    """Whether a client's certificate, PEM in base64, ends soon; one that cannot be read is replaced, too."""
    try:
        found = x509.load_pem_x509_certificate(base64.b64decode(str(certificate or ""), validate=True))
    except (binascii.Error, ValueError):
        return True
    return found.not_valid_after_utc - now < SOON


def _read(path: Path) -> dict[str, Any]:
    try:
        data = state_files.read(path) if state_files.is_kept(path) else path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise errors.ConfigError(f"it cannot be read: {error.strerror}", path=str(path)) from error
    try:
        value = yaml.load(data, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError):
        # There are keys in it, so that the parser's message is not passed on.
        raise errors.ConfigError("this is no YAML", path=str(path), hint="Correct it; nothing was written.") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise errors.ConfigError("this is no mapping", path=str(path), hint="Correct it; nothing was written.")
    return value


def _parsed(secret: Secret) -> dict[str, Any]:
    value = yaml.load(secret.reveal(), Loader=yaml.CSafeLoader)
    return value if isinstance(value, dict) else {}


def _write(path: Path, value: Mapping[str, Any]) -> None:
    """Whole or not at all; the user's own links are followed, so that they stay, and those in a repo are refused."""
    is_kept = state_files.is_kept(path)
    target = path if is_kept else path.resolve()
    content = yaml.dump(dict(value), Dumper=yaml.CSafeDumper, sort_keys=False).encode()
    try:
        if is_kept:
            state_files.enter(path)
        else:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_file.replace(target, content)
    except OSError as error:
        raise errors.FirstlightError(
            f"{path} cannot be written: {error.strerror or error}", hint="Make room, or give write permission."
        ) from error


def _entries(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = value.get(key)
    return [each for each in found if isinstance(each, dict) and "name" in each] if isinstance(found, list) else []


def _named(value: Mapping[str, Any], key: str, name: object) -> dict[str, Any]:
    return next((each for each in _entries(value, key) if each.get("name") == name), {})


def _inner(entry: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return _mapping(entry.get(key))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# The ways to a cluster and to its machines, kept as soon as its API was reached: a run that waits leaves them, too.


def keeping(world: World, means: Means, *, tell: Callable[[str], None]) -> Callable[[], None]:
    """What keeps them, once in a run, however often it is called.

    Args:
        world: The run, which knows them once the API was reached and is this cluster's.
        means: Where they are kept.
        tell: Told where they cannot be.
    """
    is_done = False

    def keep() -> None:
        nonlocal is_done
        if not is_done:
            is_done = True
            _keep(world, means, tell)

    return keep


def _keep(world: World, means: Means, tell: Callable[[str], None]) -> None:
    """Beside the journal, and where the user has asked for them."""
    own = means.state / world.cluster.name
    now = datetime.datetime.fromtimestamp(means.now(), datetime.UTC)
    for kubeconfig, talosconfig in filter(None, [(own / "kubeconfig", own / "talosconfig"), means.merged_into]):
        # What Omni gives a person runs a program; none is run from a file that lies in the repo's directory.
        is_of_use = kubeconfig.parent != own or not world.is_exec
        try:
            if kubeconfig.parent == own:
                # Of the cluster that had this name before: that one is gone, or would have been refused.
                kubeconfig.unlink(missing_ok=True)
                talosconfig.unlink(missing_ok=True)
            if world.kubeconfig is not None and is_of_use:
                merge_kubeconfig(kubeconfig, world.kubeconfig, now=now)
            if world.talosconfig is not None:
                merge_talosconfig(talosconfig, world.talosconfig, now=now)
        except errors.FirstlightError as error:
            tell(f"access is not kept: {error.message}")
        except OSError as error:
            tell(f"access is not kept: {kubeconfig.parent}: {error.strerror or error}")

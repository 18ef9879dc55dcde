"""The user's own kubeconfig and talosconfig, with the entries of a cluster put into them when that is asked for.

Whatever is there stays. An entry of the same name that is another cluster's is refused; one of the same cluster is left
as it is, unless its certificate ends soon. Files are readable for their owner only, and written whole or not at all.
"""

import base64
import binascii
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509

from firstlight import errors
from firstlight.execute import lasting
from firstlight.journal import directory
from firstlight.model.secret import Secret

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
        data = directory.read(path) if directory.is_kept(path) else path.read_bytes()
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
    is_kept = directory.is_kept(path)
    target = path if is_kept else path.resolve()
    content = yaml.dump(dict(value), Dumper=yaml.CSafeDumper, sort_keys=False).encode()
    try:
        if is_kept:
            directory.enter(path)
        else:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lasting.write(target, content)
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

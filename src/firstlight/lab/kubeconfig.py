"""Kubeconfig files of a lab: one for each part and for the administrator, with certificates inside."""

import base64
from pathlib import Path

import msgspec

from firstlight.lab import certificates, directory


def write(path: Path, *, server: str, authority: Path, user: str, pair: certificates.Pair, context: str) -> None:
    """Write a kubeconfig for its owner alone; JSON is YAML, and every client reads it."""
    identity = {
        "client-certificate-data": _encoded(pair.certificate),
        "client-key-data": _encoded(pair.key),
    }
    _write(path, server=server, authority=authority, user=user, identity=identity, context=context)


def write_for_token(path: Path, *, server: str, authority: Path, user: str, token: Path, context: str) -> None:
    """Write a kubeconfig whose token is in another file, which may be renewed."""
    _write(path, server=server, authority=authority, user=user, identity={"tokenFile": str(token)}, context=context)


def _write(path: Path, *, server: str, authority: Path, user: str, identity: dict[str, str], context: str) -> None:
    cluster = {
        "server": server,
        "tls-server-name": certificates.SERVER_NAME,
        "certificate-authority-data": _encoded(authority),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": cluster}],
        "users": [{"name": user, "user": identity}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": user}}],
        "current-context": context,
    }
    directory.write_whole(path, msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n")


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()

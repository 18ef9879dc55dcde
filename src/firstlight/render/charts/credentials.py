"""What registries and repositories are shown: as Helm and Docker keep it for the user, each for its own address alone.

Programs that would hand out credentials are named in those files, too. They are never run: a repo could have any of
them run for any address. What they keep is said to be missing.
"""

import base64
import binascii
import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight.clients import safe_yaml
from firstlight.model.credentials import Login
from firstlight.model.secret import Secret

_DOCKER_HUB = {"index.docker.io", "docker.io", "registry-1.docker.io"}
_LARGEST = 4 << 20


@dataclasses.dataclass(frozen=True)
class Credentials:
    """What is known of the user's own logins."""

    registries: Mapping[str, Login] = dataclasses.field(default_factory=dict)
    """By address, such as ``ghcr.io``."""
    repositories: Mapping[str, Login] = dataclasses.field(default_factory=dict)
    """By the URL of the repository."""
    helpers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Programs that keep logins, by address; of an empty address for all others."""

    def registry(self, address: str) -> Login | None:
        """What a registry is shown."""
        names = _DOCKER_HUB if address in _DOCKER_HUB else {address}
        return next((self.registries[name] for name in sorted(names) if name in self.registries), None)

    def repository(self, url: str) -> Login | None:
        """What a repository is shown; another one at the same host is another one."""
        return self.repositories.get(_bare(url))

    def missing(self, address: str) -> str:
        """Why there is nothing to show, where a program would know; empty if none would."""
        program = self.helpers.get(address) or self.helpers.get("")
        return f"its login is kept by {program}, which is not run for a repo's sake" if program else ""


def load(environ: Mapping[str, str]) -> Credentials:
    """The logins of this user. Files that are not there or cannot be read have none."""
    home = Path(environ.get("HOME") or Path.home())
    base = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    config = Path(environ.get("HELM_CONFIG_HOME") or base / "helm")
    docker = Path(environ.get("DOCKER_CONFIG") or home / ".docker") / "config.json"
    registry = Path(environ.get("HELM_REGISTRY_CONFIG") or config / "registry" / "config.json")
    repositories = Path(environ.get("HELM_REPOSITORY_CONFIG") or config / "repositories.yaml")
    logins: dict[str, Login] = {}
    helpers: dict[str, str] = {}
    for path in (docker, registry):  # Helm asks its own file first, so it wins
        found = _json(path)
        logins |= _logins(found)
        helpers |= _helpers(found)
    return Credentials(logins, _repositories(repositories), helpers)


def _logins(config: Mapping[str, Any]) -> dict[str, Login]:
    found = {}
    for address, entry in _mapping(config.get("auths")).items():
        entry = _mapping(entry)
        username, password = entry.get("username"), entry.get("password")
        if entry.get("auth"):
            try:
                pair = base64.b64decode(str(entry["auth"]), validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                continue
            username, _, password = pair.partition(":")
        if username and password:
            found[_address(address)] = Login(str(username), Secret(str(password)))
    return found


def _helpers(config: Mapping[str, Any]) -> dict[str, str]:
    found = {
        _address(name): f"docker-credential-{program}" for name, program in _mapping(config.get("credHelpers")).items()
    }
    store = config.get("credsStore")
    return {**found, "": f"docker-credential-{store}"} if isinstance(store, str) and store else found


def _repositories(path: Path) -> dict[str, Login]:
    text = _text(path)
    if text is None:
        return {}
    try:
        documents = safe_yaml.load_all(text)
    except ValueError:
        return {}
    found = {}
    listed = _mapping(documents[0] if documents else None).get("repositories")
    for entry in listed if isinstance(listed, list) else ():
        entry = _mapping(entry)
        url, username, password = (str(entry.get(key) or "") for key in ("url", "username", "password"))
        if url and username and password:
            found[_bare(url)] = Login(username, Secret(password))
    return found


def _json(path: Path) -> Mapping[str, Any]:
    text = _text(path)
    try:
        return _mapping(msgspec.json.decode(text)) if text is not None else {}
    except (msgspec.DecodeError, RecursionError):
        return {}


def _text(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST) if os.fstat(file.fileno()).st_size <= _LARGEST else None
    except OSError:
        return None


def _address(written: str) -> str:
    """The address of a registry; Docker writes some with a scheme and a path."""
    return written.removeprefix("https://").removeprefix("http://").partition("/")[0]


def _bare(url: str) -> str:
    return url.rstrip("/")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

"""The files that are rehearsed: a copy of the work tree, in which what the lab cannot have is replaced.

What sops encrypted becomes plain dummies: the lab has no key for it, and needs none.
"""

import base64
import dataclasses
import json
import os
import re
import secrets
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients.git import Git
from firstlight.commands.rehearse.rehearsal import StandIn
from firstlight.document import yaml_reader, yaml_writer
from firstlight.model.platform import FoundationSecret, Platform
from firstlight.model.secret import Secret
from firstlight.repo import file_listing
from firstlight.secrets import age_keys
from firstlight.secrets import dummies as secrets_dummies
from firstlight.secrets.dummies import Dummies


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkTreeCopy:
    """A copy of a work tree."""

    root: Path
    revision: str = ""
    """The commit of the user's repo; empty where it is none."""
    changes: int = 0
    """Files that are not as they were committed."""
    decrypted: tuple[str, ...] = ()
    """Files that are encrypted in the repo, and hold dummies here."""


async def copy(root: Path, into: Path, *, git: Path | None) -> WorkTreeCopy:
    """Copy a work tree; what Git ignores is left out.

    Args:
        root: The user's repo.
        into: A directory that does not exist yet.
        git: The program, where it is there.
    """
    listed = file_listing.listed(root.resolve())
    decrypted = []
    into.mkdir(parents=True)
    for path in listed.files:
        source, target = root / path, into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        content = with_dummies(path, source.read_bytes()) if source.stat().st_size < LARGEST else None
        if content is None:
            shutil.copy(source, target)
        else:
            target.write_bytes(content)
            decrypted.append(path)
    for link, leads in listed.links.items():
        target = into / link
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(os.path.relpath(into / leads, target.parent))
    revision, changes = await _state(root, git)
    return WorkTreeCopy(root=into, revision=revision, changes=changes, decrypted=tuple(decrypted))


def replace(root: Path, words: Mapping[str, str]) -> tuple[str, ...]:
    """Write one word for another in all files of a copy; the files that had one."""
    found = []
    pairs = [(old.encode(), new.encode()) for old, new in words.items()]
    for path in sorted(each for each in root.rglob("*") if each.is_file() and not each.is_symlink()) if pairs else ():
        before = path.read_bytes()
        after = before
        for old, new in pairs:
            after = after.replace(old, new)
        if after != before:
            path.write_bytes(after)
            found.append(path.relative_to(root).as_posix())
    return tuple(found)


async def _state(root: Path, git: Path | None) -> tuple[str, int]:
    if git is None:
        return "", 0
    client = Git(git)
    try:
        head = await client.head(root)
        changes = await client.status(root) if head.is_dirty else ()
    except errors.ClientError:  # no repository, or one that git does not read
        return "", 0
    top = head.work_tree or root
    inside = [each for each in changes if (top / each.path).is_relative_to(root.resolve())]
    return head.commit, len(inside)


LARGEST = 4 << 20
"""Bytes of the largest file that is looked into: nobody encrypts more by sops."""
_MARK = re.compile(rb"(?m)^\s*[\"']?sops[\"']?\s*:|^sops_version=")
_LINE = re.compile(r"(?P<key>[^=\s#]+)=ENC\[.*\]")
_TYPE = re.compile(r"type:(?P<type>\w+)\]$")
_TYPED: dict[str, Any] = {"int": 1, "float": 1.5, "bool": False}


def with_dummies(path: str, content: bytes) -> bytes | None:
    """A file with dummies instead of what is encrypted in it; None if nothing is, or it is no file of a cluster's."""
    if b"ENC[" not in content or not _MARK.search(content):
        return None
    if path.endswith((".yaml", ".yml", ".json")):
        return _documents(path, content)
    text = content.decode(errors="replace")
    kept = [line for line in text.splitlines() if not line.startswith("sops_")]
    return "".join(
        _LINE.sub(lambda match: f"{match['key']}={_text(match['key'], path)}", line) + "\n" for line in kept
    ).encode()


def _documents(path: str, content: bytes) -> bytes | None:
    try:
        documents = yaml_reader.load_all(content)
    except ValueError:
        return None
    if any(_is_bundle(each) for each in documents):
        return None
    made = [_document(each, path) for each in documents]
    if path.endswith(".json"):
        return json.dumps(made[0] if made else {}, indent=2).encode()
    if (
        len(made) == 1
        and isinstance(made[0], Mapping)
        and list(made[0]) == ["data"]
        and isinstance(made[0]["data"], str)
    ):
        return made[0]["data"].encode()  # the form of files that are no YAML themselves
    return yaml_writer.dump_all(made).encode()


def _is_bundle(document: Any) -> bool:
    """Whether it is a bundle of Talos secrets: a rehearsal makes its own."""
    return isinstance(document, Mapping) and {"certs", "trustdinfo"} <= document.keys()


def _document(document: Any, path: str) -> Any:
    if not isinstance(document, Mapping) or "sops" not in document:
        return document
    is_secret = document.get("kind") == "Secret" and "apiVersion" in document
    return {
        key: _walked(value, path, str(key), encode=is_secret and key == "data")
        for key, value in document.items()
        if key != "sops"
    }


def _walked(value: Any, path: str, key: str, *, encode: bool) -> Any:
    if isinstance(value, Mapping):
        return {name: _walked(each, path, str(name), encode=encode) for name, each in value.items()}
    if isinstance(value, list):
        return [_walked(each, path, key, encode=encode) for each in value]
    if not isinstance(value, str) or not value.startswith("ENC["):
        return value
    match = _TYPE.search(value)
    if match and match["type"] in _TYPED:
        return _TYPED[match["type"]]
    text = _text(key, path)
    return base64.b64encode(text.encode()).decode() if encode else text


def _text(key: str, path: str) -> str:
    return secrets_dummies.dummy_value(key, base=path).reveal().decode()


# Values for the Secrets of the foundation that only look like ones; nobody is asked for the real ones.


AGE = ".agekey"
"""How keys are called in which Flux looks for an age identity."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RehearsalSecrets:
    """What stands for the secrets of a cluster."""

    resolve: Callable[[str], Awaitable[Secret]]
    mapped: tuple[StandIn, ...]


def dummy_secrets_of(platform: Platform, cluster: str) -> RehearsalSecrets:
    """Dummies for everything that a cluster's foundation refers to; keys of encrypted files must be there."""
    foundation = [each for each in platform.secrets if each.cluster in ("", cluster)]
    # Flux reads this key even where nothing is encrypted, so it must be one.
    ages = {
        reference: age_keys.identity(secrets.token_bytes(32))
        for each in foundation
        for key, reference in each.data.items()
        if key.endswith(AGE)
    }
    dummies = Dummies(platform.root)

    async def resolve(reference: str) -> Secret:
        return ages.get(reference) or await dummies.resolve(reference)

    return RehearsalSecrets(resolve=resolve, mapped=tuple(map(_mapped, foundation)))


def _mapped(secret: FoundationSecret) -> StandIn:
    keys = ", ".join(f"{key} ({reference or 'not declared'})" for key, reference in secret.data.items())
    return StandIn("secret", f"{secret.namespace}/{secret.name}: {keys}", "made-up values")

"""Files that hold keys, by their names and by what is in them: their permissions, and which of them Git ignores."""

import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from firstlight.clients.git import Git, NotARepository
from firstlight.model import secret_words
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object, has_secrets
from firstlight.repo.work_tree import WorkTree

_NAMES = re.compile(
    r"(?:^|/)(?:kubeconfig|talosconfig|\.?kube/config|admin\.conf|keys\.txt|id_(?:rsa|ed25519|ecdsa)|\.env"
    r"|(?:tal)?secrets?\.(?:sops\.)?ya?ml|[^/]*\.(?:kubeconfig|talosconfig|agekey|key|pem|p12|pfx))$"
)
_MARKS = (b"PRIVATE KEY-----", b"AGE-SECRET-KEY-1", b"client-key-data:", b"LS0tLS1CRUdJTi", b"token:")
_KEY = re.compile(
    rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----\s*(?:\\n)?\s*[A-Za-z0-9+/=]{16}|AGE-SECRET-KEY-1[0-9A-Z]{20}"
    # A kubeconfig's, and what Talos writes: a key in base64 under a name that says so.
    rb"|client-key-data:\s*[\"']?[A-Za-z0-9+/]{8}|\bkey:\s*[\"']?LS0tLS1CRUdJTi"
)
_TOKEN = re.compile(rb"^\s+token:\s*[\"']?[A-Za-z0-9._-]{16}", re.MULTILINE)
"""In a kubeconfig; elsewhere it may be the name of something."""
_GIVEN = re.compile(
    rf"{secret_words.ASSIGNED}[\"']?\s*[:=]\s*"
    # Not what refers to a secret elsewhere, or holds more than a value.
    r"(?!ENC\[|op://|ref\+|vault:|env:|[\"']?[$<{&*|>!\[])[\"']?(?P<value>[^\s\"',}\]#]{3,})",
    re.IGNORECASE,
)
_NO_VALUE = ("true", "false", "null", "none")
_READ = 1 << 20
"""Bytes of an ignored file that are looked at."""
_NAMING = re.compile(
    r"(?:^|/)(?:Taskfile[^/]*|justfile|\.justfile|Makefile|mod\.just|\.sops\.yaml|\.envrc|\.mise\.toml|mise\.toml"
    r"|(?:tal(?:config|env)|topf|firstlight|kustomization)[^/]*\.ya?ml|[^/]*\.(?:sh|just|mk|gotmpl|j2|nix|toml|tf|py))$"
    r"|helmfile|(?:^|/)\.?task(?:file)?s?/"
)
"""Files that name others which are read when a cluster is brought up."""


def modes(tree: WorkTree, others: Iterable[str], *, tracked: frozenset[str] | None) -> dict[str, int]:
    """The permissions of files that hold keys and are for this machine alone.

    Args:
        tree: The repo.
        others: More files, which Git ignores.
        tracked: What Git tracks: whoever has the repo has these, whatever their permissions. Where there is no Git,
            only files count whose names say that they hold keys.
    """
    own = [path for path in tree.files if (path not in tracked if tracked is not None else _NAMES.search(path))]
    held = [path for path in own if _has_key(tree.bytes(path))]
    held += [path for path in others if _has_key(_head(tree.root / path))]
    found: dict[str, int] = {}
    for path in held:
        try:
            status = os.lstat(tree.root / path)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            found[path] = stat.S_IMODE(status.st_mode)
    return found


def named(tree: WorkTree, files: Sequence[str]) -> tuple[str, ...]:
    """The ignored files that a task, script or helmfile of the repo names, or that hold keys."""
    texts = [tree.text(path) or "" for path in tree.files if _NAMING.search(path)] if files else []
    found = []
    for path in files:
        name = posixpath.basename(path)
        if _NAMES.search(path) or (len(name) > 3 and any(name in text for text in texts)):
            found.append(path)
    return tuple(found)


def _has_key(content: bytes | None) -> bool:
    """Whether anybody who reads it has a key: what is encrypted, and what only speaks of keys, has none."""
    if content is None or not any(mark in content for mark in _MARKS):
        return False
    return bool(_KEY.search(content) or (b"current-context:" in content and _TOKEN.search(content)))


def _head(path: Path) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            return file.read(_READ) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None


def has_clear_secrets(tree: WorkTree, path: str) -> bool:
    """Whether a file has a Secret that anybody can read, or a key."""
    content = tree.bytes(path)
    if _has_key(content):
        return True
    if content is None or b"Secret" not in content:
        return False
    return any(
        isinstance(each.value, dict) and ObjectId.of(each.value).is_secret and has_secrets(Object(each.value))
        for each in tree.documents(path)
    )


def tells_secret(text: str) -> bool:
    """Whether a line of a text gives a secret in clear, by the name that stands before it."""
    return any(match["value"].lower() not in _NO_VALUE for match in _GIVEN.finditer(text))


# What is on the disk of a work tree and not in Git's sight: ignored files, without those that tools make.


_MANY = 2_000
"""Ignored files that are looked at; what tools leave behind can be more than a repo has."""
_DEPTH = 3
"""Directories below an ignored one that are looked into."""
_TOOLS = (".git", ".firstlight", "node_modules", ".venv", ".terraform", ".task", ".direnv", "__pycache__", ".cache")


async def ignored_files(root: Path, *, git: Path | None) -> list[str]:
    """Files that Git ignores, relative to a directory of its work tree; none where there is no Git.

    Raises:
        errors.ClientError: Git does not answer.
    """
    if git is None:
        return []
    try:
        return list(_walked(root, await Git(git).ignored(root)))
    except NotARepository:
        return []


def _walked(root: Path, ignored: Iterable[str]) -> Iterator[str]:
    """What Git ignores, file by file, without what tools have made."""
    waiting = [(each, 0) for each in sorted(ignored, reverse=True)]
    left = _MANY
    while waiting and left:
        path, depth = waiting.pop()
        if any(each in _TOOLS for each in path.split("/")) or not path.isprintable():
            continue
        left -= 1
        if not path.endswith("/"):
            yield path
        elif depth < _DEPTH:
            try:
                with os.scandir(root / path) as entries:
                    inner = [f"{path}{e.name}{'/' if e.is_dir(follow_symlinks=False) else ''}" for e in entries]
            except OSError:
                continue
            waiting += [(each, depth + 1) for each in sorted(inner, reverse=True)]

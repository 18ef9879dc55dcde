"""Secrets that are not encrypted: values in files, and files that hold keys.

Key files are told by their names and by what is in them, with their permissions and which of them Git ignores.
"""

import base64
import binascii
import fnmatch
import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from firstlight.clients.git import Git, NotARepository
from firstlight.document.within import at
from firstlight.model import secret_words
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object, has_secrets
from firstlight.repo.changes.compare_fields import Steps
from firstlight.repo.secrecy import nested_manifests, secret_text
from firstlight.repo.work_tree import WorkTree

_PLACEHOLDER = re.compile(
    r"\s*(?:<[\w .:/-]{1,80}>|[A-Z0-9_]*PLACEHOLDER[A-Z0-9_]*"
    r"|[-_ \w]*\b(?:replace[-_ ]?(?:me|this)|change[-_ ]?(?:me|this|it)|placeholder)\b[-_ \w]*"
    r"|placeholder[-_\w]*|(?:please[-_])?replace[-_](?:with|me|by)[-_\w]*|your[-_](?:[^\W_]+[-_])*(?:token|password|secret|key)(?:[-_]here)?"
    r"|(?:insert|put|fill)[-_]\w+[-_]here|todo|tbd|x{4,})\s*",
    re.I,
)
_LONGEST = 200
"""Characters; what is longer is no placeholder, and would keep the expression busy."""


def is_placeholder(value: Any) -> bool:
    """Whether a text only says that something has to be put in its place."""
    return isinstance(value, str) and len(value) <= _LONGEST and bool(_PLACEHOLDER.fullmatch(value))


# Which values of Secrets stand in Git as anybody can read them: neither encrypted nor only a name for something.


_HOLDERS = ("data", "stringData")
_CLEAR_TEXT_PLACEHOLDER = re.compile(
    r"(?:change|replace|fill|set|edit)[-_ ]?(?:me|this|it)(?:[-_ ]\w+)*|your[-_ ][\w -]+|place[-_ ]?holder|to[-_ ]?do"
    r"|tbd|dummy|redacted|example|none|null|n/?a|[x.*?#_-]+|true|false|yes|no|on|off|",
    re.IGNORECASE,
)
"""What people write where something else comes later, and what is no secret by itself."""
_VARIABLE = re.compile(
    r"\$\{[^{}]*\}|\$\([^()]*\)|\$[A-Z_][A-Z0-9_]*|\{\{.*?\}\}|<[^<>]*>|%[A-Z_]+%|@@?[A-Z_]+@@?", re.DOTALL
)
"""What somebody puts something else in the place of, before it is applied."""
_LOGIN = re.compile(r"(?<=://)[\w.-]*:@")
"""A login of which the password was a variable."""
_HIDDEN = ("ENC[", "$ANSIBLE_VAULT", "-----BEGIN AGE ENCRYPTED", "-----BEGIN PGP MESSAGE", "-----BEGIN CERTIFICATE")
"""How values begin that anybody may see: what is encrypted, and certificates."""
_PUBLIC = frozenset({
    "type", "url", "name", "project", "server", "host", "hostname", "port", "region", "bucket", "endpoint", "username",
    "user", "database", "dbname", "email", "namespace", "enableOCI", "enableLfs", "insecure", "insecureIgnoreHostKey",
    "forceHttpBasicAuth", "ca.crt", "tls.crt", "cert.pem", "known_hosts", "identity.pub", "ssh-publickey", "proxy",
})  # fmt: skip
"""Keys of Secrets under which no secret stands, unless it is part of an address."""


def is_filtered(tree: WorkTree, path: str) -> bool:
    """Whether Git itself encrypts a file on its way into a commit, as git-crypt and transcrypt have it do."""
    directory = posixpath.dirname(path)
    while True:
        inner = path[len(directory) + 1 :] if directory else path
        attributes = posixpath.join(directory, ".gitattributes")
        text = (tree.text(attributes) or "") if tree.is_file(attributes) else ""
        # The last line that fits counts.
        for line in reversed(text.splitlines()):
            pattern, *settings = line.split() or ("#",)
            filters = [each for each in settings if each.lstrip("-!").partition("=")[0] == "filter"]
            if filters and _is_matched(inner, pattern):
                return "crypt" in filters[-1]
        if not directory:
            return False
        directory = posixpath.dirname(directory)


def _is_matched(path: str, pattern: str) -> bool:
    """Whether a pattern of Git's attributes fits a path; one without a slash fits in every directory."""
    if "/" not in pattern:
        return fnmatch.fnmatchcase(posixpath.basename(path), pattern)
    return fnmatch.fnmatchcase(path, pattern.removeprefix("/").replace("**/", "*"))


def stands_clear(steps: Steps, value: Any) -> bool:
    """Whether a value of a Secret, or of what a kustomization makes one of, can be read by anybody."""
    if not isinstance(value, str):
        return False
    if steps[:1] == ("secretGenerator",):
        name, mark, text = value.partition("=")
        return "literals" in steps and bool(mark) and _is_readable(name, text.strip("\"'"))
    if steps[:1] not in [(each,) for each in _HOLDERS] or len(steps) < 2:
        return False
    text = decoded(value) if steps[0] == "data" else value
    return _is_readable(steps[-1], text)


def _is_readable(name: str, text: str) -> bool:
    text = text.strip()
    if _CLEAR_TEXT_PLACEHOLDER.fullmatch(text) or text.startswith(_HIDDEN) or secret_text.is_reference(text):
        return False
    rest = _LOGIN.sub("", _VARIABLE.sub("", text))
    is_whole = name not in _PUBLIC and rest == text
    return is_whole or secret_text.is_secret_text(rest)  # with a password in it, or a key


def decoded(value: str) -> str:
    """What base64 says; a text that is none stands for itself, as a variable does."""
    try:
        return base64.b64decode(value, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return value


# Files that hold keys.


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


_KEY_NAME = "secretKey"
"""In objects of External Secrets the name of a key in a Secret, such as ca.crt; elsewhere it may be the secret."""


def lines_with_key_names(tree: WorkTree, path: str) -> frozenset[int]:
    """Return the lines on which an object of External Secrets names a key of a Secret, and gives no secret."""
    if b"external-secrets.io/" not in (tree.bytes(path) or b""):
        return frozenset()
    return frozenset(
        document.place(*steps).line
        for document in tree.documents(path)
        if str(at(document.value, "apiVersion")).startswith("external-secrets.io/")
        for steps in _key_names(document.value, ())
    )


def _key_names(value: Any, steps: nested_manifests.Steps) -> Iterator[nested_manifests.Steps]:
    for step, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        if step == _KEY_NAME:
            yield (*steps, step)
        else:
            yield from _key_names(inner, (*steps, step))


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

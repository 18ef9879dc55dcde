"""Which values of Secrets stand in Git as anybody can read them: neither encrypted nor only a name for something."""

import base64
import binascii
import fnmatch
import posixpath
import re
from typing import Any

from firstlight.repo.changing import secret_texts
from firstlight.repo.changing.comparing import Steps
from firstlight.repo.work_tree import WorkTree

_HOLDERS = ("data", "stringData")
_PLACEHOLDER = re.compile(
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


def stands(steps: Steps, value: Any) -> bool:
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
    if _PLACEHOLDER.fullmatch(text) or text.startswith(_HIDDEN) or secret_texts.is_reference(text):
        return False
    rest = _LOGIN.sub("", _VARIABLE.sub("", text))
    is_whole = name not in _PUBLIC and rest == text
    return is_whole or secret_texts.is_secret(rest)  # with a password in it, or a key


def decoded(value: str) -> str:
    """What base64 says; a text that is none stands for itself, as a variable does."""
    try:
        return base64.b64decode(value, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return value

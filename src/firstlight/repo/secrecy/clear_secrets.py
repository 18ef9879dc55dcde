"""Names of values that hold secrets, and texts that stand where a secret is to be put in."""

import base64
import binascii
import fnmatch
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model import secret_words
from firstlight.model.component import ObjectId
from firstlight.model.platform import ClearSecret
from firstlight.repo.changes.compare_fields import Steps
from firstlight.repo.secrecy import secret_text
from firstlight.repo.work_tree import YAML, WorkTree

_PLACEHOLDER = re.compile(
    r"\s*(?:<[\w .:/-]{1,80}>|[-_ \w]*\b(?:replace[-_ ]?(?:me|this)|change[-_ ]?(?:me|this|it)|placeholder)\b[-_ \w]*"
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


# Secrets of a repo that anybody can read who can read the repo; their values are never kept.


_CLEAR_SECRETS_HOLDERS = ("stringData", "data")
_CLEAR_SECRETS_SECRET = re.compile(rb"\bSecret\b")
"""Not an ExternalSecret, of which there are many: their files need not be parsed."""


def clear_secrets_of(tree: WorkTree) -> tuple[ClearSecret, ...]:
    """Every Secret with values in clear, wherever it stands."""
    held: list[ClearSecret] = []
    for path in tree.files:
        content = tree.bytes(path) if path.endswith((*YAML, ".json")) else None
        if content is None or b"Secret" not in content or not _CLEAR_SECRETS_SECRET.search(content):
            continue
        if is_filtered(tree, path):
            continue
        held += [each for document in tree.documents(path) if (each := _of(document)) is not None]
    return tuple(held)


def _of(document: YamlDocument) -> ClearSecret | None:
    value: Any = document.value
    if not isinstance(value, Mapping) or not ObjectId.of(value).is_secret or "sops" in value:
        return None
    for holder in _CLEAR_SECRETS_HOLDERS:
        entries = value.get(holder)
        pairs = entries.items() if isinstance(entries, Mapping) else ()
        names = [str(name) for name, held in pairs if _clear_secrets_is_readable(holder, str(name), held)]
        if names:
            return ClearSecret(id=ObjectId.of(value), keys=tuple(names), place=document.place(holder, names[0]))
    return None


def _clear_secrets_is_readable(holder: str, name: str, value: Any) -> bool:
    """Whether a value is a secret, and there: teams keep plain settings in Secrets as well, and words for later."""
    text = decoded(value) if holder == "data" and isinstance(value, str) else value
    is_one = secret_words.is_secret_name(name) or (isinstance(text, str) and secret_text.is_secret_text(text))
    return is_one and not is_placeholder(text) and stands_clear((holder, name), value)

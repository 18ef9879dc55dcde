"""Words that say that what they name is secret: every list of them, by who asks.

Some callers would rather hide one value too many, others report only what is certain. Each has a function here.
"""

import functools
import re
from collections.abc import Sequence

_REMEMBERED = 20_000
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_KEYS = r"api[-_]?key|private[-_]?key"

KUBECONFIG = ("client-key-data", "token", "password", "id-token", "refresh-token", "client-secret")
"""Fields of a kubeconfig's users that are secret."""
KUBECONFIG_LOGINS = ("client-key-data", "token", "password")
"""Those with which somebody can log in at once."""
FLUX_SOURCE = frozenset({"identity", "password", "bearerToken", "githubAppPrivateKey"})
"""Keys of the Secret with which Flux fetches a source."""
ARGOCD_REPOSITORY = frozenset({"sshPrivateKey", "password", "bearerToken", "githubAppPrivateKey"})
"""Keys of the Secret with which Argo CD fetches a repository."""

ASSIGNED = r"(?:pass(?:word|phrase|wd)|token|(?:api|private|secret|access|auth)[-_]?key)"
"""An expression for the end of a name to which a file of settings assigns a secret."""
IN_MACHINE_CONFIG = r"(?:key|token|secret|password|passphrase|auth|identity)"
"""An expression for a word in the names of a machine config's secrets."""


# Names of settings, as commands and values of charts have them.


_SETTING = re.compile(rf"pass(?:word|wd|phrase)|token|{_KEYS}|secret[-_]?key|credential", re.I)
_PLAIN_END = (
    r"(?:name|ref|path|file|enabled|mount"
    r"|length|duration|ttl|lifetime|expiry|expiration|rotation|interval|timeout|algorithm|type|format|policy)$"
)
"""What tells of a secret: where it is, how long it is, when it ends."""
_PLAIN_SETTING = re.compile(_PLAIN_END, re.I)


def is_secret_setting(name: str) -> bool:
    """Say whether a setting of a command, such as ``a.b.password``, has a secret for its value."""
    last = name.rpartition(".")[2]
    return bool(_SETTING.search(last)) and not _PLAIN_SETTING.search(last)


# Names in files, where rather one too many is hidden than one too few.


_ANYWHERE = frozenset({
    "pass", "passwd", "pwd", "htpasswd", "creds", "dsn", "psk", "authkey", "apikey", "bearer", "dockerconfigjson",
    "dockercfg", "kubeconfig", "talosconfig", "jwt", "hmac", "otp",
})  # fmt: skip
"""Words of a name, wherever they stand in it."""
_LAST = frozenset({"secret", "secrets", "auth", "passwords", "tokens"})
"""Words that make a name secret at its end: ``secretName`` is not a secret, ``clientSecret`` is one."""
_KEY = re.compile(
    r"(?:access|account|admin|age|api|auth|client|cookie|deploy|encrypt|encryption|gpg|hmac|integration|jwt|licen[cs]e"
    r"|master|pgp|preshared|private|root|routing|secret|service|session|shared|signing|ssh|storage|tls|wireguard)"
    r"[-_.]?keys?$|key[-_]?data$|connection[-_]?(?:string|ur[il])$",
    re.I,
)
_PLAIN_NAME = re.compile(rf"{_PLAIN_END}|^existing", re.I)
_PARENTS = frozenset({
    "secret", "secrets", "credential", "credentials", "creds", "auth", "basicauth", "password", "passwords", "passwd",
    "token", "tokens",
})  # fmt: skip
_PLAIN_PARENTS = re.compile(r"pullSecrets?$|^existing|(?:external|sealed)[-_]?secrets?$", re.I)
"""The last are operators: what stands below their names is their configuration."""
_PLAIN_BELOW = frozenset({
    "openAPIV3Schema", "securityContext", "podSecurityContext", "containerSecurityContext", "capabilities",
    "seccompProfile", "resources",
})  # fmt: skip
"""What looks the same below every name, and what rules must see."""
_PLAIN_LEAVES = frozenset({"secretName", "optional", "defaultMode", "apiVersion", "kind"})


@functools.lru_cache(_REMEMBERED)
def is_secret_name(name: str) -> bool:
    """Say whether a name in a file may have a secret for its value."""
    if is_secret_setting(name):
        return True
    last = name.rpartition(".")[2]
    if _PLAIN_NAME.search(last):
        return False
    parts = [each.lower() for each in _PART.findall(last)]
    if not parts:
        return False
    joined = "".join(parts[-2:])
    return bool(
        _ANYWHERE.intersection(parts)
        or joined in _ANYWHERE
        or parts[-1] in _LAST
        or _KEY.search(last)
        or name.lower().endswith(("tls.key", "_key", ".pem"))
    )


def is_below_secret_name(steps: Sequence[str]) -> bool:
    """Say whether a field stands below a name that makes all below it secret."""
    if len(steps) < 2 or steps[-1] in _PLAIN_LEAVES or _PLAIN_BELOW.intersection(steps):
        return False
    return any(_is_parent(each) for each in steps[:-1])


@functools.lru_cache(_REMEMBERED)
def _is_parent(step: str) -> bool:
    if step.startswith("[") or " " in step or _PLAIN_PARENTS.search(step):
        return False
    parts = _PART.findall(step)
    return step.lower() in _PARENTS or bool(parts and parts[-1].lower() in ("secret", "secrets", "credentials"))


# Names that are judged by their letters alone.


_CERTAIN = re.compile(
    rf"pass(?:word|phrase|wd)?$|token$|secret(?:key)?$|(?:{_KEYS})$|access[-_]?key|credentials?$", re.I
)
_FIELD = re.compile(r"passw|token|secret|credential|api.?key|private.?key", re.I)
_VALUE = re.compile(r"key|token|secret|passw|passphrase|auth|credential|dsn|connection|cert", re.I)


def is_certain(name: str) -> bool:
    """Say whether a key certainly holds a secret, so that its plain text in Git is reported."""
    return _CERTAIN.search(name) is not None


def is_in_path(path: str) -> bool:
    """Say whether any part of the path to a live field names a secret, so that a record hides its value."""
    return _FIELD.search(path) is not None


def is_sensitive_value(name: str) -> bool:
    """Say whether a value of a chart is masked in messages even where it is short."""
    return _VALUE.search(name) is not None

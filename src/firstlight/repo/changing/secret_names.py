"""Names that say that what they stand before is secret; rather one too many than one too few."""

import functools
import re
from collections.abc import Sequence

from firstlight.repo.scripts import masking

_KNOWN = 20_000
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ANYWHERE = frozenset({
    "pass", "passwd", "pwd", "htpasswd", "creds", "dsn", "psk", "authkey", "apikey", "bearer", "dockerconfigjson",
    "dockercfg", "kubeconfig", "talosconfig", "jwt", "hmac", "otp",
})  # fmt: skip
"""Words of a name, wherever they stand in it."""
_LAST = frozenset({"secret", "secrets", "auth", "passwords", "tokens"})
"""Words that make a name secret at its end: ``secretName`` is no secret, ``clientSecret`` is one."""
_KEY = re.compile(
    r"(?:access|account|admin|age|api|auth|client|cookie|deploy|encrypt|encryption|gpg|hmac|integration|jwt|licen[cs]e"
    r"|master|pgp|preshared|private|root|routing|secret|service|session|shared|signing|ssh|storage|tls|wireguard)"
    r"[-_.]?keys?$|key[-_]?data$|connection[-_]?(?:string|ur[il])$",
    re.I,
)
_NO_SECRET = re.compile(r"(?:name|ref|path|file|enabled|mount)$|^existing", re.I)
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


@functools.lru_cache(_KNOWN)
def is_secret(name: str) -> bool:
    """Whether a name says that its value is a secret."""
    if masking.is_secret_name(name):
        return True
    last = name.rpartition(".")[2]
    if _NO_SECRET.search(last):
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


def is_below(steps: Sequence[str]) -> bool:
    """Whether something stands below a name that makes all below it secret."""
    if len(steps) < 2 or steps[-1] in _PLAIN_LEAVES or _PLAIN_BELOW.intersection(steps):
        return False
    return any(_is_parent(each) for each in steps[:-1])


@functools.lru_cache(_KNOWN)
def _is_parent(step: str) -> bool:
    if step.startswith("[") or " " in step or _PLAIN_PARENTS.search(step):
        return False
    parts = _PART.findall(step)
    return step.lower() in _PARENTS or bool(parts and parts[-1].lower() in ("secret", "secrets", "credentials"))

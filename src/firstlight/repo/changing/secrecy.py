"""Which values of a document are secret: that they differ may be said, and nothing of what they are."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from firstlight.repo.changing import lists
from firstlight.repo.changing.comparing import Steps
from firstlight.repo.scripts import masking
from firstlight.repo.talos import kinds

IsSecret = Callable[[Steps, Any], bool]

_REFERENCE = re.compile(r"\$\{?\w|\$\(|op://|ref\+|vault:|sops:|env:|file:|<[^>]*>$|\{\{|secretref\+|awssecret")
"""The beginning of what only says where a secret is."""
_TEXT = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|AGE-SECRET-KEY-1|^kind:\s*[\"']?Secret\b", re.MULTILINE)
_ENCRYPTED = "ENC["
_WRAPPED = "ENC[AES256_GCM,"
HIDDEN = "ENC[hidden]"
"""What stands for a secret that was found in a longer text."""
_OF_MACHINES = {
    "secret", "aescbcEncryptionSecret", "secretboxEncryptionSecret", "aescbcencryptionsecret", "clusterSecret", "auth",
    "secretboxencryptionsecret", "bootstraptoken", "identityToken", "presharedKey", "psk",
}  # fmt: skip
_KEY_HOLDERS = {
    "ca", "aggregatorCA", "serviceAccount", "issuingCA", "etcd", "k8s", "k8saggregator", "k8sserviceaccount", "os",
}  # fmt: skip
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOTES = ("lastmodified", "mac", "version", "enc", "created_at", "mac_only_encrypted")
"""What sops writes anew with each encryption."""


def of_everything(steps: Steps, value: Any) -> bool:
    """For documents of which nothing may be said."""
    return True


def of_document(value: Any, *, is_machine: bool = False) -> IsSecret:
    """What is secret in a document."""
    if kinds.is_encrypted(value):
        return of_everything
    if isinstance(value, Mapping) and value.get("kind") == "Secret" and "/" not in str(value.get("apiVersion")):
        return _of_secret
    return _of_machine if is_machine else by_name


def _of_secret(steps: Steps, value: Any) -> bool:
    return steps[:1] in (("data",), ("stringData",)) or _LAST_APPLIED in steps or by_name(steps, value)


def _of_machine(steps: Steps, value: Any) -> bool:
    if by_name(steps, value):
        return True
    last, parent = (*("", ""), *steps)[-1], (*("", ""), *steps)[-2]
    if last in _OF_MACHINES or (last == "key" and parent in _KEY_HOLDERS):
        return isinstance(value, str) and not is_reference(value)
    return False


def by_name(steps: Steps, value: Any) -> bool:
    """What is secret whatever it stands in: what is called a password, keys, and what is encrypted."""
    if _is_embedded(steps):
        return True
    if not isinstance(value, str):
        return False
    if value.startswith(_ENCRYPTED) or (("\n" in value or "-" in value) and _TEXT.search(value)):
        return True
    name = steps[-1] if steps else ""
    if name == "value" and len(steps) > 1:  # of an environment variable, or of a chart's setting
        name = steps[-2].partition("=")[2].rstrip("]")
    return bool(value) and masking.is_secret_name(name) and not is_reference(value)


def _is_embedded(steps: Steps) -> bool:
    """Whether it is in a Secret that stands in a text of another document."""
    for at, step in enumerate(steps[:-1]):
        if step.startswith("Secret ") and steps[at + 1] in ("data", "stringData"):
            return True
    return False


def is_secret_text(text: str, *, is_script: bool = False) -> bool:
    """Whether nothing of a text may be told that can only be read line by line; scripts have Secrets in them."""
    if _WRAPPED in text:
        return True
    return any(not (is_script and "kind" in found) for found in _TEXT.findall(text))


def is_reference(value: str) -> bool:
    """Whether a text only says where something is."""
    return _REFERENCE.match(value) is not None


def is_note(steps: Steps) -> bool:
    """Whether it is something that sops writes of itself, so that it differs though nothing was changed."""
    return steps[:1] == ("sops",) and steps[-1] in _NOTES


def without(value: Any, is_secret: IsSecret, steps: Steps = ()) -> Any:
    """A value with None in the place of what is secret; the value itself where nothing is."""
    if isinstance(value, Mapping):
        made = {key: without(each, is_secret, (*steps, str(key))) for key, each in value.items()}
        return value if all(made[key] is each for key, each in value.items()) else made
    if isinstance(value, list):
        keys = lists.keys_of(value)
        items = [
            without(each, is_secret, (*steps, lists.label(each, keys) if keys else f"[{at}]"))
            for at, each in enumerate(value)
        ]
        return value if all(one is other for one, other in zip(items, value, strict=True)) else items
    return None if is_secret(steps, value) else value

"""Where in a document secrets stand, told by what stands beside them: Secrets in other objects, patches, arguments."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from firstlight.model import secret_words
from firstlight.repo.changes import compare_fields
from firstlight.repo.changes.compare_fields import Steps
from firstlight.repo.scripts import masked_lines
from firstlight.repo.secrecy import secret_text
from firstlight.repo.talos import document_kinds

_PLAIN = frozenset({
    "apiVersion", "kind", "metadata", "name", "namespace", "type", "immutable", "group", "version", "labelSelector",
    "annotationSelector", "optional", "key", "valuesKey", "targetPath", "sops",
})  # fmt: skip
"""What a Secret, or what names one, may have in it besides secrets."""
_DATA = re.compile(r"/?(?:data|stringData)(?:/|$)")
_ITEM = "[]"


class SecretPlaces:
    """The places of secrets in one document."""

    def __init__(self, value: Any) -> None:
        self._wide: set[Steps] = set()
        self._exact: set[Steps] = set()
        for is_exact, steps in _found(value):
            (self._exact if is_exact else self._wide).add(_narrow(steps) if is_exact else _broad(steps))

    def holds(self, steps: Steps) -> bool:
        """Whether something is in one of them."""
        if self._wide and any(_broad(steps[:end]) in self._wide for end in range(len(steps) + 1)):
            return True
        return bool(self._exact) and any(_narrow(steps[:end]) in self._exact for end in range(1, len(steps) + 1))


def is_keys(value: Any) -> bool:
    """Whether a document is nothing but keys: a kubeconfig or a talosconfig."""
    if not isinstance(value, Mapping):
        return False
    if "contexts" in value and ("context" in value or "users" in value):
        return True
    return isinstance(value.get("users"), list) and ("clusters" in value or value.get("kind") == "Config")


def _broad(steps: Steps) -> Steps:
    """A way with any item of a list in the place of each: items may be told apart in another manner."""
    return tuple(_ITEM if each.startswith("[") else each for each in steps)


def _narrow(steps: Steps) -> Steps:
    """A way to one item of the innermost list."""
    last = max((at for at, each in enumerate(steps) if each.startswith("[")), default=-1)
    return _broad(steps[:last]) + steps[last:] if last >= 0 else steps


def _found(value: Any) -> Iterator[tuple[bool, Steps]]:
    """Ways to secrets, each with whether it is of this item of a list only."""
    waiting: list[tuple[Steps, Any]] = [((), value)]
    while waiting:
        steps, each = waiting.pop()
        if isinstance(each, Mapping):
            for is_exact, way in _of_mapping(each):
                yield is_exact, (*steps, *way)
            waiting += (((*steps, str(key)), child) for key, child in each.items())
        elif isinstance(each, list):
            keys = compare_fields.keys_of(each)
            for at, child in enumerate(each):
                number = f"[{at}]"
                if at and _is_flag(each[at - 1]):
                    yield True, (*steps, number)
                waiting.append(((*steps, number), child))
                if keys:
                    waiting.append(((*steps, compare_fields.item_label(child, keys)), {} if _is_deep(child) else child))


def _is_deep(value: Any) -> bool:
    """Whether there is more in an item than its own values; what is in it is found by its number, too."""
    return not isinstance(value, Mapping) or any(isinstance(each, Mapping | list) for each in value.values())


def _of_mapping(value: Mapping[str, Any]) -> Iterator[tuple[bool, Steps]]:
    kind, target, path, name = (value.get(each) for each in ("kind", "target", "path", "name"))
    if kind == "Secret":
        yield from ((False, (str(key),)) for key in value if key not in _PLAIN)
    if kind == "ExtensionServiceConfig":
        yield from ((False, (key,)) for key in ("environment", "configFiles"))
    if isinstance(target, Mapping) and "Secret" in str(target.get("kind")):
        yield from ((False, (key,)) for key in ("patch", "patches"))
    if isinstance(path, str) and "op" in value and _DATA.match(path):
        yield False, ("value",)
    if isinstance(path, str) and "op" in value and secret_words.is_secret_name(path.rpartition("/")[2]):
        yield True, ("value",)
    if isinstance(name, str) and "value" in value and secret_words.is_secret_name(name):
        yield True, ("value",)
    if is_keys(value):
        yield False, ()


def _is_flag(value: Any) -> bool:
    """Whether an argument is a flag that the next one is the secret of."""
    return (
        isinstance(value, str)
        and value.startswith("-")
        and "=" not in value
        and secret_words.is_secret_name(value.lstrip("-"))
    )


# Which values of a document are secret: that they differ may be said, and nothing of what they are.


IsSecret = Callable[[Steps, Any], bool]

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
_ALWAYS = {"stringData", "secretGenerator", "kubectl.kubernetes.io/last-applied-configuration"}
"""Steps below which all is secret, whatever they stand in."""
_VERSIONS = {"image", "tag", "version", "digest", "repository", "registry", "targetRevision", "newTag", "appVersion"}
_VERSION = re.compile(r"[\w.-]+(?::\d+)?(?:/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?|sha256:[0-9a-f]{64}")
_SMALL = 1_000
"""Numbers below it are ports, counts and users, not secrets."""
_FILES = re.compile(
    r"(?:.*\.)?env(?:\.(?!ya?ml$|json$|toml$|sh$)[\w-]+)?|\.envrc|(?:.*[._-])?kubeconfig\d*(?:\.\w+)?|\.netrc|\.pgpass|\.?htpasswd"
)
_SCHEMA = "openAPIV3Schema"
_OF_SCHEMAS = {"description", "type", "format", "minimum", "maximum", "maxLength", "minLength", "pattern", "nullable"}
_NOTES = ("lastmodified", "mac", "version", "enc", "created_at", "mac_only_encrypted")
"""What sops writes anew with each encryption."""


def of_everything(steps: Steps, value: Any) -> bool:
    """For documents of which nothing may be said."""
    return True


def of_names(steps: Steps, value: Any) -> bool:
    """What is secret in a file whose keys are names that people chose, such as those of components."""
    return isinstance(value, str) and _is_secret_text(value)


def of_document(value: Any, *, is_machine: bool = False) -> IsSecret:
    """What is secret in a document, in which texts that are documents are replaced by what they say."""
    if document_kinds.is_encrypted(value) or is_keys(value):
        return of_everything
    is_named = isinstance(value, Mapping) and isinstance(value.get("kind"), str)
    by_form = _of_machine if is_machine else by_name
    places: list[SecretPlaces] = []

    is_crd = is_named and value["kind"] == "CustomResourceDefinition"

    def is_secret(steps: Steps, leaf: Any) -> bool:
        if is_crd and _SCHEMA in steps and steps[-1] in _OF_SCHEMAS:
            return False  # tens of thousands of them, of which none is a value
        if not places:
            places.append(SecretPlaces(value))
        # A patch that does not say what it is of may be one of a Secret.
        is_data = not is_named and not is_machine and steps[:1] == ("data",)
        return is_data or by_form(steps, leaf) or places[0].holds(steps)

    return is_secret


def is_secret_file(path: str) -> bool:
    """Whether all of a file is secret, by its name: variables for programs, and keys."""
    return _FILES.fullmatch(posixpath.basename(path)) is not None


def _of_machine(steps: Steps, value: Any) -> bool:
    if by_name(steps, value):
        return True
    last, parent = (*("", ""), *steps)[-1], (*("", ""), *steps)[-2]
    if last in _OF_MACHINES or (last == "key" and parent in _KEY_HOLDERS):
        return isinstance(value, str) and not is_reference(value)
    return False


def by_name(steps: Steps, value: Any) -> bool:
    """What is secret whatever it stands in: what is called a password, keys, and what is encrypted."""
    if _is_place(steps):
        return True
    if value is None or isinstance(value, bool | Mapping | list) or value == "":
        return False
    name = steps[-1] if steps else ""
    if name == "value" and len(steps) > 1:  # of an environment variable, or of a chart's setting
        name = steps[-2].partition("=")[2].rstrip("]")
    if not isinstance(value, str):
        is_small = isinstance(value, int | float) and abs(value) < _SMALL
        return secret_words.is_secret_name(name) or (secret_words.is_below_secret_name(steps) and not is_small)
    if _is_secret_text(value):
        return True
    if is_reference(value):
        return False
    if secret_words.is_secret_name(name) or _is_webhook(steps, value):
        return True
    is_version = name in _VERSIONS and _VERSION.fullmatch(value) is not None
    return not is_version and secret_words.is_below_secret_name(steps)


def _is_secret_text(value: str) -> bool:
    return value.startswith(_ENCRYPTED) or secret_text.is_secret_text(value)


def _is_webhook(steps: Steps, value: str) -> bool:
    """Whether it is an address that lets in whoever knows it."""
    names = [each for each in steps if not each.startswith("[")][-2:]
    return "://" in value and any("webhook" in each.lower() for each in names)


def _is_place(steps: Steps) -> bool:
    """Whether it is in what is secret altogether: a Secret in a text, files for machines, or their services."""
    if not _ALWAYS.isdisjoint(steps):
        return True
    if steps[-1:] == ("content",) and {"files", "configFiles"}.intersection(steps):
        return True
    if "extensionServices" in steps and {"environment", "configFiles"}.intersection(steps):
        return True
    if "data" not in steps:
        return False
    return any(step.startswith("Secret ") and "data" in steps[at + 1 : at + 2] for at, step in enumerate(steps))


def is_secret_text(text: str, *, is_script: bool = False) -> bool:
    """Whether nothing of a text may be told that can only be read line by line; scripts have Secrets in them."""
    if _WRAPPED in text or secret_text.PRIVATE_KEYS.search(text):
        return True
    return not is_script and secret_text.KIND_SECRET.search(text) is not None


def is_reference(value: str) -> bool:
    """Whether a text only says where something is."""
    return secret_text.is_reference(value)


def is_note(steps: Steps) -> bool:
    """Whether it is something that sops writes of itself, so that it differs though nothing was changed."""
    return steps[:1] == ("sops",) and steps[-1] in _NOTES


def without(value: Any, is_secret: IsSecret, steps: Steps = ()) -> Any:
    """A value with None in the place of what is secret; the value itself where nothing is."""
    if isinstance(value, Mapping):
        made = {key: without(each, is_secret, (*steps, str(key))) for key, each in value.items()}
        return value if all(made[key] is each for key, each in value.items()) else made
    if isinstance(value, list):
        keys = compare_fields.keys_of(value)
        items = [
            _item(each, is_secret, (*steps, compare_fields.item_label(each, keys) if keys else f"[{at}]"))
            for at, each in enumerate(value)
        ]
        return value if all(one is other for one, other in zip(items, value, strict=True)) else items
    return None if is_secret(steps, value) else value


def _item(value: Any, is_secret: IsSecret, steps: Steps) -> Any:
    """An item of a list; a text stays one, since what is asked of lists of texts is asked of texts."""
    found = without(value, is_secret, steps)
    return masked_lines.MASK if found is None and isinstance(value, str) else found

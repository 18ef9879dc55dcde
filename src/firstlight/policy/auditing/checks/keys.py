"""Keys and configs that are where they must not be: in Git, in clear, or readable by everybody."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.reading import Document
from firstlight.document.within import at, sequence
from firstlight.model.finding import Evidence
from firstlight.model.place import Place
from firstlight.policy.auditing import listing
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

TALOS_SECRETS = "unencrypted Talos secrets in Git"
"""How the reader of Talos files begins what it says of them."""
_MOST = 5
_RULES = (".sops.yaml", ".sops.yml")
_CREDENTIALS = ("client-key-data", "token", "password")
_NO_SECRET = ("ENC[", "${", "{{", "op://", "ref+", "vault:", "$(", "<")
_AGE = re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]{20,}")
_PRIVATE = re.compile(r"^\s*-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----\s*\n\s*[A-Za-z0-9+/=]{8,}\s*$", re.MULTILINE)
"""With a line of the key itself: templates of Secrets have the first line and a variable."""
_KEYS = (("a private key of age", "AGE-SECRET-KEY-1", _AGE), ("a private key", "PRIVATE KEY-----", _PRIVATE))
_TEXTS = (
    ".yaml", ".yml", ".json", ".txt", ".key", ".pem", ".agekey", ".env", ".sh", ".toml", "kubeconfig", "talosconfig",
    "id_rsa", "id_ed25519", "id_ecdsa", ".j2", ".gotmpl", ".tpl", ".tf", ".tfvars", ".ini", ".conf", ".cfg",
)  # fmt: skip


def talos_secrets(scene: Scene) -> Iterator[Hit]:
    """Talos's own secrets in clear."""
    for remark in scene.platform.remarks:
        if remark.message.startswith(TALOS_SECRETS):
            yield Hit(message=remark.message, place=remark.place, fix=remark.hint)


def secrets_in_clear(scene: Scene) -> Iterator[Hit]:
    """Secrets whose values stand in Git."""
    for each in scene.clear_secrets:
        keys = listing.listed(each.keys, _MOST)
        yield Hit(message=f"{each.id} stands in Git unencrypted: {keys}", place=each.place, key=str(each.id))


def _told(scene: Scene) -> frozenset[str]:
    """Files whose secrets other rules tell of."""
    talos = [each.place.path for each in scene.platform.remarks if each.message.startswith(TALOS_SECRETS)]
    return frozenset([*talos, *(each.place.path for each in scene.clear_secrets)])


def kubeconfigs(scene: Scene) -> Iterator[Hit]:
    """Kubeconfigs with the key or token of a user."""
    for path in scene.files.files:
        text = scene.files.text(path) if _may_hold(path) else None
        if not text or not any(each in text for each in _CREDENTIALS) or "kind: Config" not in text.replace('"', ""):
            continue
        for document in scene.files.documents(path):
            yield from _of_kubeconfig(document)


def _of_kubeconfig(document: Document) -> Iterator[Hit]:
    value = document.value
    if not isinstance(value, Mapping) or value.get("kind") != "Config" or "sops" in value:
        return
    for number, each in enumerate(sequence(value, "users")):
        for key in _CREDENTIALS:
            found = at(each, "user", key)
            if isinstance(found, str) and found and not found.startswith(_NO_SECRET):
                name = str(at(each, "name"))
                yield Hit(
                    message=f"a kubeconfig with the {key} of {name} stands in Git",
                    place=document.place("users", number, "user", key),
                    key=f"{key} of {name}",
                )
                break


def private_keys(scene: Scene) -> Iterator[Hit]:
    """Private keys, of age or of TLS; those in Secrets are told of as Secrets."""
    told = _told(scene)
    for path in scene.files.files:
        text = scene.files.text(path) if path.endswith(_TEXTS) and path not in told else None
        if not text or "ENC[AES256" in text:
            continue
        for what, mark, expression in _KEYS:
            # A mark is found at once, and few files have one; an expression goes through all of a text.
            if mark in text and (match := expression.search(text)):
                yield Hit(
                    message=f"{what} stands in Git", place=Place(path, text.count("\n", 0, match.start()) + 1), key=what
                )
                break


def _may_hold(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith((".yaml", ".yml", ".json")) or "kubeconfig" in name or name == "config"


def world_readable(scene: Scene) -> Iterator[Hit]:
    """Files with keys that others on this machine may read."""
    for path, mode in sorted(scene.modes.items()):
        if mode & 0o077:
            yield Hit(
                message=f"{path} holds keys, and its mode {mode & 0o777:04o} lets others read it",
                place=Place(path),
                fix=f"chmod 600 {path}",
                key="mode",
            )


def unencrypted_sops(scene: Scene) -> Iterator[Hit]:
    """Files that are called encrypted and are not, without those whose secrets are told of already."""
    told = _told(scene)
    for path in scene.files.files:
        name = path.rpartition("/")[2]
        if not re.search(r"\.sops\.(?:ya?ml|json)$", name) or name in _RULES or path in told:
            continue
        values = [each.value for each in scene.files.documents(path) if each.value is not None]
        if values and not any(_is_encrypted(each) for each in values):
            yield Hit(message=f"{name} is called encrypted, and is not", place=Place(path, 1), key="clear")


def missing_rules(scene: Scene) -> Iterator[Hit]:
    """Encrypted files that no rule of sops covers: whoever edits or adds one encrypts it for nobody, or not at all."""
    rules = [path for path in scene.files.files if path.rpartition("/")[2] in _RULES]
    encrypted = [path for path in scene.files.files if _looks_encrypted(scene, path)]
    if encrypted and not rules:
        yield Hit(
            message=f"{len(encrypted)} files are encrypted with sops, and no .sops.yaml says for whom",
            place=Place(encrypted[0], 1),
            key="no rules",
        )
        return
    covering = [(path.rpartition("/")[0], each) for path in rules for each in _expressions(scene, path)]
    left = [path for path in encrypted if not any(_covers(base, each, path) for base, each in covering)]
    if left:
        yield Hit(
            message=f"no rule of sops covers {listing.listed(left)}",
            place=Place(left[0], 1),
            evidence=tuple(Evidence(path, Place(path, 1)) for path in left[:_MOST]),
            key="uncovered",
        )


def _covers(base: str, expression: re.Pattern[str] | None, path: str) -> bool:
    """Whether a rule covers a file: its expression is for paths below the directory that its file is in."""
    above = f"{base}/" if base else ""
    return path.startswith(above) and (expression is None or bool(expression.search(path.removeprefix(above))))


def _expressions(scene: Scene, path: str) -> Iterator[re.Pattern[str] | None]:
    """What the rules of a file cover; None for everything."""
    for document in scene.files.documents(path):
        for rule in sequence(document.value, "creation_rules"):
            written = at(rule, "path_regex")
            if written is None:
                yield None
                continue
            try:
                yield re.compile(str(written))
            except re.error:
                yield None  # what Go may understand is taken for covering


def _looks_encrypted(scene: Scene, path: str) -> bool:
    if not path.endswith((".yaml", ".yml", ".json")):
        return False
    text = scene.files.text(path) or ""
    return "ENC[AES256_GCM" in text and any(_is_encrypted(each.value) for each in scene.files.documents(path))


def _is_encrypted(value: Any) -> bool:
    return isinstance(at(value, "sops", "mac"), str)

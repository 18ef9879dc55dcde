"""Keys and configs that are where they must not be: in Git, in clear, or readable by everybody."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from firstlight.commands.audit import wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import go_regex
from firstlight.document.within import at, sequence
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model import secret_words
from firstlight.model.component import Component, Side
from firstlight.model.diagnostic import Evidence
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource
from firstlight.plan import cluster_facts
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.secrecy import hidden_texts, nested_manifests
from firstlight.repo.secrecy.clear_secrets import is_placeholder

_TALOS_SECRETS = "talos-secrets-in-clear"
_MOST = 5
_RULES = (".sops.yaml", ".sops.yml")
_NO_SECRET = ("ENC[", "${", "{{", "op://", "ref+", "vault:", "$(", "<")
_AGE = re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]{20,}")
_PRIVATE = re.compile(
    r"^\s*-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----\s*\n\s*[A-Za-z0-9+/=]{8,}\s*$"
    # In one line, as JSON and texts in double quotes have it.
    r"|-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----\\n[A-Za-z0-9+/=]{16}",
    re.MULTILINE,
)
"""With a line of the key itself: templates of Secrets have the first line and a variable."""
_ENCODED = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,40}?(?:UFJJVkFURS|BSSVZBVE|QUklWQVRF)[A-Za-z0-9+/]{40}")
"""The same in base64: the word PRIVATE in one of its three positions, and more behind it."""
_KEYS = (
    ("a private key of age", "AGE-SECRET-KEY-1", _AGE),
    ("a private key", "PRIVATE KEY-----", _PRIVATE),
    ("a private key in base64", "LS0tLS1CRUdJTi", _ENCODED),
)
_TEXTS = (
    ".yaml", ".yml", ".json", ".txt", ".key", ".pem", ".agekey", ".env", ".sh", ".toml", "kubeconfig", "talosconfig",
    "id_rsa", "id_ed25519", "id_ecdsa", ".j2", ".gotmpl", ".tpl", ".tf", ".tfvars", ".ini", ".conf", ".cfg",
)  # fmt: skip

_IN_CONFIG = (
    "Talos and Omni apply this file as it is, before anything could decrypt a Secret in the cluster. Let the chart "
    "make its keys in the cluster (Cilium: hubble.tls.auto.method: cronJob), or encrypt the file with sops and decrypt "
    "it when it is applied; rotate what it holds."
)


def talos_secrets(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Talos's own secrets in clear."""
    for diagnostic in scene.platform.diagnostics:
        if diagnostic.code == _TALOS_SECRETS:
            yield rule.finding(diagnostic.message, at=diagnostic.place)


def secrets_in_clear(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Secrets whose values stand in Git."""
    configs = {part.config.place().path for cluster in scene.clusters for part in cluster.parts}
    configs |= {place.path for cluster in scene.clusters for place in cluster.files}
    for each in scene.clear_secrets:
        keys = wording.listed_names(each.keys, _MOST)
        yield rule.finding(
            f"{each.id} stands in Git unencrypted: {keys}",
            at=each.place,
            key=str(each.id),
            fix=_IN_CONFIG if each.place.path in configs else "",
        )


def _told(scene: PlatformView) -> frozenset[str]:
    """Files whose secrets other rules tell of."""
    talos = [each.place.path for each in scene.platform.diagnostics if each.code == _TALOS_SECRETS]
    return frozenset([*talos, *(each.place.path for each in scene.clear_secrets)])


def kubeconfigs(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Kubeconfigs with the key or token of a user."""
    for path in scene.files.files:
        text = scene.files.text(path) if _may_hold(path) else None
        if (
            not text
            or not any(each in text for each in secret_words.KUBECONFIG_LOGINS)
            or "kind: Config" not in text.replace('"', "")
        ):
            continue
        for document in scene.files.documents(path):
            yield from _of_kubeconfig(rule, document)


def _of_kubeconfig(rule: AuditRule, document: YamlDocument) -> Iterator[Finding]:
    value = document.value
    if not isinstance(value, Mapping) or value.get("kind") != "Config" or "sops" in value:
        return
    for number, each in enumerate(sequence(value, "users")):
        for key in secret_words.KUBECONFIG_LOGINS:
            found = at(each, "user", key)
            if isinstance(found, str) and found and not found.startswith(_NO_SECRET):
                name = str(at(each, "name"))
                yield rule.finding(
                    f"a kubeconfig with the {key} of {name} stands in Git",
                    at=document.place("users", number, "user", key),
                    key=f"{key} of {name}",
                )
                break


def private_keys(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Private keys, of age or of TLS; those in Secrets are told of as Secrets."""
    told = _told(scene)
    for path in scene.files.files:
        text = scene.files.text(path) if path.endswith(_TEXTS) else None
        if not text or "ENC[AES256" in text:
            continue
        found = _key_in(text) if path not in told else None
        if found is not None:
            what, start = found
            yield rule.finding(f"{what} stands in Git", at=Place(path, text.count("\n", 0, start) + 1), key=what)
        elif _may_hold(path) and (path in told or hidden_texts.LONG_BASE64.search(text)):
            yield from _keys_inside(rule, scene, path)


def _key_in(text: str) -> tuple[str, int] | None:
    """What key is in a text, and where."""
    for what, mark, expression in _KEYS:
        # A mark is found at once, and few files have one; an expression goes through all of a text.
        if mark in text and (match := expression.search(text)):
            return what, match.start()
    return None


def _keys_inside(rule: AuditRule, scene: PlatformView, path: str) -> Iterator[Finding]:
    """Keys in the values of a file: beside its Secrets, and in what base64 holds."""
    for document in scene.files.documents(path):
        for steps, text in nested_manifests.texts_outside_secrets(document.value):
            if found := _key_in(text):
                yield rule.finding(f"{found[0]} stands in Git", at=document.place(*steps), key=found[0])
                return


def _may_hold(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith((".yaml", ".yml", ".json")) or "kubeconfig" in name or name == "config"


def world_readable(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Files with keys that others on this machine may read."""
    for path, mode in sorted(scene.modes.items()):
        if mode & 0o077:
            yield rule.finding(
                f"{path} holds keys, and its mode {mode & 0o777:04o} lets others read it",
                at=Place(path),
                fix=f"chmod 600 {path}",
                key="mode",
            )


def unencrypted_sops(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Files that are called encrypted and are not, without those whose secrets are told of already."""
    told = _told(scene)
    for path in scene.files.files:
        name = path.rpartition("/")[2]
        if not re.search(r"\.sops\.(?:ya?ml|json)$", name) or name in _RULES or path in told:
            continue
        values = [each.value for each in scene.files.documents(path) if each.value is not None]
        if values and not any(_is_encrypted(each) for each in values):
            yield rule.finding(f"{name} is called encrypted, and is not", at=Place(path, 1), key="clear")


def missing_rules(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Encrypted files that no rule of sops covers: whoever edits or adds one encrypts it for nobody, or not at all."""
    rules = [path for path in scene.files.files if path.rpartition("/")[2] in _RULES]
    encrypted = [path for path in scene.files.files if _looks_encrypted(scene, path)]
    if encrypted and not rules:
        yield rule.finding(
            f"{len(encrypted)} files are encrypted with sops, and no .sops.yaml says for whom",
            at=Place(encrypted[0], 1),
            key="no rules",
        )
        return
    covering = [(path.rpartition("/")[0], each) for path in rules for each in _expressions(scene, path)]
    left = [path for path in encrypted if not any(_covers(base, each, path) for base, each in covering)]
    if left:
        yield rule.finding(
            f"no rule of sops covers {wording.listed_names(left)}",
            at=Place(left[0], 1),
            evidence=tuple(Evidence(path, Place(path, 1)) for path in left[:_MOST]),
            key="uncovered",
        )


def _covers(base: str, expression: str | None, path: str) -> bool:
    """Whether a rule covers a file: its expression is for paths below the directory that its file is in."""
    above = f"{base}/" if base else ""
    if not path.startswith(above) or expression is None:
        return path.startswith(above)
    try:
        return go_regex.search(expression, path.removeprefix(above))
    except ValueError:
        return True  # what sops may understand is taken for covering


def _expressions(scene: PlatformView, path: str) -> Iterator[str | None]:
    """What the rules of a file cover; None for everything."""
    for document in scene.files.documents(path):
        for rule in sequence(document.value, "creation_rules"):
            written = at(rule, "path_regex")
            yield None if written is None else str(written)


def _looks_encrypted(scene: PlatformView, path: str) -> bool:
    if not path.endswith((".yaml", ".yml", ".json")):
        return False
    text = scene.files.text(path) or ""
    return "ENC[AES256_GCM" in text and any(_is_encrypted(each.value) for each in scene.files.documents(path))


def _is_encrypted(value: Any) -> bool:
    return isinstance(at(value, "sops", "mac"), str)


# Secrets that still have to be put in: what is applied is the placeholder.


_EXAMPLE = re.compile(r"example|sample|template|docs?/|README|\.tmpl|\.dist", re.I)
_VAULT_PLUGIN = "avp.kubernetes.io/path"
"""Argo CD's Vault plugin fills in what stands between angle brackets."""
_DEEPEST = 30


def placeholders(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Placeholders in Secrets, in values of charts and in machine configs."""
    for item in scene.of_kind("/Secret"):
        yield from _of_secret(rule, item.value, item.object.at, item.cluster, item.component.name)
    for component, document in _applied(scene):
        yield from _of_secret(rule, document.value, document.place, component.cluster, component.name)
    for component in scene.platform.components:
        for layer in scene.values(component):
            yield from _of_values(rule, layer.value, layer.at, component.cluster, component.name)
    for cluster in scene.clusters:
        for part in cluster.parts:
            yield from _of_values(rule, part.config.value, part.config.place, cluster.name, "")


def _applied(scene: PlatformView) -> Iterator[tuple[Component, YamlDocument]]:
    """The documents of files that commands of bootstrap apply."""
    for component in scene.platform.components:
        for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
            for source in cluster_facts.sources(origin) if not origin.stated else ():
                path = source.path if isinstance(source, DirectorySource) else ""
                if path and scene.files.is_file(path):
                    yield from ((component, each) for each in scene.files.documents(path))


def _of_secret(
    rule: AuditRule, value: Any, place: Callable[..., Place], cluster: str, component: str
) -> Iterator[Finding]:
    if at(value, "kind") != "Secret" or at(value, "apiVersion") != "v1":
        return
    if at(value, "metadata", "annotations", _VAULT_PLUGIN):
        return
    for field in ("stringData", "data"):
        inner = at(value, field)
        for key, each in inner.items() if isinstance(inner, Mapping) else ():
            if is_placeholder(each) or (field == "data" and is_placeholder(_decoded(each))):
                name = at(value, "metadata", "name")
                yield from _finding(rule, f"{key} of Secret {name}", place(field, key), cluster, component)


def _of_values(
    rule: AuditRule, value: Any, place: Callable[..., Place], cluster: str, component: str, path: tuple[str, ...] = ()
) -> Iterator[Finding]:
    for key, each in value.items() if isinstance(value, Mapping) and len(path) < _DEEPEST else ():
        below = (*path, str(key))
        if isinstance(each, Mapping):
            yield from _of_values(rule, each, place, cluster, component, below)
        elif secret_words.is_certain(str(key)) and is_placeholder(each):
            yield from _finding(rule, ".".join(below), place(*below), cluster, component)


def _decoded(value: Any) -> str:
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""


def _finding(rule: AuditRule, what: str, place: Place, cluster: str, component: str) -> Iterator[Finding]:
    if not _EXAMPLE.search(place.path):
        yield rule.finding(
            f"{what} is a placeholder",
            at=place,
            clusters=(cluster,) if cluster else (),
            subject=component,
        )

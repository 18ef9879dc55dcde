"""Where a Secret that something needs comes from: an object, a template of bootstrap, or something that was not read.

Operators make Secrets of objects with names of their own, such as ``spec.target.name`` of an ExternalSecret.
Scripts fill templates that hold references only (``op://VAULT/ITEM/FIELD``), and apply them before the engine starts.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.component import Component, Origin, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import RemoteSource, Unresolved
from firstlight.repo.work_tree import WorkTree

_TARGETS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "ExternalSecret": (("target", "name"),),
    "ClusterExternalSecret": (("externalSecretSpec", "target", "name"), ("externalSecretName",)),
    "SealedSecret": (("template", "metadata", "name"),),
    "Certificate": (("secretName",),),
    "VaultStaticSecret": (("destination", "name"),),
    "VaultDynamicSecret": (("destination", "name"),),
    "VaultPKISecret": (("destination", "name"),),
    "InfisicalSecret": (("managedSecretReference", "secretName"),),
    "DopplerSecret": (("managedSecret", "name"),),
    "BitwardenSecret": (("secretName",),),
    "PasswordGenerator": (("target", "name"),),
}
"""Kinds that make a Secret under a name that they say; without one it has the name of the object."""
_SAME_NAME = {"Secret", "OnePasswordItem", "PushSecret", "SopsSecret", "AzureKeyVaultSecret", "StringSecret"}
_ANY_NAMESPACE = {"ClusterExternalSecret"}
_POLICIES = {"ClusterPolicy", "Policy", "GeneratingPolicy"}
_STORES = {"SecretStore", "ClusterSecretStore"}
_TEMPLATES = (".yaml", ".yml", ".j2", ".tpl", ".tmpl", ".template", ".gotmpl", ".sh", ".just", ".env", "justfile")
_SECRET = re.compile(r"^[ \t]*kind:[ ]*[\"']?Secret[\"']?[ ]*$", re.MULTILINE)
_NAME = re.compile(r"^[ \t]*name:[ ]*[\"']?(?P<name>[\w.-]+)[\"']?[ ]*(?:#.*)?$", re.MULTILINE)
_NAMESPACE = re.compile(r"^[ \t]*namespace:[ ]*[\"']?(?P<name>[^\s\"'#]+)", re.MULTILINE)
_DATA = re.compile(r"^(?:stringData|data):[ ]*\n(?P<lines>(?:(?:[ \t]+[^\n]*)?\n|[ \t]+[^\n]+\Z)*)", re.MULTILINE)
_REFERENCE = re.compile(
    r"^[ \t]+[\"']?(?P<key>[\w.-]+)[\"']?:[ ]*(?:[|>]-?[ ]*\n[ \t]+)?[\"']?"
    r"(?P<reference>op://[^\n\"'{}#]*[^\s\"'{}#])[\"']?[ ]*(?:#.*)?$",
    re.MULTILINE,
)


@dataclasses.dataclass(frozen=True, slots=True)
class SecretSource:
    """Where a Secret comes from."""

    place: Place
    references: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What each key is filled with, where that is written."""


class SecretSources:
    """The Secrets that a repo brings, as far as it can be told."""

    def __init__(self, tree: WorkTree, components: Sequence[Component], by_hand: Sequence[Origin] = ()) -> None:
        """Look at what is applied; files are looked at when a Secret is asked for.

        Args:
            tree: The repo.
            components: What is deployed.
            by_hand: Commands of tasks that no bootstrap calls: people may run them before it.
        """
        self._by_hand = {
            (made.namespace, made.name): each.place for each in by_hand for made in each.objects if made.is_secret
        }
        self._tree = tree
        self._made: dict[tuple[str, str, str], tuple[Place, frozenset[str]]] = {}
        self._stores: dict[Place, str] = {}
        self._unread: dict[str, Place] = {}
        self._policies: dict[str, Place] = {}
        self._reached: set[str] = set()
        self._clusters = {each.cluster for each in components}
        for component in components:
            for origin in component.origins:
                if origin.form == SourceForm.KUSTOMIZATION and isinstance(origin.source, RemoteSource | Unresolved):
                    self._unread.setdefault(component.cluster, origin.place)
                if origin.side == Side.GITOPS:
                    for each in origin.stated:
                        self._note(component.cluster, each.value, each.place)

    def _note(self, cluster: str, value: Mapping[str, Any], place: Place) -> None:
        kind, spec, metadata = value.get("kind"), _mapping(value.get("spec")), _mapping(value.get("metadata"))
        self._reached.add(place.path)
        if kind in _STORES:
            self._stores[place] = str(metadata.get("name"))
        elif kind in _POLICIES and _generates_secrets(spec):
            self._policies.setdefault(cluster, place)
        elif kind in _SAME_NAME or kind in _TARGETS:
            names = [_at(spec, steps) for steps in _TARGETS.get(str(kind), ())]
            name = next((each for each in names if each), str(metadata.get("name")))
            namespace = "*" if kind in _ANY_NAMESPACE else str(metadata.get("namespace") or "")
            reference = _mapping(spec.get("secretStoreRef"))
            stores = frozenset([str(reference["name"])]) if reference.get("name") else frozenset[str]()
            self._made.setdefault((cluster, namespace, name), (place, stores))

    def made(self, cluster: str, namespace: str, name: str, *, by: Place) -> Place | None:
        """What GitOps makes a Secret of; None where nothing does, or only what needs the Secret itself.

        Args:
            cluster: The cluster.
            namespace: The Secret's namespace.
            name: Its name.
            by: What needs it.
        """
        found = self._made.get((cluster, namespace, name)) or self._made.get((cluster, "*", name))
        if found is None or self._stores.get(by, "") in found[1]:
            return None
        return found[0]

    def brought(self, cluster: str, namespace: str, name: str) -> SecretSource | None:
        """What brings a Secret before or beside GitOps; None where nothing is known to."""
        found = self._template(cluster, namespace, name)
        if found is not None:
            return found
        place = self._by_hand.get((namespace, name)) or self._policies.get(cluster) or self._unread.get(cluster)
        return SecretSource(place) if place is not None else None

    def _template(self, cluster: str, namespace: str, name: str) -> SecretSource | None:
        wanted = name.encode()
        others = self._clusters - {cluster}
        for path in self._tree.files:
            if not path.lower().endswith(_TEMPLATES) or path in self._reached:
                continue
            if others and others.intersection(path.split("/")):
                continue  # the bootstrap of another cluster
            data = self._tree.bytes(path) or b""
            if wanted not in data or b"Secret" not in data:
                continue
            text = data.decode(errors="replace")
            line = 1
            for document in re.split(r"(?m)^(?=---)", text):
                if _SECRET.search(document) and _is_called(document, namespace, name):
                    return SecretSource(Place(path, line + document.startswith("---")), _references(document))
                line += document.count("\n")
        return None


def _is_called(document: str, namespace: str, name: str) -> bool:
    names = {each["name"] for each in _NAME.finditer(document)}
    namespaces = {each["name"] for each in _NAMESPACE.finditer(document)}
    # A kustomization beside it may set the namespace; one that a template fills can be any.
    fits = not namespaces or namespace in namespaces or any("$" in each or "{" in each for each in namespaces)
    return name in names and fits


def _references(document: str) -> dict[str, str]:
    """The references of a template; none unless every key has one, since half of a Secret helps nobody."""
    found = {each["key"]: each["reference"] for each in _REFERENCE.finditer(document)}
    keys: set[str] = set()
    for block in _DATA.finditer(document):
        lines = [each for each in block["lines"].splitlines() if each.strip() and not each.lstrip().startswith("#")]
        indent = min((len(each) - len(each.lstrip()) for each in lines), default=0)
        keys |= {
            each.strip().partition(":")[0].strip("\"'") for each in lines if len(each) - len(each.lstrip()) == indent
        }
    return {name: found[name] for name in keys} if keys and keys <= found.keys() else {}


def _generates_secrets(spec: Mapping[str, Any]) -> bool:
    """Whether a policy of Kyverno makes Secrets, which may have any name and be in any namespace."""
    return any("Secret" in str(_mapping(each).get("generate", "")) for each in _list(spec.get("rules"))) or (
        "Secret" in str(spec.get("generate", ""))
    )


def _at(value: Mapping[str, Any], steps: Sequence[str]) -> str:
    found: Any = value
    for step in steps:
        found = _mapping(found).get(step)
    return found if isinstance(found, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> Iterator[Any]:
    yield from value if isinstance(value, list) else ()

"""Config management plugins of Argo CD that only run kustomize, so that reading alone tells what they make.

A plugin is defined in the values of Argo CD's chart (``configs.cmp.plugins``), in a ConfigManagementPlugin of its own
or in a ConfigMap for the sidecar, and in argocd-cm of old installations.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.repo.argocd import definitions
from firstlight.repo.argocd.definitions import items, mapping, text
from firstlight.repo.talos import embedded_yaml
from firstlight.repo.work_tree import YAML, WorkTree

KIND = "ConfigManagementPlugin"
_OLD_KEY = "configManagementPlugins"
_BUILDS = re.compile(r"\bkustomize\s+build\b|\bkubectl\s+kustomize\b")
_CHANGES = re.compile(r"\|\s*(?!argocd-vault-plugin\b|avp\b|op\b|vals\b|envsubst\b|sops\b)\w")
"""A pipe into something that may change more than values."""
_MAX_DEPTH = 8


def kustomizing(tree: WorkTree) -> frozenset[str]:
    """Return the names of the plugins that make what kustomize makes of a directory."""
    found: dict[str, str] = {}
    for path in tree.files:
        if not path.endswith(YAML):
            continue
        if any(definitions.mentions(tree, path, word) for word in (KIND, _OLD_KEY, "generate:")):
            for document in tree.documents(path):
                found.update(_of_document(document))
    return frozenset(
        name for name, command in found.items() if _BUILDS.search(command) and not _CHANGES.search(command)
    )


def _of_document(document: YamlDocument) -> Iterator[tuple[str, str]]:
    value = mapping(document.value)
    if value.get("kind") == KIND:
        yield from _of_manifest(value)
    elif value.get("kind") == "ConfigMap":
        for key, written in mapping(value.get("data")).items():
            if isinstance(written, str) and (KIND in written or key == _OLD_KEY):
                for inner in embedded_yaml.read(document, ("data", str(key)), written).documents:
                    yield from _of_manifest(mapping(inner.value))
                    yield from _of_list(inner.value)
    else:
        yield from _of_values(value, 0)


def _of_manifest(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if value.get("kind") == KIND:
        name, spec = text(mapping(value.get("metadata")).get("name")), mapping(value.get("spec"))
        yield from _named(name, text(spec.get("version")), spec)


def _of_list(value: Any) -> Iterator[tuple[str, str]]:
    """The plugins of argocd-cm, as installations before 2.8 have them."""
    for each in map(mapping, items(value)):
        yield from _named(text(each.get("name")), "", each)


def _of_values(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """The plugins in values of Argo CD's chart, which may stand below the name of a subchart."""
    for key, inner in mapping(value).items():
        if key == "cmp":
            for name, spec in mapping(mapping(inner).get("plugins")).items():
                yield from _named(str(name), text(mapping(spec).get("version")), mapping(spec))
        elif depth < _MAX_DEPTH and isinstance(inner, Mapping):
            yield from _of_values(inner, depth + 1)


def _named(name: str, version: str, spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    generate = mapping(spec.get("generate"))
    command = " ".join(text(each) for each in (*items(generate.get("command")), *items(generate.get("args"))))
    if name:
        yield name, command
        if version:
            yield f"{name}-{version}", command

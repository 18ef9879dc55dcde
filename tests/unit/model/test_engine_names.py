"""The names of engines are written once, and nowhere else."""

import ast
import functools
import importlib
import pathlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from firstlight.model import argocd_names, flux_names, helm_names, talos_names

_SOURCES = pathlib.Path(flux_names.__file__).parents[1]
_MODULES = (flux_names, argocd_names, helm_names, talos_names)
_WORDS = {"flux", "argocd", "helm", "talos", "talosctl", "machined", "omni", "Helm"}
"""Names that mean other things as well: programs, fields, directories."""
_DOMAINS = re.compile(
    r"(fluxcd|argoproj)\.io|fluxcd\.controlplane\.io|helm\.sh|(?<!factory\.)talos\.dev|omni\.sidero\.dev"
)
_FILE = "the file or the kind of kustomize, which is called the same"
_ELSEWHERE = {
    ("clients/kustomize/build_scan.py", "Kustomization"): _FILE,
    ("render/helm_template.py", "Kustomization"): _FILE,
    ("repo/argocd/directory_contents.py", "Kustomization"): _FILE,
    ("repo/changes/file_documents.py", "Kustomization"): _FILE,
    ("repo/gitops_tree.py", "Kustomization"): _FILE,
    ("repo/helmfile/release_origins.py", "Kustomization"): _FILE,
    ("repo/kustomize/kustomization_file.py", "Kustomization"): _FILE,
    ("repo/move_edits/new_files.py", "Kustomization"): _FILE,
    ("repo/flux/flux_reader.py", "flux-system"): "a directory that says nothing of the cluster in it",
    ("lab/lab_settings.py", "flux-operator"): "an actor of the lab",
    ("lab/lab_settings.py", "notification-controller"): "an actor of the lab",
    ("lab/lab_settings.py", "source-watcher"): "an actor of the lab",
}


def test_no_name_of_an_engine_is_written_as_a_literal() -> None:
    names = {value for module in _MODULES for value in _values(module).values()} - _WORDS

    written = [
        f"{path}:{line}: {text!r}"
        for path, line, text in _literals()
        if text in names and (path, text) not in _ELSEWHERE
    ]

    assert written == []


def test_no_domain_of_an_engine_is_part_of_a_literal() -> None:
    """Sentences for people and regular expressions may have one."""
    written = [
        f"{path}:{line}: {text!r}" for path, line, text in _literals() if _DOMAINS.search(text) and " " not in text
    ]

    assert written == []


def test_exceptions_are_still_needed() -> None:
    written = {(path, text) for path, _, text in _literals()}

    assert set(_ELSEWHERE) <= written


@pytest.mark.parametrize("module", _MODULES, ids=lambda module: module.__name__)
def test_each_name_is_given_once(module: object) -> None:
    named = Counter(value for each in _MODULES for value in _values(each).values() if value not in _WORDS)

    assert [value for value in _values(module).values() if named[value] > 1] == []


def test_every_name_is_used() -> None:
    used = set(re.findall(r"\b\w+_names\.[A-Z_]+|(?<=\{)[A-Z_]+(?=\})", _all_text()))

    unused = [
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in _MODULES
        for name in _values(module)
        if not used & {f"{module.__name__.rpartition('.')[2]}.{name}", name}
    ]

    assert unused == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flux_names.KUSTOMIZATION_GROUP_KIND", "kustomize.toolkit.fluxcd.io/Kustomization"),
        ("flux_names.HELM_API", "helm.toolkit.fluxcd.io/v2"),
        ("flux_names.PRUNE_ANNOTATION", "kustomize.toolkit.fluxcd.io/prune"),
        ("flux_names.OPERATOR_RECONCILE_ANNOTATION", "fluxcd.controlplane.io/reconcile"),
        ("flux_names.RESOURCE_SET_LABEL_PREFIX", "resourceset.fluxcd.controlplane.io"),
        ("argocd_names.API", "argoproj.io/v1alpha1"),
        ("argocd_names.TRACKING_ID_ANNOTATION", "argocd.argoproj.io/tracking-id"),
        ("argocd_names.RESOURCES_FINALIZER", "resources-finalizer.argocd.argoproj.io"),
        ("argocd_names.HEALTH_CUSTOMIZATION", "resource.customizations.health.argoproj.io_Application"),
        ("helm_names.RELEASE_SECRET_SELECTOR", "owner=helm"),
        ("talos_names.MACHINE_CONFIGS", "MachineConfigs.config.talos.dev"),
        ("talos_names.CLUSTER_UUIDS", "ClusterUUIDs.omni.sidero.dev"),
    ],
)
def test_names_that_are_made_of_others(name: str, value: str) -> None:
    module, _, constant = name.partition(".")

    assert getattr(importlib.import_module(f"firstlight.model.{module}"), constant) == value


def _values(module: object) -> dict[str, str]:
    return {name: value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)}


def _all_text() -> str:
    return "\n".join(path.read_text() for path in _SOURCES.rglob("*.py"))


@functools.cache
def _literals() -> tuple[tuple[str, int, str], ...]:
    """Texts in code that are not docstrings: file, line, text."""
    own = {str(module.__file__) for module in _MODULES}
    found = []
    for path in sorted(_SOURCES.rglob("*.py")):
        if str(path) not in own:
            name = path.relative_to(_SOURCES).as_posix()
            found += [(name, line, text) for line, text in _texts(list(ast.walk(ast.parse(path.read_bytes()))))]
    return tuple(found)


def _texts(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    left_out = {id(each) for node in nodes for each in _left_out(node)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.lineno, node.value


def _left_out(node: ast.AST) -> Sequence[ast.AST]:
    """Docstrings, and patterns, in which dots are escaped."""
    match node:
        case ast.Expr(value=ast.Constant() as text):
            return [text]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=args):
            return args
        case _:
            return ()

"""What sort of thing a file or a document is: by what it says first, by its name where that says nothing."""

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from firstlight.model.change import Matter
from firstlight.model.diagnostic import Severity
from firstlight.repo import team_files, work_tree
from firstlight.repo.changes import file_documents, line_changes
from firstlight.repo.changes.kustomization_uses import KustomizationUse
from firstlight.repo.changes.platform_files import PlatformFiles
from firstlight.repo.declaration import declaration_form
from firstlight.repo.helmfile import helmfile_reader
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.scripts import justfile, makefile, mise_and_shell, taskfile
from firstlight.repo.talos import config_files, document_kinds, loose_files
from firstlight.repo.work_tree import WorkTree

_TOOL_DIRECTORIES = {
    ".github", ".gitlab", ".gitea", ".forgejo", ".circleci", ".vscode", ".idea", ".devcontainer", ".renovate", ".husky",
    ".zed", ".cursor", ".claude", ".woodpecker", ".direnv", ".trunk",
}  # fmt: skip
_TOOLS = re.compile(
    r"\.?renovate(rc)?(\..*)?|\.pre-commit-config\.ya?ml|\.pre-commit-hooks\.ya?ml|lefthook\..*|\.editorconfig"
    r"|\.git(ignore|attributes|modules|-blame-ignore-revs|lab-ci\.yml)|\.yaml(lint|fmt)(\..*)?|\.prettier.*"
    r"|\.markdownlint.*|\.tool-versions|\.envrc|\.(docker|prettier|eslint|npm|trivy|kubeconform|helmdocs)ignore"
    r"|\.eslintrc.*|\.shellcheckrc|\.hadolint\.ya?ml|\.tflint\.hcl|\.checkov\.ya?ml|\.releaserc.*|\.cspell.*|cspell\..*"
    r"|\.python-version|\.nvmrc|\.node-version|requirements.*\.(txt|in)|package(-lock)?\.json|yarn\.lock"
    r"|pyproject\.toml|uv\.lock|poetry\.lock|go\.(mod|sum)|flake\.(nix|lock)|shell\.nix|devbox\.(json|lock)|Brewfile"
    r"|\.krewfile|CODEOWNERS|OWNERS(_ALIASES)?|Dockerfile.*|Containerfile.*|Jenkinsfile|Tiltfile|skaffold\.ya?ml"
    r"|tsconfig.*\.json|ruff\.toml|\.ruff\.toml|mypy\.ini|tox\.ini|aqua\.ya?ml|\.luarc\.json|\.vimrc|\.release-please.*"
    r"|\.dependabot.*|dependabot\.ya?ml|\.codespellrc|\.gitleaks.*|\.mergify\.ya?ml|.*\.code-workspace|\.ignore",
    re.IGNORECASE,
)
_ASIDE = {
    "docs": Matter.DOCUMENTATION, "doc": Matter.DOCUMENTATION, "documentation": Matter.DOCUMENTATION,
    "examples": Matter.DOCUMENTATION, "tests": Matter.TOOLING, "test": Matter.TOOLING, "e2e": Matter.TOOLING,
}  # fmt: skip
"""Directories at the top whose objects nobody applies, unless something of the repo does."""
_DOCUMENTATION = re.compile(
    r".*\.(md|mdx|rst|adoc|asciidoc)|LICEN[CS]E.*|NOTICE.*|README.*|CHANGELOG.*|AUTHORS.*|CONTRIBUTING.*|mkdocs\.ya?ml"
    r"|book\.toml|CITATION\.cff|SECURITY\.txt|.*\.(png|jpe?g|gif|svg|webp|drawio|excalidraw|puml|mmd|pdf)",
    re.IGNORECASE,
)
_FOR_PEOPLE = {"docs", "doc", "documentation", "runbooks"}
"""Directories in which also a plain text is documentation."""
_LOCAL_GROUPS = ("kind.x-k8s.io/", "k3d.io/", "ctlptl.dev/", "skaffold/", "backstage.io/", "chainsaw.kyverno.io/")
"""Of objects that no cluster of the repo ever sees: those of clusters on a developer's computer, and of their tests."""
_COMMAND = re.compile(
    r"\b(?:kubectl|talosctl|talhelper|omnictl|helmfile|argocd|topf|clusterctl|kubeadm|k0sctl"
    r"|cilium +(?:install|upgrade)|helm +(?:upgrade|install|uninstall|rollback)"
    r"|flux +(?:bootstrap|install|create|delete|resume|suspend|reconcile)|sops +exec)\b"
)
"""What does something to a cluster, or asks one."""
_TERRAFORM = (".tf", ".tfvars", ".tofu", ".hcl")
_MACHINES = re.compile(rb"talos_machine|siderolabs/talos|talos_image_factory|\bmachine_configuration\b")
_MACHINE_NAMES = re.compile(
    r"talconfig\.ya?ml|talenv(\.sops)?\.ya?ml|talsecret(\.sops)?\.ya?ml|topf\.ya?ml|talosconfig(\.ya?ml)?"
    r"|.*schematic[^/]*\.ya?ml|.*\.talosconfig|machineconfig[^/]*",
    re.IGNORECASE,
)
_VALUES = re.compile(
    r"(?:^|/)(?:[^/]*[-_.])?values(?:[-_.][^/]*)?\.ya?ml(?:\.gotmpl)?$|(?:^|/)(?:helm-)?values/[^/]+\.ya?ml(?:\.gotmpl)?$"
)
_CHART = "Chart.yaml"
_MINIJINJA = ".minijinja.toml"
_MACHINE_KEY = re.compile(r"^(?:machine|cluster):\s*(?:#.*)?$|^apiVersion:\s*v1alpha1\b", re.MULTILINE)
_MACHINE_WORD = re.compile(r"[\"']?\b(?:machine|cluster|podSubnets)[\"']?\s*:|[\"']?/(?:machine|cluster)/|v1alpha1\b")
_API_VERSION = re.compile(r"^apiVersion:\s*\S", re.MULTILINE)
_KIND = re.compile(r"^kind:\s*\S", re.MULTILINE)


def of_file(tree: WorkTree, path: str, known: PlatformFiles, *, use: KustomizationUse | None = None) -> Matter | None:
    """What a file is, whatever its documents say; None where they have to tell."""
    name = posixpath.basename(path)
    top = path.partition("/")[0]
    if path == declaration_form.FILE:
        return Matter.PLATFORM
    if top == team_files.DIRECTORY:
        return Matter.POLICY
    is_script = path in known.scripts or _is_script(path)
    is_machine = bool(path in known.machines or path in known.machine_secrets or _MACHINE_NAMES.fullmatch(name))
    if is_machine and _VALUES.search(path) and not loose_files.is_home(path):
        is_machine = _has_machines(tree, path)  # and not Cilium's values, say, which have a cluster in them, too
    if path in known.declared or (is_machine and not is_script):
        return Matter.MACHINE
    is_tool = bool(_TOOLS.fullmatch(name)) and path not in known.scripts
    if (top in _TOOL_DIRECTORIES or is_tool) and use is None and not _is_applied(tree, path, known):
        return _by_commands(tree, path, is_ci=True)
    if name in kustomization_file.NAMES:
        return Matter.KUSTOMIZE
    if path in known.helmfiles or helmfile_reader.is_helmfile(tree, path):
        return Matter.RELEASE
    if is_script:
        return Matter.SCRIPT if path in known.scripts else _by_commands(tree, path, is_ci=False)
    if path in known.values:
        return Matter.VALUES
    if name == _MINIJINJA:  # what templates are given, those of machine configs above all
        return Matter.MACHINE if any(each.endswith(config_files.JINJA) for each in known.machines) else Matter.SCRIPT
    if name.startswith(".sops."):  # with which keys sops encrypts from now on: no cluster sees it
        return Matter.TOOLING
    if top in _ASIDE and use is None and not known.is_applied(path):
        return _ASIDE[top]
    return None


def of_document(value: Any, path: str) -> Matter | None:
    """What a document is by itself; None where it does not tell."""
    if document_kinds.is_omni(value) or document_kinds.of(value, is_near=loose_files.is_home(path)):
        return Matter.MACHINE
    if not isinstance(value, Mapping):
        return None
    version, kind = str(value.get("apiVersion") or ""), str(value.get("kind") or "")
    if version.startswith("kustomize.config.k8s.io/"):
        return Matter.KUSTOMIZE
    if version.startswith(_LOCAL_GROUPS):
        return Matter.TOOLING
    if file_documents.is_object(value):
        return Matter.SECRET if kind == "Secret" and document_kinds.is_encrypted(value) else Matter.OBJECT
    if {"clusterName", "nodes"} <= value.keys():
        return Matter.MACHINE
    if isinstance(value.get("releases"), list) and not version:
        return Matter.RELEASE
    if isinstance(value.get("tasks"), Mapping) and "version" in value:
        return Matter.SCRIPT
    return None


def of_broken(text: str) -> Matter:
    """What a document seems to be that cannot be read."""
    if _MACHINE_KEY.search(text):
        return Matter.MACHINE
    return Matter.OBJECT if _API_VERSION.search(text) and _KIND.search(text) else Matter.UNKNOWN


def may_be_machine(text: str) -> bool:
    """Whether a text that is no YAML by its name is worth to be read for machine configuration."""
    return _MACHINE_WORD.search(text) is not None


def by_place(
    tree: WorkTree, path: str, known: PlatformFiles, *, use: KustomizationUse | None = None, is_encrypted: bool = False
) -> Matter:
    """What a file is that does not say so itself: by who takes it in, else by its name."""
    name = posixpath.basename(path)
    if use is not None and use is not KustomizationUse.RESOURCE:
        return Matter.VALUES if use is KustomizationUse.VALUES else Matter.KUSTOMIZE
    chart = chart_of(tree, path, known)
    if chart is not None:
        inner = path[len(chart) + 1 :] if chart != "." else path
        if "/" not in inner and re.match(r"values.*\.(ya?ml|json)$", inner) and "schema" not in inner:
            return Matter.VALUES
        return Matter.CHART
    if path in known.secrets or is_encrypted:
        return Matter.SECRET
    if path.endswith(_TERRAFORM):
        return Matter.MACHINE if _MACHINES.search(tree.bytes(path) or b"") else Matter.UNKNOWN
    if is_documentation(path):
        return Matter.DOCUMENTATION if use is None else Matter.OBJECT
    if loose_files.is_home(path) and (name.endswith((".yaml", ".yml", ".json")) or config_files.is_template(path)):
        return Matter.MACHINE
    if _VALUES.search(path):
        return Matter.VALUES
    if name == ".env" or name.endswith(".env"):
        return Matter.SCRIPT
    return Matter.UNKNOWN


def is_aside(path: str) -> bool:
    """Whether a file stands in a directory of which nobody applies anything, unless somebody says so."""
    return path.partition("/")[0] in _TOOL_DIRECTORIES | _ASIDE.keys()


def is_documentation(path: str) -> bool:
    """Whether a file is there for people to read, as its name and place tell."""
    *directories, name = path.split("/")
    if name.lower().endswith(".txt") and any(each.lower() in _FOR_PEOPLE for each in directories):
        return not _TOOLS.fullmatch(name)
    return _DOCUMENTATION.fullmatch(name) is not None


def chart_of(tree: WorkTree, path: str, known: PlatformFiles) -> str | None:
    """The directory of the chart that a file is part of."""
    parent = posixpath.dirname(path) or "."
    while True:
        if parent in known.charts or tree.is_file(posixpath.normpath(f"{parent}/{_CHART}")):
            return parent
        if parent == ".":
            return None
        parent = posixpath.dirname(parent) or "."


def _is_script(path: str) -> bool:
    return not path.endswith(".env") and (
        taskfile.is_taskfile(path)
        or justfile.is_justfile(path)
        or makefile.is_makefile(path)
        or mise_and_shell.is_config(path)
        or path.endswith((".just", ".mk"))
        or mise_and_shell.may_be_script(path)
        or bool(re.search(r"(?:^|/)\.?taskfiles?/.*\.ya?ml$", path, re.IGNORECASE))
    )


def _by_commands(tree: WorkTree, path: str, *, is_ci: bool) -> Matter:
    """What a file with commands is: a script if they do something to a cluster other than one made for a test.

    CI has kubectl among its tools, so that only what writes counts there.
    """
    text = (tree.text(path) or "") if tree.is_file(path) else ""
    if mise_and_shell.is_config(path):  # which names programs for everybody's computer, too
        text = text.partition("[tasks")[2]
    said = "\n".join(each.text for each in line_changes.lines_said(text))
    writers = line_changes.writers(said)
    if not writers and (is_ci or not _COMMAND.search(said)):
        return Matter.TOOLING
    if not line_changes.is_excused(writers) or not line_changes.makes_cluster(said):
        return Matter.SCRIPT
    # Most likely it only tests; but nobody can tell for which cluster each command is.
    return Matter.UNKNOWN if writers else Matter.TOOLING


def _is_applied(tree: WorkTree, path: str, known: PlatformFiles) -> bool:
    """Whether a file that is called like a tool's is something that a cluster gets."""
    if path.partition("/")[0] in _TOOL_DIRECTORIES and not known.is_applied(path):
        return False
    if not path.endswith(work_tree.YAML) or not tree.is_file(path):
        return False
    if any(each.severity is Severity.ERROR for each in tree.contents(path).diagnostics):
        return of_broken(tree.text(path) or "") is not Matter.UNKNOWN
    return any(of_document(each.value, path) not in (None, Matter.TOOLING) for each in tree.documents(path))


def _has_machines(tree: WorkTree, path: str) -> bool:
    documents = tree.documents(path) if tree.is_file(path) and path.endswith(work_tree.YAML) else ()
    return any(is_surely_machine(each.value) for each in documents)


def is_surely_machine(value: Any) -> bool:
    """Whether a document is machine configuration also under a name that says something else.

    Values of charts have a cluster in them, too, with a name and an id.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("cluster"), Mapping):
        return bool(document_kinds.of(value))
    rest = {key: each for key, each in value["cluster"].items() if key not in ("id", "name")}
    return bool(document_kinds.of({**value, "cluster": rest}))

"""Settings of Argo CD itself, as far as the repo says them: of waves, charts and globs, clusters, and what it executes.

The settings stand in argocd-cm and argocd-cmd-params-cm, in patches of these, or below ``configs`` in the values of
its chart, at any depth. Their keys are long and belong to nothing else, so they are looked for as text.
"""

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight.model import argocd_names
from firstlight.model.place import Place
from firstlight.model.repo_command import RepoCommand
from firstlight.repo.argocd import definitions, git_urls
from firstlight.repo.work_tree import YAML, WorkTree

_CUSTOMIZATIONS = "resource.customizations"
_APPLICATION = re.compile(r"^[ \t]*[\"']?argoproj\.io/Application[\"']?:", re.MULTILINE)
_RESTS = "skip-reconcile"
"""The end of the annotation, which a check in Lua must ask for."""
_BUILD_OPTIONS = "kustomize.buildOptions"
_GLOBBING = re.compile(r"applicationsetcontroller\.enable\.new\.git\.file\.globbing[\"']?:\s*[\"']?true")


_WORDS = (_CUSTOMIZATIONS, "resourceHealthChecks", _BUILD_OPTIONS, "new.git.file.globbing")


@dataclasses.dataclass(frozen=True, slots=True)
class ArgoCDSettings:
    """What was found."""

    has_application_health: bool = False
    """Whether a parent waits for the health of its Applications, wave by wave."""
    is_rest_healthy: bool = False
    """Whether that check knows Applications that rest, which have no health of their own."""
    builds_charts: bool = False
    """Whether kustomize may build ``helmCharts``."""
    has_new_globbing: bool = False
    """Whether the Git generator matches files by doublestar instead of by ``git ls-files``."""


def read_settings(tree: WorkTree) -> ArgoCDSettings:
    """Look for the settings in every YAML file."""
    health = charts = globbing = resting = False
    for path in tree.files:
        if not path.endswith(YAML) or not any(definitions.mentions(tree, path, each) for each in _WORDS):
            continue
        text = tree.text(path) or ""
        if _CUSTOMIZATIONS in text:
            said = _without_comments(text)
            health |= argocd_names.HEALTH_CUSTOMIZATION + ":" in said.replace('"', "").replace("'", "")
            health |= _CUSTOMIZATIONS in said and bool(_APPLICATION.search(said))
            resting |= _RESTS in said
        if "resourceHealthChecks" in text:
            health |= any(_operator_has_health(document.value) for document in tree.documents(path))
            resting |= _RESTS in text
        if _BUILD_OPTIONS in text:
            charts |= _enables_charts(_without_comments(text))
        if "new.git.file.globbing" in text:
            globbing |= bool(_GLOBBING.search(_without_comments(text)))
    return ArgoCDSettings(
        has_application_health=health, is_rest_healthy=resting, builds_charts=charts, has_new_globbing=globbing
    )  # fmt: skip


def _enables_charts(text: str) -> bool:
    """Whether the option stands on the line of the key, or on one of the next as the text of a block."""
    lines = text.splitlines()
    near = [" ".join(lines[n : n + 3]) for n, line in enumerate(lines) if _BUILD_OPTIONS in line]
    return any("--enable-helm" in each for each in near)


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def _operator_has_health(value: object) -> bool:
    """Whether the ArgoCD object of its operator sets the check."""
    spec = definitions.mapping(definitions.mapping(value).get("spec"))
    checks = [definitions.mapping(each) for each in definitions.items(spec.get("resourceHealthChecks"))]
    return any(
        each.get("group") == argocd_names.GROUP and each.get("kind") == argocd_names.APPLICATION for each in checks
    )


# What the repo tells Argo CD by Secrets: clusters that are destinations, and repositories with credentials.
#
# Names and addresses are read, nothing else of these Secrets; encrypted ones tell nothing.


IN_CLUSTER = "in-cluster"
IN_CLUSTER_SERVER = "https://kubernetes.default.svc"


@dataclasses.dataclass(frozen=True, slots=True)
class RegisteredCluster:
    """A cluster that Argo CD may deploy to."""

    name: str
    server: str
    place: Place
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    annotations: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    project: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class RegisteredRepository:
    """An address, or the beginning of some, with credentials."""

    url: str
    secret: str
    """``ns/name``."""
    is_prefix: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Registered:
    """All of them."""

    clusters: tuple[RegisteredCluster, ...] = ()
    repositories: tuple[RegisteredRepository, ...] = ()

    def credentials(self, url: str) -> str:
        """The Secret for an address: its own one, else that of the longest beginning that fits."""
        wanted = git_urls.normalised(url)
        for each in self.repositories:
            if not each.is_prefix and git_urls.normalised(each.url) == wanted:
                return each.secret
        fitting = [
            each for each in self.repositories if each.is_prefix and wanted.startswith(git_urls.normalised(each.url))
        ]
        return max(fitting, key=lambda each: len(each.url)).secret if fitting else ""


def read_registered(tree: WorkTree, *, without: frozenset[str] = frozenset()) -> Registered:
    """Find the Secrets of a tree."""
    clusters: list[RegisteredCluster] = []
    repositories: list[RegisteredRepository] = []
    for path in tree.files:
        if (
            not path.endswith(YAML)
            or definitions.is_below(path, without)
            or not definitions.mentions(tree, path, argocd_names.SECRET_TYPE_LABEL)
        ):
            continue
        for document in tree.documents(path):
            for each in definitions.of_document(document):
                kind = definitions.text(
                    definitions.mapping(each.metadata.get("labels")).get(argocd_names.SECRET_TYPE_LABEL)
                )
                if each.kind != "Secret":
                    continue
                if kind == "cluster" and (found := _cluster(each)):
                    clusters.append(found)
                elif kind in ("repository", "repo-creds") and (url := _plain(each.value, "url")):
                    secret = f"{each.namespace or argocd_names.NAMESPACE}/{each.name}"
                    repositories.append(RegisteredRepository(url, secret, kind == "repo-creds"))
    return Registered(tuple(clusters), tuple(repositories))


def _cluster(secret: definitions.Definition) -> RegisteredCluster | None:
    server, name = _plain(secret.value, "server"), _plain(secret.value, "name")
    if not server:
        return None
    return RegisteredCluster(
        name or secret.name,
        server,
        secret.place,
        _texts(secret.metadata.get("labels")),
        _texts(secret.metadata.get("annotations")),
        _plain(secret.value, "project"),
    )


def _plain(secret: Mapping[str, Any], key: str) -> str:
    """A value of a Secret that is written openly; base64 and what sops made of it tell nothing."""
    value = definitions.text(definitions.mapping(secret.get("stringData")).get(key))
    return "" if value.startswith("ENC[") else value


def _texts(value: Any) -> dict[str, str]:
    return {str(key): definitions.text(each) for key, each in definitions.mapping(value).items()}


# What a repo would have Argo CD execute on the computer where it runs: options and programs of argocd-cm, credentials.
#
# They are looked for as text, like the other settings: in argocd-cm, its patches, and the values of the chart. Config
# management plugins are not among them, since a lab has no sidecars in which they would run.


_EXECUTING_WORDS = ("kustomize.buildOptions", "kustomize.path.", "execProviderConfig")
_KEY = re.compile(r"""kustomize\.(?P<what>buildOptions|path)(?P<version>[\w.-]*)["']?\s*:(?P<rest>.*)""")
_COMMAND = re.compile(r"""["']?execProviderConfig["']?\s*:""")
_AROUND = " \t,\"'}>|"


def executed_commands(tree: WorkTree) -> tuple[RepoCommand, ...]:
    """Everything that needs the user's word before a rehearsal lets Argo CD execute it, in the order of files."""
    found: dict[tuple[str, ...], RepoCommand] = {}
    for path in tree.files:
        if path.endswith((*YAML, ".json")) and any(definitions.mentions(tree, path, each) for each in _EXECUTING_WORDS):
            for each in _of(path, (tree.text(path) or "").splitlines()):
                found.setdefault(each.words, each)
    return tuple(found.values())


def _of(path: str, lines: list[str]) -> Iterator[RepoCommand]:
    for number, line in enumerate(lines):
        if line.lstrip().startswith("#"):
            continue
        if key := _KEY.search(line):
            name = f"kustomize.{key['what']}{key['version']}"
            said = _value(key["rest"], lines, number)
            words = refused_build_options(said) if key["what"] == "buildOptions" else (said,)
            if any(words):
                yield _command(path, number, (name, *words))
        if _COMMAND.search(line):
            yield _command(path, number, ("execProviderConfig",))


def _value(rest: str, lines: list[str], number: int) -> str:
    """The value of a key: on its line, or on the next ones that are indented further."""
    indent = len(lines[number]) - len(lines[number].lstrip())
    parts = [rest.strip(_AROUND + "-+0123456789") if rest.strip()[:1] in (">", "|") else rest]
    for line in lines[number + 1 :]:
        if not line.strip() or len(line) - len(line.lstrip()) <= indent:
            break
        parts.append(line)
    return " ".join(word for part in parts for each in part.split() if (word := each.strip(_AROUND)))


def _command(path: str, number: int, words: tuple[str, ...]) -> RepoCommand:
    return RepoCommand(words=("argocd", *words), component="Argo CD", what="setting", place=Place(path, number + 1))


# Options of ``kustomize build`` that a rehearsal allows without a question: none of them executes anything of a repo.


@functools.cache
def allowed_build_options() -> dict[str, tuple[str, ...]]:
    """Each option with its values: none for a switch, ``*`` for any."""
    data = msgspec.json.decode(Path(__file__).with_name("kustomize_options.json").read_bytes())
    return {name: tuple(values) for name, values in data["kustomize"]["options"]["build"].items()}


def refused_build_options(options: str) -> tuple[str, ...]:
    """The options of a line, as ``kustomize.buildOptions`` has it, that are not allowed; each once."""
    found: dict[str, None] = {}
    words = options.split()
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            continue
        name, separator, value = word.partition("=")
        values = allowed_build_options().get(name)
        if values is None:
            found[name] = None
        elif values:
            value = value if separator else words.pop(0) if words else ""
            if "*" not in values and value not in values:
                found[f"{name}={value}"] = None
    return tuple(found)

"""What the repo tells Argo CD by Secrets: clusters that are destinations, and repositories with credentials.

Names and addresses are read, nothing else of these Secrets; encrypted ones tell nothing.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model.place import Place
from firstlight.repo.argocd import definition, urls
from firstlight.repo.work_tree import YAML, WorkTree

LABEL = "argocd.argoproj.io/secret-type"
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
class Repository:
    """An address, or the beginning of some, with credentials."""

    url: str
    secret: str
    """``ns/name``."""
    is_prefix: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Registered:
    """All of them."""

    clusters: tuple[RegisteredCluster, ...] = ()
    repositories: tuple[Repository, ...] = ()

    def credentials(self, url: str) -> str:
        """The Secret for an address: its own one, else that of the longest beginning that fits."""
        wanted = urls.normalised(url)
        for each in self.repositories:
            if not each.is_prefix and urls.normalised(each.url) == wanted:
                return each.secret
        fitting = [
            each for each in self.repositories if each.is_prefix and wanted.startswith(urls.normalised(each.url))
        ]
        return max(fitting, key=lambda each: len(each.url)).secret if fitting else ""


def read(tree: WorkTree, *, without: frozenset[str] = frozenset()) -> Registered:
    """Find the Secrets of a tree."""
    clusters: list[RegisteredCluster] = []
    repositories: list[Repository] = []
    for path in tree.files:
        if not path.endswith(YAML) or definition.is_below(path, without) or not definition.mentions(tree, path, LABEL):
            continue
        for document in tree.documents(path):
            for each in definition.of_document(document):
                kind = definition.text(definition.mapping(each.metadata.get("labels")).get(LABEL))
                if each.kind != "Secret":
                    continue
                if kind == "cluster" and (found := _cluster(each)):
                    clusters.append(found)
                elif kind in ("repository", "repo-creds") and (url := _plain(each.value, "url")):
                    secret = f"{each.namespace or 'argocd'}/{each.name}"
                    repositories.append(Repository(url, secret, kind == "repo-creds"))
    return Registered(tuple(clusters), tuple(repositories))


def _cluster(secret: definition.Definition) -> RegisteredCluster | None:
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
    value = definition.text(definition.mapping(secret.get("stringData")).get(key))
    return "" if value.startswith("ENC[") else value


def _texts(value: Any) -> dict[str, str]:
    return {str(key): definition.text(each) for key, each in definition.mapping(value).items()}

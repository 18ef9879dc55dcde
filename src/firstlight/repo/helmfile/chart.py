"""Charts as helmfile finds them: by repositories, in registries, in Git, behind URLs, and in directories."""

import dataclasses
import posixpath
from collections.abc import Sequence

from firstlight.model.source import Chart, Directory, Source, Unresolved
from firstlight.repo import work_tree
from firstlight.repo.go_template import Unknown
from firstlight.repo.helmfile.state import Item
from firstlight.repo.work_tree import WorkTree


def resolve(tree: WorkTree, chart: object, directory: str, repositories: Sequence[Item]) -> Source:
    """What a release's ``chart`` names."""
    if isinstance(chart, Unknown):
        return Unresolved(text=chart.text, reason=chart.reason)
    written = str(chart or "")
    if not written:
        return Unresolved(text="", reason="the release names no chart")
    if written.startswith("git::"):
        return _git(written)
    if written.startswith(("oci://", "https://", "http://")):
        head, _, name = written.rpartition("/")
        return Chart(name=name, repository=head)
    joined = work_tree.join(directory, written) if not written.startswith("/") else None
    if joined is not None and (tree.is_dir(joined) or tree.is_file(joined)):
        return _local(tree, joined)
    alias, _, name = written.partition("/")
    for repository in repositories:
        value = repository.value if isinstance(repository.value, dict) else {}
        if name and value.get("name") == alias:
            return _listed(repository, name)
    if written.startswith("."):
        return Unresolved(text=written, reason=f"{joined or written} is not in the repo")
    if not name:
        return Unresolved(text=written, reason=f"there is neither a directory nor a repository for the chart {written}")
    return Unresolved(text=written, reason=f"the repository {alias} is not among the helmfile's repositories")


def _listed(repository: Item, name: str) -> Source:
    url = repository.value.get("url")
    if isinstance(url, Unknown):
        return Unresolved(text=f"{url.text}/{name}", reason=url.reason)
    address = str(url or "").rstrip("/")
    if repository.value.get("oci") is True and "://" not in address:
        address = f"oci://{address}"
    return Chart(name=name, repository=address, origin=repository.place("url"))


def _git(written: str) -> Source:
    address, _, query = written.removeprefix("git::").partition("?")
    url, _, path = address.rpartition("@")
    if "/" not in url.partition("://")[2]:  # the only @ stands between a user and a host
        url, path = address, "."
    options = dict(part.partition("=")[::2] for part in query.split("&"))
    return Chart(name=path, repository=url, version=options.get("ref", ""))


def _local(tree: WorkTree, path: str) -> Source:
    """A chart of the repo; helmfile also takes directories with a kustomization or plain manifests for charts."""
    if tree.is_file(path) or tree.is_file(posixpath.normpath(f"{path}/Chart.yaml")):
        return Chart(name=path)
    kustomizations = ("kustomization.yaml", "kustomization.yml", "Kustomization")
    has_kustomization = any(tree.is_file(posixpath.normpath(f"{path}/{name}")) for name in kustomizations)
    return Directory(path=path, kustomize=has_kustomization)


def with_release(source: Source, **fields: object) -> Source:
    """A chart with what the release adds to it; other sources stay as they are."""
    if not isinstance(source, Chart):
        return source
    version = fields.pop("version", "") or source.version
    return dataclasses.replace(source, version=version, **fields)  # type: ignore[arg-type]

"""Resources of OpenTofu that deploy something, one function for each type; None where only a run knows the name."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model import flux_names
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import Certainty, ObjectId, Origin, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, DirectorySource, Embedded, RemoteSource, Source, Unresolved
from firstlight.repo import well_known_components
from firstlight.repo.go_template import unknown_values
from firstlight.repo.tofu import release_values
from firstlight.repo.tofu.hcl_syntax import HclBlock
from firstlight.repo.tofu.hcl_values import EncodedYaml, FileText, text_of
from firstlight.repo.tofu.tofu_module import TofuModule

DOCUMENTS = re.compile(r"\bdata\.(kubectl_(?:file|path)_documents)\.(\w+)")
"""The data sources that take files apart, so that a resource applies each document."""
_NAMESPACES = re.compile(r"\bkubernetes_namespace(?:_v1)?\.(\w+)")
_FETCHED = re.compile(r"\bdata\.http\.(\w+)")
_SECRETS = ("kubernetes_secret", "kubernetes_secret_v1")

Made = tuple[Origin, Cluster | None]
"""What a resource deploys, and the cluster that it tells of."""
_Names = Mapping[str, Any]


def _origin(block: HclBlock, source: Source, *, name: str, namespace: str = "", **more: Any) -> Origin:
    doubt = more.pop("doubt", "")
    return Origin(
        form=SourceForm.TOFU,
        side=Side.BOOTSTRAP,
        place=Place(block.path, block.line),
        name=name,
        namespace=namespace,
        source=source,
        certainty=Certainty.GUESSED if doubt else Certainty.DECLARED,
        doubt=doubt,
        definition={"resource": ".".join(block.labels[:2]), **more.pop("definition", {})},
        **more,
    )


def _release(module: TofuModule, block: HclBlock, names: _Names) -> Made | None:
    chart, repository = module.text(block, "chart", **names), module.text(block, "repository", **names)
    name = module.text(block, "name", **names) or posixpath.basename(chart)
    if not name:
        return None
    namespace, version = _namespace(module, block, names), module.text(block, "version", **names)
    source: Source
    if chart.startswith(("oci://", "https://", "http://")) and not repository:
        repository, _, chart = chart.rpartition("/")
    local = "" if repository else _local_chart(module, chart)
    if repository or local:
        source = ChartSource(
            name=local or chart,
            repository=repository.rstrip("/"),
            version=version,
            release=name,
            namespace=namespace,
            values=tuple(release_values.values_of(module, block, names)),
        )
    else:
        source = Unresolved(text=chart or name, reason="its chart is known only to a run of OpenTofu")
    doubt = source.reason if isinstance(source, Unresolved) else ""
    if not version and "version" in block.attributes:
        doubt = doubt or "its version is known only to a run of OpenTofu"
    switches = {each: True for each in ("atomic", "create_namespace") if module.value(block, each, **names) is True}
    made = _origin(
        block,
        source,
        name=name,
        namespace=namespace,
        version=version,
        phase=well_known_components.phase_of([name, chart], names=[name, chart]),
        doubt=doubt,
        definition={"wait": module.value(block, "wait", **names) is not False, **switches},
    )
    return made, None


def _local_chart(module: TofuModule, chart: str) -> str:
    path = posixpath.normpath(posixpath.join(module.directory, chart)) if chart else ""
    for each in (path, posixpath.normpath(chart) if chart else ""):
        if each and not each.startswith("..") and module.tree.is_file(posixpath.join(each, "Chart.yaml")):
            return each
    return ""


def _namespace(module: TofuModule, block: HclBlock, names: _Names) -> str:
    known = module.text(block, "namespace", **names)
    node = block.attributes.get("namespace")
    match = _NAMESPACES.search(text_of(node)) if node is not None and not known else None
    if match is None:
        return known
    for other in module.blocks:
        if other.labels[0:1] and other.labels[0].startswith("kubernetes_namespace") and other.labels[1:] == (match[1],):
            return next((module.text(each, "name") for each in other.inner if each.type == "metadata"), "")
    return ""


def _manifest(module: TofuModule, block: HclBlock, names: _Names) -> Made | None:
    several = _several(module, block)
    if several is not None:
        label = block.labels[1].replace("_", "-")
        phase = well_known_components.phase_of([label, str(getattr(several, "path", ""))], names=[label])
        return _origin(block, several, name=label, phase=phase), None
    value = module.value(block, "manifest" if "manifest" in block.attributes else "yaml_body", **names)
    objects = [ObjectId.of(each) for each in _documents(value)]
    objects = [
        each
        for each in objects
        if each.kind and each.name and not unknown_values.has_mark(f"{each.name}{each.namespace}")
    ]
    if not objects:
        return None
    source: Source = Embedded(place=Place(block.path, block.line), steps=())
    if isinstance(value, FileText) and module.tree.text(value.path) == value:
        source = DirectorySource(path=value.path, kustomize=False, recurse=False)
    first = objects[0]
    phase = well_known_components.phase_of([first.name], objects=objects)
    made = _origin(block, source, name=first.name, namespace=first.namespace, phase=phase, objects=tuple(objects))
    return made, None


def _documents(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, EncodedYaml):
        value = value.value
    if isinstance(value, str):
        contents = yaml_reader.read(value.encode(errors="replace"), "")
        yield from (each.value for each in contents.documents if isinstance(each.value, Mapping))
    elif isinstance(value, Mapping):
        yield value


def _several(module: TofuModule, block: HclBlock) -> Source | None:
    """The file, directory or URL whose documents a resource applies one by one."""
    node = block.attributes.get("for_each") or block.attributes.get("count")
    match = DOCUMENTS.search(text_of(node)) if node is not None else None
    if match is None:
        return None
    data = next((each for each in module.of("data", match[1]) if each.labels[1:] == (match[2],)), None)
    if data is None:
        return None
    if match[1] == "kubectl_path_documents":
        pattern = module.text(data, "pattern")
        path = posixpath.dirname(posixpath.normpath(posixpath.join(module.directory, pattern))) if pattern else ""
        if module.tree.is_dir(path):
            return DirectorySource(path=path, kustomize=False, recurse=False)
    content = module.value(data, "content")
    if isinstance(content, FileText):
        return DirectorySource(path=content.path, kustomize=False, recurse=False)
    fetched = (
        re.search(r"\bdata\.http\.(\w+)", text_of(data.attributes["content"])) if "content" in data.attributes else None
    )
    for http in module.of("data", "http") if fetched else ():
        if http.labels[1:] == (fetched[1],) and module.text(http, "url"):  # type: ignore[index]
            return RemoteSource(url=module.text(http, "url"))
    return Unresolved(text=match[0], reason="its documents are known only to a run of OpenTofu")


def _secret(module: TofuModule, block: HclBlock, names: _Names) -> Made | None:
    metadata = next((each for each in block.inner if each.type == "metadata"), None)
    name = module.text(metadata, "name", **names) if metadata is not None else ""
    if metadata is None or not name:
        return None
    namespace = _namespace(module, metadata, names) or "default"
    source = Unresolved(text=f"Secret {name}", reason="its values are known only to a run of OpenTofu")
    made = _origin(
        block,
        source,
        name=name,
        namespace=namespace,
        phase=Phase.CORE,
        objects=(ObjectId("", "Secret", namespace, name),),
    )
    return made, None


def _flux(module: TofuModule, block: HclBlock, names: _Names) -> Made | None:
    namespace = module.text(block, "namespace", **names) or flux_names.FLUX_SYSTEM
    path = module.text(block, "path", **names).strip("/")
    path = posixpath.normpath(path) if path else ""
    provider = next((each for each in module.blocks if each.type == "provider" and each.labels == ("flux",)), None)
    url, branch = _git(module, provider, "url"), _git(module, provider, "branch")
    place = Place(block.path, block.line)
    is_there = bool(path) and not path.startswith("..") and module.tree.is_dir(path)
    unread = Unresolved(text="flux_bootstrap_git", reason="its path is not known")
    made = _origin(
        block,
        DirectorySource(path=path) if is_there else unread,
        name="flux",
        namespace=namespace,
        version=module.text(block, "version", **names),
        phase=Phase.ENGINE,
    )
    if not is_there:
        return made, None
    cluster = Cluster(
        name=posixpath.basename(path),
        place=place,
        engine=Engine.FLUX,
        url=url,
        branch=branch or "main",
        path=path,
        said={"path": place, "engine": place},
    )
    return made, cluster


def _git(module: TofuModule, provider: HclBlock | None, name: str) -> str:
    """A setting of the provider's repository, which is an attribute or a block; empty where it is not known."""
    if provider is None:
        return ""
    given = module.value(provider, "git")
    if isinstance(given, Mapping):
        found = given.get(name)
        return found if isinstance(found, str) and not unknown_values.has_mark(found) else ""
    return next((module.text(each, name) for each in provider.inner if each.type == "git"), "")


READERS: Mapping[str, Callable[[TofuModule, HclBlock, _Names], Made | None]] = {
    "helm_release": _release,
    "kubectl_manifest": _manifest,
    "kubernetes_manifest": _manifest,
    "flux_bootstrap_git": _flux,
    **dict.fromkeys(_SECRETS, _secret),
}

"""An inline Argo CD: its root Application and project beside it, and the credential that must not be.

Talos applies Argo CD, and with the root Application Argo CD brings the rest: no command is needed after the machines
are up. The credential of the repository is a Secret with real data, and stays outside.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.model import argocd_names
from firstlight.model.component import ObjectId, Origin, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object
from firstlight.repo.work_tree import WorkTree

_BRINGS = frozenset({argocd_names.APPLICATION, argocd_names.APPLICATION_SET})
_WITH_KEY = re.compile(r"ssh://|[\w.-]{1,64}@[\w.-]{1,255}:")
_LIMIT = 10_000
"""Values of an Application that are looked at."""


def root_objects(platform: Platform, cluster: str, *, tree: WorkTree) -> tuple[Object, ...]:
    """The root Applications of a cluster, with the projects that they name.

    Roots are Applications that no other brings and that bring others; where none does, it is the only one there is.
    """
    apps = [
        origin
        for component in platform.components_of(cluster)
        for origin in component.origins
        if origin.form is SourceForm.APPLICATION and origin.definition
    ]
    parents = {each.parent for each in apps}
    top = [each for each in apps if not each.parent and _is_plain(each)]
    chosen = [each for each in top if each.id in parents] or (top if len(top) == 1 else [])
    found = [Object(_placed(each)) for each in chosen]
    projects = {_project(each) for each in found} - {"default"}
    return (*_projects(tree, projects), *found)


def diagnostics(objects: Sequence[Object], *, secrets: Iterable[tuple[str, str]], place: Place) -> Iterator[Diagnostic]:
    """What an inline Argo CD lacks to bring the rest.

    Args:
        objects: What is to be embedded.
        secrets: Namespaces and names of the Secrets that bootstrap creates.
        place: What diagnostics are about.
    """
    bringing = [each for each in objects if each.id.group == argocd_names.GROUP and each.id.kind in _BRINGS]
    if not bringing:
        message = "the engine has nothing to bring: there is no Application or ApplicationSet among its objects"
        yield Diagnostic.warning(
            "inline-argocd-root-missing",
            message,
            at=place,
            fix="Give --with-root, or add the root Application to its sources.",
        )
        return
    projects = {
        each.id.name
        for each in objects
        if each.id.group == argocd_names.GROUP and each.id.kind == argocd_names.APP_PROJECT
    }
    for each in bringing:
        if each.id.kind == argocd_names.APPLICATION and (name := _project(each)) not in {*projects, "default"}:
            message = f"{each.id} names the project {name}, which is not inline: Argo CD refuses it until then"
            yield Diagnostic.warning(
                "inline-argocd-project-missing", message, at=place, fix="Add the AppProject to the component's sources."
            )
    namespaces = {each.id.namespace for each in bringing}
    if any(_is_credential(each) for each in objects) or any(namespace in namespaces for namespace, _ in secrets):
        return
    for url in dict.fromkeys(url for each in bringing for url in _urls(each) if _WITH_KEY.match(url)):
        message = f"Argo CD needs a credential for {url}, which must not stand in a machine config"
        namespace = min(namespaces) or argocd_names.NAMESPACE
        hint = (
            f"Declare it in firstlight.yaml below secrets, for the namespace {namespace}: up creates"
            " it as soon as the API answers, and Argo CD goes on by itself. Or read the repository without one."
        )
        yield Diagnostic.warning("inline-argocd-credential-missing", message, at=place, fix=hint)


def is_argocd(objects: Sequence[Object]) -> bool:
    """Whether objects are those of an Argo CD."""
    wanted = ObjectId("apiextensions.k8s.io", "CustomResourceDefinition", "", f"applications.{argocd_names.GROUP}")
    return any(each.id == wanted for each in objects)


def _is_plain(origin: Origin) -> bool:
    """Whether an Application is written as it is, not made by an ApplicationSet or a template."""
    return origin.definition.get("kind") == argocd_names.APPLICATION and not origin.doubt.startswith(
        "something fills in"
    )


def _placed(origin: Origin) -> Mapping[str, Any]:
    metadata = origin.definition.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return {**origin.definition, "metadata": {**metadata, "namespace": metadata.get("namespace") or origin.namespace}}


def _projects(tree: WorkTree, names: set[str]) -> Iterator[Object]:
    for path in tree.below(".", ".yaml", ".yml") if names else ():
        data = tree.bytes(path)
        if data is None or b"AppProject" not in data:
            continue
        for document in tree.documents(path):
            if isinstance(document.value, Mapping):
                one = Object(document.value)
                if (one.id.group, one.id.kind) == (
                    argocd_names.GROUP,
                    argocd_names.APP_PROJECT,
                ) and one.id.name in names:
                    names.discard(one.id.name)
                    yield one


def _project(each: Object) -> str:
    spec = each.value.get("spec")
    return str(spec.get("project") or "default") if isinstance(spec, Mapping) else "default"


def _is_credential(each: Object) -> bool:
    metadata = each.value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    return each.id.kind == "Secret" and isinstance(labels, Mapping) and argocd_names.SECRET_TYPE_LABEL in labels


def _urls(each: Object) -> Iterator[str]:
    waiting: list[Any] = [each.value.get("spec")]
    for _ in range(_LIMIT):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, Mapping):
            if isinstance(url := value.get("repoURL"), str):
                yield url
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value

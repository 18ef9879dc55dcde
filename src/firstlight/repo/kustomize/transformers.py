"""Namespaces, prefixes, suffixes, labels and annotations, put on all objects of a kustomization."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.model.diagnostic import Diagnostic
from firstlight.repo.kustomize import field_specs, kustomize_patches, replacements, selectors
from firstlight.repo.kustomize.field_specs import FieldSpec, FieldSpecs, field_spec
from firstlight.repo.kustomize.kustomization_file import Kustomization
from firstlight.repo.kustomize.object_loader import Loader
from firstlight.repo.kustomize.resources import (
    Gvk,
    KustomizationError,
    KustomizeResource,
    repeated_resource,
)

_KEEPS_NAME = (
    Gvk(kind="CustomResourceDefinition"),
    Gvk("apiregistration.k8s.io", "", "APIService"),
    Gvk(kind="Namespace"),
)
_BINDINGS = {"RoleBinding", "ClusterRoleBinding"}


def in_namespace(
    resources: Sequence[KustomizeResource], namespace: str, specs: Sequence[FieldSpec]
) -> list[KustomizeResource]:
    """Objects moved to a namespace, except those that are in none.

    Raises:
        Problem: Two of them would have one name there.
    """
    moved = [_in_namespace(each, namespace, specs) for each in resources]
    if clash := repeated_resource(moved):
        raise KustomizationError(
            "kustomize-object-twice",
            f"two objects would be called {clash.gvk.kind} {clash.name} in namespace {namespace}",
        )
    return moved


def _in_namespace(resource: KustomizeResource, namespace: str, specs: Sequence[FieldSpec]) -> KustomizeResource:
    resource = resource.remembering()
    value: Any = resource.value
    if not resource.gvk.is_cluster_scoped:
        value = field_specs.change_field(value, ("metadata", "namespace"), lambda _: namespace, create=str)
    if resource.gvk.kind in _BINDINGS:
        value = field_specs.change_field(
            value, ("subjects",), lambda subjects: _subjects(subjects, namespace), create=None
        )
    wanted = [
        each
        for each in specs
        if resource.gvk.is_selected(each.gvk)
        and each.path != ("metadata", "namespace")
        and (each.path != ("metadata", "name") or resource.value.get("apiVersion") == "v1")
        and not (resource.gvk.kind in _BINDINGS and each.path == ("subjects", "namespace"))
    ]
    return resource.changed(field_specs.changed_resources(value, wanted, lambda _: namespace, str))


def _subjects(subjects: Any, namespace: str) -> Any:
    """Of the subjects of a binding only those that are called ``default`` are moved."""
    if not isinstance(subjects, list):
        return subjects
    return [
        {**each, "namespace": namespace} if isinstance(each, dict) and each.get("name") == "default" else each
        for each in subjects
    ]


def with_affixes(
    resources: Sequence[KustomizeResource], *, prefix: str = "", suffix: str = "", specs: Sequence[FieldSpec]
) -> list[KustomizeResource]:
    """Objects with something before or after their names, except kinds whose names mean something."""

    def edit(value: Any) -> Any:
        return f"{prefix}{'' if value is None else value}{suffix}"

    found = []
    for resource in resources:
        original = resource.original_id.gvk
        if any(original.is_selected(each) for each in _KEEPS_NAME):
            found.append(resource)
            continue
        wanted = [each for each in specs if original.is_selected(each.gvk)]
        if any(each.path == ("metadata", "name") for each in wanted):
            resource = resource.remembering(prefix=prefix, suffix=suffix)
        found.append(resource.changed(field_specs.changed_resources(resource.value, wanted, edit, None)))
    return found


def with_labels(
    resources: Sequence[KustomizeResource], pairs: Mapping[str, Any], specs: Sequence[FieldSpec]
) -> list[KustomizeResource]:
    """Objects with labels, or annotations, put into fields."""
    texts = {str(name): _text(value) for name, value in pairs.items()}
    found = []
    for resource in resources:
        wanted = [each for each in specs if resource.gvk.is_selected(each.gvk)]
        value = resource.value
        for name in sorted(texts):
            value = field_specs.changed_resources(value, wanted, field_specs.with_entry(name, texts[name]), dict)
        found.append(resource.changed(value))
    return found


def _text(value: Any) -> str:
    """A label as it would be written in a file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


# Images and replica counts, replaced.


_TAG = "(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?"
_DEEPEST = 100
"""Levels of an object that are searched for containers; the reader refuses deeper documents anyway."""


def with_image(
    resources: Sequence[KustomizeResource], image: Mapping[str, Any], specs: Sequence[FieldSpec]
) -> list[KustomizeResource]:
    """Objects with an image replaced, wherever it is used by containers.

    Raises:
        Problem: The entry has no name.
    """
    if not image.get("name"):
        raise KustomizationError("kustomization-field-wrong", "an entry of images needs a name")

    def edit(value: Any) -> Any:
        return _updated(value, image) if isinstance(value, str) else value

    found = []
    for resource in resources:
        if resource.gvk.kind == "CustomResourceDefinition":
            found.append(resource)
            continue
        value = _in_containers(resource.value, edit, 0)
        wanted = [each for each in specs if resource.gvk.is_selected(each.gvk)]
        found.append(resource.changed(field_specs.changed_resources(value, wanted, edit, None)))
    return found


def _in_containers(value: Any, edit: Any, depth: int) -> Any:
    """What is called containers or initContainers, at any depth."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        items = [_in_containers(each, edit, depth + 1) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not isinstance(value, dict):
        return value
    found = value
    for name, each in value.items():
        new = _in_containers(each, edit, depth + 1)
        if name in ("containers", "initContainers") and isinstance(new, list):
            new = (
                field_specs.change_field(new, ("image",), edit, create=None)
                if all(isinstance(i, dict) for i in new)
                else new
            )
        if new is not each:
            found = {**found, name: new}
    return found


def _updated(text: str, image: Mapping[str, Any]) -> str:
    wanted = str(image["name"])
    if wanted[0].isalnum() and wanted[0] != text[:1]:
        return text  # nearly all images end here
    if not selectors.matches(wanted + _TAG, text):
        return text
    name, tag, digest = split_image(text)
    new_tag, new_digest = str(image.get("newTag") or ""), str(image.get("digest") or "")
    name = str(image.get("newName") or name)
    if new_tag or new_digest:
        tag, digest = new_tag, new_digest
    elif image.get("tagSuffix"):
        tag, digest = tag + str(image["tagSuffix"]), ""
    return name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def split_image(text: str) -> tuple[str, str, str]:
    """The name of an image, its tag and its digest; a port in the name is no tag."""
    start = max(text.find("/"), 0)
    at, colon = text.find("@", start), text.find(":", start)
    if at >= 0 and (at < colon or colon < 0):
        return text[:at], "", text[at + 1 :]
    if colon < 0:
        return text, "", ""
    end = at if at >= 0 else len(text)
    return text[:colon], text[colon + 1 : end], text[at + 1 :] if at >= 0 else ""


def with_replicas(
    resources: Sequence[KustomizeResource], replica: Mapping[str, Any], specs: Sequence[FieldSpec]
) -> list[KustomizeResource]:
    """Objects with a replica count set.

    Raises:
        Problem: No object has that name.
    """
    name, count = str(replica.get("name") or ""), replica.get("count")
    found = []
    is_met = False
    for resource in resources:
        names = [resource.id, *resource.previous_ids]
        wanted = [each for each in specs if any(i.name == name and i.gvk.is_selected(each.gvk) for i in names)]
        is_met = is_met or bool(wanted)
        found.append(resource.changed(field_specs.changed_resources(resource.value, wanted, lambda _: count, int)))
    if not is_met:
        raise KustomizationError("kustomize-replicas-target-missing", f"no workload is called {name!r} for replicas")
    return found


# The transformers of a kustomization, in kustomize's order: patches, names, labels, more patches, counts, images.


Objects = list[KustomizeResource]

_LEFT_OUT = {
    "generators": "they make objects by running programs or plugins",
    "transformers": "they change objects by rules of their own",
    "validators": "they only check",
    "vars": "they put values into texts, and replacements do that better",
    "openapi": "it changes how lists are merged",
    "crds": "they say which fields of custom resources name other objects",
    "buildMetadata": "it only adds labels or annotations about the build",
}
"""What is not followed, each with the reason."""


def transform(
    objects: Objects, file: Kustomization, specs: FieldSpecs, loader: Loader
) -> tuple[Objects, list[Diagnostic]]:
    """Objects as a kustomization transforms them, and what it could not do to them.

    Args:
        objects: What there is so far.
        file: The instructions.
        specs: The fields of each transformer.
        loader: Finds patches and replacements that are in files.
    """
    work = _Transformation(objects, file, specs, loader)
    work.run()
    return work.objects, work.diagnostics


class _Transformation:
    def __init__(self, objects: Objects, file: Kustomization, specs: FieldSpecs, loader: Loader) -> None:
        self.objects = objects
        self.diagnostics: list[Diagnostic] = []
        self._file = file
        self._specs = specs
        self._loader = loader
        self._budget = replacements.ReplacementBudget()

    def run(self) -> None:
        file, specs = self._file, self._specs
        self._each("patchesStrategicMerge", self._patched)
        self._each("patches", self._patched)
        if namespace := file.text("namespace"):
            self._do(lambda found: in_namespace(found, namespace, specs.namespace), "namespace")
        if prefix := file.text("namePrefix"):
            self._do(lambda found: with_affixes(found, prefix=prefix, specs=specs.name_prefix), "namePrefix")
        if suffix := file.text("nameSuffix"):
            self._do(lambda found: with_affixes(found, suffix=suffix, specs=specs.name_suffix), "nameSuffix")
        self._each("labels", self._labelled)
        if common := file.mapping("commonLabels"):
            self._do(lambda found: with_labels(found, common, specs.common_labels), "commonLabels")
        if notes := file.mapping("commonAnnotations"):
            self._do(lambda found: with_labels(found, notes, specs.common_annotations), "commonAnnotations")
        self._each("patchesJson6902", self._patched)
        self._each("replicas", lambda found, entry: with_replicas(found, _mapping(entry, "replicas"), specs.replicas))
        self._each("images", lambda found, entry: with_image(found, _mapping(entry, "images"), specs.images))
        self._each("imageTags", lambda found, entry: with_image(found, _mapping(entry, "images"), specs.images))
        self._each("replacements", self._replaced)
        for field, reason in _LEFT_OUT.items():
            if file.value.get(field):
                be = "is" if field == "openapi" else "are"
                self._note(
                    KustomizationError.unknown("kustomize-not-followed", f"{field} {be} left out: {reason}"), field
                )

    def _do(self, work: Callable[[Objects], Objects], *steps: str | int) -> None:
        try:
            self.objects = work(self.objects)
        except KustomizationError as error:
            self._note(error, *steps)

    def _each(self, field: str, work: Callable[[Objects, Any], Objects]) -> None:
        for number, entry in enumerate(self._file.entries(field)):
            self._do(lambda found, each=entry: work(found, each), field, number)  # type: ignore[misc]

    def _note(self, error: KustomizationError, *steps: str | int) -> None:
        self.diagnostics.append(error.at(self._file.place(*steps)))

    def _patched(self, found: Objects, entry: Any) -> Objects:
        """A patch as it is written: inline, or in a file."""
        if isinstance(entry, str):
            entry = {"patch" if "\n" in entry or ": " in entry else "path": entry}
        if not isinstance(entry, dict):
            raise KustomizationError("kustomization-field-wrong", "a patch must be a mapping with patch or path")
        text, path = entry.get("patch"), entry.get("path")
        if bool(text) == bool(path):
            raise KustomizationError("kustomization-field-wrong", "a patch needs either patch or path")
        options = entry.get("options")
        options = options if isinstance(options, dict) else {}
        patch = kustomize_patches.KustomizePatch(
            self._loader.patch(str(path)) if path else kustomize_patches.parsed(str(text)),
            entry["target"] if isinstance(entry.get("target"), dict) else None,
            allow_name_change=options.get("allowNameChange") is True,
            allow_kind_change=options.get("allowKindChange") is True,
        )
        return kustomize_patches.apply(found, patch)

    def _labelled(self, found: Objects, entry: Any) -> Objects:
        pairs = entry.get("pairs") if isinstance(entry, dict) else None
        if not isinstance(pairs, dict):
            raise KustomizationError("kustomization-field-wrong", "an entry of labels needs pairs")
        own = field_specs.with_configuration(FieldSpecs(labels=()), {"labels": entry.get("fields")}).labels
        wanted: list[FieldSpec] = [*own, *self._specs.labels]
        if entry.get("includeSelectors") is True:
            wanted += self._specs.common_labels
        else:
            wanted.append(field_spec("metadata/labels", create=True))
            wanted += self._specs.template_labels if entry.get("includeTemplates") is True else ()
            wanted += self._specs.claim_labels if entry.get("includeVolumeClaimTemplates") is True else ()
        return with_labels(found, pairs, wanted)

    def _replaced(self, found: Objects, entry: Any) -> Objects:
        written: tuple[Any, ...] = (_mapping(entry, "replacements"),)
        if isinstance(entry.get("path"), str):
            written = self._loader.values(entry["path"])
            written = tuple(written[0]) if written and isinstance(written[0], list) else written
        for each in written:
            found = replacements.apply(found, _mapping(each, "replacements"), self._budget)
        return found


def _mapping(entry: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise KustomizationError("kustomization-field-wrong", f"an entry of {field} must be a mapping")
    return entry

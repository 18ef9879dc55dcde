"""The transformers of a kustomization, in kustomize's order: patches, names, labels, more patches, counts, images."""

from collections.abc import Callable, Mapping
from typing import Any

from firstlight.model.remark import Remark
from firstlight.repo.kustomize import field_specs, images, metadata, patches, replacements
from firstlight.repo.kustomize.field_specs import FieldSpecs
from firstlight.repo.kustomize.fields import FieldSpec, spec
from firstlight.repo.kustomize.kustomization import Kustomization
from firstlight.repo.kustomize.loading import Loader
from firstlight.repo.kustomize.problem import Problem, unknown
from firstlight.repo.kustomize.resource import Resource

Objects = list[Resource]

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


def transform(objects: Objects, file: Kustomization, specs: FieldSpecs, loader: Loader) -> tuple[Objects, list[Remark]]:
    """Objects as a kustomization transforms them, and what it could not do to them.

    Args:
        objects: What there is so far.
        file: The instructions.
        specs: The fields of each transformer.
        loader: Finds patches and replacements that are in files.
    """
    work = _Transformation(objects, file, specs, loader)
    work.run()
    return work.objects, work.remarks


class _Transformation:
    def __init__(self, objects: Objects, file: Kustomization, specs: FieldSpecs, loader: Loader) -> None:
        self.objects = objects
        self.remarks: list[Remark] = []
        self._file = file
        self._specs = specs
        self._loader = loader
        self._budget = replacements.Budget()

    def run(self) -> None:
        file, specs = self._file, self._specs
        self._each("patchesStrategicMerge", self._patched)
        self._each("patches", self._patched)
        if namespace := file.text("namespace"):
            self._do(lambda found: metadata.in_namespace(found, namespace, specs.namespace), "namespace")
        if prefix := file.text("namePrefix"):
            self._do(lambda found: metadata.renamed(found, prefix=prefix, specs=specs.name_prefix), "namePrefix")
        if suffix := file.text("nameSuffix"):
            self._do(lambda found: metadata.renamed(found, suffix=suffix, specs=specs.name_suffix), "nameSuffix")
        self._each("labels", self._labelled)
        if common := file.mapping("commonLabels"):
            self._do(lambda found: metadata.labelled(found, common, specs.common_labels), "commonLabels")
        if notes := file.mapping("commonAnnotations"):
            self._do(lambda found: metadata.labelled(found, notes, specs.common_annotations), "commonAnnotations")
        self._each("patchesJson6902", self._patched)
        self._each("replicas", lambda found, entry: images.scaled(found, _mapping(entry, "replicas"), specs.replicas))
        self._each("images", lambda found, entry: images.replaced(found, _mapping(entry, "images"), specs.images))
        self._each("imageTags", lambda found, entry: images.replaced(found, _mapping(entry, "images"), specs.images))
        self._each("replacements", self._replaced)
        for field, reason in _LEFT_OUT.items():
            if file.value.get(field):
                be = "is" if field == "openapi" else "are"
                self._note(unknown(f"{field} {be} left out: {reason}"), field)

    def _do(self, work: Callable[[Objects], Objects], *steps: str | int) -> None:
        try:
            self.objects = work(self.objects)
        except Problem as problem:
            self._note(problem, *steps)

    def _each(self, field: str, work: Callable[[Objects, Any], Objects]) -> None:
        for number, entry in enumerate(self._file.entries(field)):
            self._do(lambda found, each=entry: work(found, each), field, number)  # type: ignore[misc]

    def _note(self, problem: Problem, *steps: str | int) -> None:
        self.remarks.append(Remark(self._file.place(*steps), problem.grade, problem.message, problem.hint))

    def _patched(self, found: Objects, entry: Any) -> Objects:
        """A patch as it is written: inline, or in a file."""
        if isinstance(entry, str):
            entry = {"patch" if "\n" in entry or ": " in entry else "path": entry}
        if not isinstance(entry, dict):
            raise Problem("a patch must be a mapping with patch or path")
        text, path = entry.get("patch"), entry.get("path")
        if bool(text) == bool(path):
            raise Problem("a patch needs either patch or path")
        options = entry.get("options")
        options = options if isinstance(options, dict) else {}
        patch = patches.Patch(
            self._loader.patch(str(path)) if path else patches.parsed(str(text)),
            entry["target"] if isinstance(entry.get("target"), dict) else None,
            allow_name_change=options.get("allowNameChange") is True,
            allow_kind_change=options.get("allowKindChange") is True,
        )
        return patches.apply(found, patch)

    def _labelled(self, found: Objects, entry: Any) -> Objects:
        pairs = entry.get("pairs") if isinstance(entry, dict) else None
        if not isinstance(pairs, dict):
            raise Problem("an entry of labels needs pairs")
        own = field_specs.with_configuration(FieldSpecs(labels=()), {"labels": entry.get("fields")}).labels
        wanted: list[FieldSpec] = [*own, *self._specs.labels]
        if entry.get("includeSelectors") is True:
            wanted += self._specs.common_labels
        else:
            wanted.append(spec("metadata/labels", create=True))
            wanted += self._specs.template_labels if entry.get("includeTemplates") is True else ()
        return metadata.labelled(found, pairs, wanted)

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
        raise Problem(f"an entry of {field} must be a mapping")
    return entry

"""firstlight.yaml in, the declaration out; or everything that is wrong with it, at once."""

import dataclasses
import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from firstlight.document.reading import Document
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo.declaration import form
from firstlight.repo.work_tree import WorkTree

_TYPES = {
    "object": "a mapping (key: value)",
    "array": "a list (- item)",
    "string": "a text",
    "integer": "a number",
    "boolean": "true or false",
}
_MEANT = {
    "talosVersion": "talos", "kubernetesVersion": "kubernetes", "clusterName": "metadata", "nodes": "machines",
    "hostname": "name", "ipAddress": "address", "installDisk": "disk", "installDiskSelector": "diskSelector",
    "networkInterfaces": "interfaces", "talosImageURL": "image",
}  # fmt: skip
"""What fields are called elsewhere: in talhelper's file, above all."""
_VERSIONS = ("talos", "kubernetes")
_NAME_HINT = "Write lower-case letters, digits, - and dots, such as cert-manager."


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A firstlight.yaml that is what it must be."""

    platform: form.Platform
    document: Document

    def place(self, *steps: str | int) -> Place:
        """Where something is declared."""
        return self.document.place(*steps)


def read(tree: WorkTree) -> tuple[Declaration | None, tuple[Remark, ...]]:
    """The declaration of a repo, if there is one and it is right; and what is wrong with it."""
    if not tree.is_file(form.FILE):
        return None, ()
    documents = tree.documents(form.FILE)
    if not documents and any(each.place.path == form.FILE for each in tree.remarks):
        return None, ()  # what is wrong with it is said already
    if not documents:
        hint = "Let it be written: firstlight init --force"
        return None, (Remark(Place(form.FILE), Grade.ERROR, "there is no platform in it", hint),)
    document, *others = documents
    remarks = [
        Remark(Place(form.FILE, other.line), Grade.ERROR, "a platform is one document", "Remove the --- before it.")
        for other in others
    ]
    try:
        platform = msgspec.convert(document.value, form.Platform, strict=True)
    except msgspec.ValidationError:
        return None, (*remarks, *_problems(document))
    return Declaration(platform, document), tuple(remarks)


def _problems(document: Document) -> Iterator[Remark]:
    """Everything that the schema forbids; only looked for where msgspec has found something."""
    import jsonschema_rs

    schema = form.schema()
    for error in jsonschema_rs.validator_for(schema).iter_errors(document.value):
        yield from _explained(document, error, schema)


def _explained(document: Document, error: Any, schema: Mapping[str, Any]) -> Iterator[Remark]:
    """One error in plain words; a forbidden key and each of several is one."""
    steps: list[str | int] = list(error.instance_path)
    kind: str = error.kind.name
    facts: Mapping[str, Any] = error.kind.as_dict()
    field = _written(steps)
    match kind:
        case "anyOf":
            # A text or a list of machines: what is meant is what has the right type.
            for context in facts["context"]:
                if all(each.kind.name != "type" for each in context):
                    for each in context:
                        yield from _explained(document, each, schema)
                    return
            if steps[-1:] == ["timeout"]:
                hint = "Write seconds, or such as 90s or 5m."
                yield Remark(document.place(*steps), Grade.ERROR, f"{field} is no time", hint)
                return
            hint = "Write the path of a Talos file, or a list of machines."
            yield Remark(document.place(*steps), Grade.ERROR, f"{field} is neither a path nor a list", hint)
        case "additionalProperties":
            known = _known_fields(schema, error.schema_path)
            for name in facts["unexpected"]:
                place = document.place(*steps, name)
                meant = _MEANT.get(name, "")
                hint = f"Did you mean {meant}?" if meant in known else _near(name, known)
                yield Remark(place, Grade.ERROR, f"{_written([*steps, name])} is no field", hint)
        case "required":
            name = facts["property"]
            hint = f"Write {name}: {_REQUIRED.get(name, '…')}"
            yield Remark(document.place(*steps), Grade.ERROR, f"{_written([*steps, name])} is missing", hint)
        case "enum":
            options = [str(each) for each in facts["options"]]
            place = document.place(*steps)
            # YAML makes a truth of True; the status of a condition is a text.
            hint = 'Write it in quotes: "True".' if isinstance(error.instance, bool) else ""
            hint = hint or _near(str(error.instance), options)
            yield Remark(place, Grade.ERROR, f"{field} must be {_either(options)}", hint)
        case "type":
            wanted = " or ".join(_TYPES.get(each, each) for each in facts["types"])
            hint = "Write {}, or leave the key out." if error.instance is None else f"Write {wanted}."
            if "string" in facts["types"] and isinstance(error.instance, int | float):
                # YAML makes a number of 1.13, and of 1.10 the same as of 1.1.
                hint = f'Write it in quotes: "{error.instance}".'
                hint = "Write the whole version, such as v1.13.0." if steps[-1:] and steps[-1] in _VERSIONS else hint
            yield Remark(document.place(*steps), Grade.ERROR, f"{field} must be {wanted}", hint)
        case "propertyNames":
            name = str(facts["error"].instance)
            yield Remark(document.place(*steps, name), Grade.ERROR, f"{_shown(name)} is no name", _NAME_HINT)
        case "pattern" if steps[:1] == ["secrets"] and "data" in steps:
            # What stands there may be the secret itself, so it is not shown.
            hint = "Write op://vault/item/field, sops:FILE#key, vault:PATH#key, env:NAME or file:PATH."
            yield Remark(document.place(*steps), Grade.ERROR, f"{field} is no reference to a secret", hint)
        case "pattern":
            yield Remark(document.place(*steps), Grade.ERROR, f"{field} is no name", _NAME_HINT)
        case "minProperties" | "minItems" | "minLength":
            yield Remark(document.place(*steps), Grade.ERROR, f"{field} is empty", "Write at least one entry.")
        case "maxLength":
            limit = facts["limit"]
            yield Remark(document.place(*steps), Grade.ERROR, f"{field} is longer than {limit} characters")
        case _:
            yield Remark(document.place(*steps), Grade.ERROR, f"{field}: {kind} {facts}")


_REQUIRED = {
    "apiVersion": form.API_VERSION,
    "kind": form.KIND,
    "metadata": "{name: …}",
    "data": "{key: op://vault/item/field}",
    "address": "10.0.0.11",
    "unless": "[COMMAND], one that exits with 0 where the hook has nothing to do any more",
}


def _known_fields(schema: Mapping[str, Any], path: Sequence[str | int]) -> list[str]:
    """The fields of the section that an error is about."""
    at: Any = schema
    for step in path[:-1]:
        at = at[step]
    return list(at.get("properties", {}))


def _near(name: str, options: Sequence[str]) -> str:
    if near := difflib.get_close_matches(name, options, n=1, cutoff=0.6):
        return f"Did you mean {near[0]}?"
    return f"There is {_either(options)}." if options else ""


def _either(options: Sequence[str]) -> str:
    return " or ".join([", ".join(options[:-1]), options[-1]] if len(options) > 1 else options)


def _written(steps: Sequence[str | int]) -> str:
    """A path as people write it: ``components.cilium.needs[0]``."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{_shown(step)}"
    return text.removeprefix(".") or "the file"


def _shown(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:59]}…"

"""firstlight.yaml in, the declaration out; or everything that is wrong with it, at once."""

import dataclasses

import msgspec

from firstlight.document import mistakes
from firstlight.document.mistakes import Own
from firstlight.document.reading import Document
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo.declaration import form
from firstlight.repo.work_tree import WorkTree

_HINTS = mistakes.Hints(
    # What fields are called elsewhere: in talhelper's file, above all.
    meant={
        "talosVersion": "talos", "kubernetesVersion": "kubernetes", "clusterName": "metadata", "nodes": "machines",
        "hostname": "name", "ipAddress": "address", "installDisk": "disk", "installDiskSelector": "diskSelector",
        "networkInterfaces": "interfaces", "talosImageURL": "image",
    },
    required={
        "apiVersion": form.API_VERSION,
        "kind": form.KIND,
        "metadata": "{name: …}",
        "data": "{key: op://vault/item/field}",
        "address": "10.0.0.11",
        "unless": "[COMMAND], one that exits with 0 where the hook has nothing to do any more",
    },
    own=(
        Own("type", ("clusters", "*", "talos"), "must be a text", "Write the whole version, such as v1.13.0."),
        Own("type", ("clusters", "*", "kubernetes"), "must be a text", "Write the whole version, such as v1.36.0."),
        # What stands there may be the secret itself, so it is not shown.
        Own("pattern", ("secrets", "*", "data", "*"), "is no reference to a secret",
            "Write op://vault/item/field, sops:FILE#key, vault:PATH#key, env:NAME or file:PATH."),
        Own("type", ("secrets", "*", "data", "*"), "must be a text", "Write a reference to a secret, such as op://vault/item/field."),
        Own("anyOf", ("timeout",), "is no time", "Write seconds, or such as 90s or 5m."),
        Own("anyOf", (), "is neither a path nor a list", "Write the path of a Talos file, or a list of machines."),
    ),
)  # fmt: skip


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
        return None, (*remarks, *mistakes.problems(document, form.schema(), hints=_HINTS))
    return Declaration(platform, document), tuple(remarks)

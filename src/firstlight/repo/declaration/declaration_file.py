"""firstlight.yaml in, the declaration out; or everything that is wrong with it, at once."""

import dataclasses
import posixpath
from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from firstlight.document import mistakes
from firstlight.document.mistakes import OwnExplanation
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.declaration import declaration_form
from firstlight.repo.work_tree import WorkTree

_HINTS = mistakes.FormHints(
    # What fields are called elsewhere: in talhelper's file, above all.
    meant={
        "talosVersion": "talos",
        "kubernetesVersion": "kubernetes",
        "clusterName": "metadata",
        "nodes": "machines",
        "hostname": "name",
        "ipAddress": "address",
        "installDisk": "disk",
        "installDiskSelector": "diskSelector",
        "networkInterfaces": "interfaces",
        "talosImageURL": "image",
    },
    required={
        "apiVersion": declaration_form.API_VERSION,
        "kind": declaration_form.KIND,
        "metadata": "{name: …}",
        "data": "{key: op://vault/item/field}",
        "address": "10.0.0.11",
        "unless": "[COMMAND], one that exits with 0 where the hook has nothing to do any more",
    },
    own=(
        OwnExplanation(
            "type", ("clusters", "*", "talos"), "must be a text", "Write the whole version, such as v1.13.0."
        ),
        OwnExplanation(
            "type", ("clusters", "*", "kubernetes"), "must be a text", "Write the whole version, such as v1.36.0."
        ),
        # What stands there may be the secret itself, so it is not shown.
        OwnExplanation(
            "pattern",
            ("secrets", "*", "data", "*"),
            "is no reference to a secret",
            "Write op://vault/item/field, sops:FILE#key, vault:PATH#key, env:NAME or file:PATH.",
        ),
        OwnExplanation(
            "type",
            ("secrets", "*", "data", "*"),
            "must be a text",
            "Write a reference to a secret, such as op://vault/item/field.",
        ),
        OwnExplanation("anyOf", ("timeout",), "is no time", "Write seconds, or such as 90s or 5m."),
        OwnExplanation(
            "anyOf", (), "is neither a path nor a list", "Write the path of a Talos file, or a list of machines."
        ),
    ),
)


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A firstlight.yaml that is what it must be."""

    platform: declaration_form.PlatformSection
    document: YamlDocument

    def place(self, *steps: str | int) -> Place:
        """Where something is declared."""
        return self.document.place(*steps)


def read(tree: WorkTree) -> tuple[Declaration | None, tuple[Diagnostic, ...]]:
    """The declaration of a repo, if there is one and it is right; and what is wrong with it."""
    if not tree.is_file(declaration_form.FILE):
        return None, ()
    documents = tree.documents(declaration_form.FILE)
    if not documents and any(each.place.path == declaration_form.FILE for each in tree.diagnostics):
        return None, ()  # what is wrong with it is said already
    if not documents:
        hint = "Let it be written: firstlight init --force"
        return None, (
            Diagnostic.error(
                "declaration-empty", "there is no platform in it", at=Place(declaration_form.FILE), fix=hint
            ),
        )
    document, *others = documents
    diagnostics = [
        Diagnostic.error(
            "declaration-several-documents",
            "a platform is one document",
            at=Place(declaration_form.FILE, other.line),
            fix="Remove the --- before it.",
        )
        for other in others
    ]
    try:
        platform = msgspec.convert(document.value, declaration_form.PlatformSection, strict=True)
    except msgspec.ValidationError:
        return None, (*diagnostics, *mistakes.problems(document, declaration_form.schema(), hints=_HINTS))
    return Declaration(platform, document), tuple(diagnostics)


# The scripts that firstlight.yaml declares as hooks and gates: what they do is no bootstrap of its own.


def command_files(tree: WorkTree) -> frozenset[str]:
    """The files of the repo that declared commands name."""
    declaration, _ = read(tree)
    if declaration is None:
        return frozenset()
    words = {word for each in declaration.platform.components.values() for word in _words(each)}
    return frozenset(path for word in words if word and tree.is_file(path := posixpath.normpath(word)))


def _words(component: declaration_form.ComponentSection) -> Iterator[str]:
    for hook in component.hooks:
        yield from (*hook.run, *hook.unless)
    for gate in component.gates:
        if gate.command is not UNSET:
            yield from gate.command.run

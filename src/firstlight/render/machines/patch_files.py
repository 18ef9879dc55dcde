"""Files with patches: read as they are, decrypted at the last moment, JSON patches rewritten as what they mean."""

from collections.abc import Mapping

from firstlight.document import reading, writing
from firstlight.document.reading import Dialect
from firstlight.model.machine_draft import Patch
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.secret import Secret
from firstlight.render.machines import json_patch
from firstlight.repo.talos import files, kinds
from firstlight.repo.work_tree import WorkTree

_NOT_PATCHES = {kinds.SECRETS: "the secrets of a cluster", kinds.SCHEMATIC: "a schematic of the image factory"}

Read = tuple[list[Patch], list[Remark]]


def read(tree: WorkTree, path: str, *, named: Place, variables: Mapping[str, str] | None = None) -> Read:
    """The patches of a file.

    Args:
        tree: The repo.
        path: The file.
        named: Where it is named, for what is wrong with that.
        variables: What ``${NAME}`` stands for; without, it is a text like any other.
    """
    if not tree.is_file(path):
        return [], [Remark(named, Grade.ERROR, f"there is no file {path}", "Write a path from the top of the repo.")]
    if files.is_template(path):
        message = "a template is not rendered by firstlight: only a script knows what it is given"
        return [], [Remark(Place(path), Grade.ERROR, message, "Write what it comes to into a patch.")]
    text = tree.text(path) or ""
    contents = reading.read_text(text, path, dialect=Dialect.TALOS)
    if any(kinds.is_encrypted(each.value) for each in contents.documents):
        return [Patch(place=Place(path), reference=f"sops:{path}")], []
    return of_text(text, Place(path), variables=variables)


def of_text(text: str, place: Place, *, variables: Mapping[str, str] | None = None) -> Read:
    """The patches of a text that stands at a place."""
    remarks: list[Remark] = []
    if variables is not None and "$" in text:
        text, unknowns = files.substitute(text, variables)
        for each in unknowns:
            at = Place(place.path, each.line if place.line == 0 else place.line)
            remarks.append(Remark(at, Grade.ERROR, f"nothing in the repo says what {each.text} is", VARIABLES))
    contents = reading.read_text(text, place.path, dialect=Dialect.TALOS)
    remarks += [each for each in contents.remarks if each.grade is Grade.ERROR]
    patches: list[Patch] = []
    as_written = True
    for document in contents.documents:
        at = document.place() if place.line == 0 else place
        if what := _NOT_PATCHES.get(kinds.of(document.value)):
            remarks.append(Remark(at, Grade.ERROR, f"this is {what}, and no patch", "Take it out of the patches."))
        if isinstance(document.value, list):
            as_written = False
            value, problems = json_patch.converted(document.value)
            remarks += [Remark(at, Grade.ERROR, each, json_patch.HINT) for each in problems]
        else:
            value = document.value
        patches.append(Patch(place=at, text=Secret(writing.dump(value))))
    if as_written and patches:
        # One patch, byte for byte: comments and all, and documents in their order.
        patches = [Patch(place=patches[0].place, text=Secret(text))]
    return patches, remarks


VARIABLES = "Write it into talenv.yaml beside the file; one that is encrypted is not read here."

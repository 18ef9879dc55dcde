"""Files of helmfile rendered, and read as YAML with the lines that they were written in."""

import dataclasses
import posixpath
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import go_template
from firstlight.repo.helmfile import helmfile_functions
from firstlight.repo.work_tree import WorkTree

GOTMPL = ".gotmpl"


@dataclasses.dataclass(frozen=True, slots=True)
class RenderedPart:
    """A part of a file: its values, with what was not known in them."""

    values: tuple[Any, ...]
    documents: tuple[YamlDocument, ...]
    path: str
    offset: int = 0
    """Lines of the file before this part."""
    rendered: go_template.RenderedTemplate | None = None
    unknowns: tuple[go_template.Unknown, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def place(self, index: int, *steps: str | int) -> Place:
        """Where a value of one of the documents was written."""
        return self.at(self.documents[index].place(*steps))

    def at(self, place: Place) -> Place:
        """The place in the file for a place in what was rendered."""
        if self.rendered is None:
            return Place(self.path, place.line + self.offset, place.column) if place.line else Place(self.path)
        return Place(self.path, self.rendered.line(place.line) + self.offset)


def render(
    tree: WorkTree, text: str, data: Mapping[str, Any], *, directory: str
) -> go_template.RenderedTemplate | go_template.GoTemplateError:
    """Render a text whose paths are relative to a directory; the error if it is no template."""
    try:
        return go_template.render_leniently(
            text,
            data,
            functions=helmfile_functions.functions_of(tree, directory),
            missing_key=go_template.MissingKey.ERROR,
            definitions=_helpers(tree, directory),
        )
    except go_template.GoTemplateError as error:
        return error


_HELPERS: weakref.WeakKeyDictionary[WorkTree, dict[str, list[str]]] = weakref.WeakKeyDictionary()


def _helpers(tree: WorkTree, directory: str) -> list[str]:
    """The texts of ``_*.tpl``, whose definitions every template beside them may use."""
    known = _HELPERS.setdefault(tree, {})
    if directory not in known:
        names = [name for name in tree.listing(directory) if name.startswith("_") and name.endswith(".tpl")]
        texts = [tree.text(posixpath.normpath(f"{directory}/{name}")) for name in names]
        known[directory] = [text for text in texts if text is not None]
    return known[directory]


def read(
    tree: WorkTree,
    text: str,
    path: str,
    data: Mapping[str, Any],
    *,
    directory: str,
    offset: int = 0,
    is_template: bool,
) -> RenderedPart:
    """A part of a file, rendered if it is a template."""
    if not is_template:
        contents = _yaml(text, path)
        part = RenderedPart((), contents.documents, path, offset)
        diagnostics = tuple(
            dataclasses.replace(each, places=tuple(part.at(place) for place in each.places))
            for each in contents.diagnostics
        )
        return dataclasses.replace(
            part, values=tuple(each.value for each in contents.documents), diagnostics=diagnostics
        )
    rendered = render(tree, text, data, directory=directory)
    if isinstance(rendered, go_template.GoTemplateError):
        diagnostic = Diagnostic.error(
            "helmfile-template-wrong",
            f"the template is wrong: {rendered.reason}",
            at=Place(path, rendered.line + offset),
        )
        return RenderedPart((), (), path, offset, diagnostics=(diagnostic,))
    contents = _yaml(rendered.text, path)
    part = RenderedPart((), contents.documents, path, offset, rendered, rendered.unknowns)
    diagnostics = tuple(
        dataclasses.replace(
            each,
            places=tuple(part.at(place) for place in each.places),
            message=go_template.restore(each.message, rendered.unknowns),
        )
        for each in contents.diagnostics
    )
    values = tuple(go_template.settle(each.value, rendered.unknowns) for each in contents.documents)
    return dataclasses.replace(part, values=values, diagnostics=diagnostics)


def doubts(part: RenderedPart) -> list[Diagnostic]:
    """What to say of a rendering: where helmfile would fail, and which conditions were taken for true."""
    diagnostics: list[Diagnostic] = []
    for each in part.unknowns:
        place = Place(part.path, each.line + part.offset)
        if each.is_wrong:
            diagnostics.append(
                Diagnostic.error("helmfile-template-fails", f"helmfile fails here: {each.reason}", at=place)
            )
        elif _is_block(each):
            diagnostics.append(
                Diagnostic.unknown(
                    "helmfile-condition-assumed", f"{each.text} is taken for true: {each.reason}", at=place
                )
            )
    return diagnostics


def _is_block(unknown: go_template.Unknown) -> bool:
    words: Sequence[str] = unknown.text.strip("{}- \t\n").split()
    return bool(words) and words[0] in ("if", "with", "range", "else")


def _yaml(text: str, path: str) -> yaml_reader.YamlContents:
    """As helmfile reads it, which has the same YAML as Talos: ``yes`` is a text."""
    return yaml_reader.read(text.encode("utf-8", errors="replace"), path, dialect=yaml_reader.YamlDialect.TALOS)

"""Files of helmfile rendered, and read as YAML with the lines that they were written in.

Functions of templates that depend on the machine that runs helmfile are not known.
"""

import dataclasses
import posixpath
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import go_template, work_tree
from firstlight.repo.go_template import KNOWN, GoTemplateError, NotKnownBeforeRun, TemplateFunction
from firstlight.repo.go_template.go_format import printed_text
from firstlight.repo.go_template.sprig_data import from_yaml, to_yaml
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
            functions=functions_of(tree, directory),
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


# The functions of helmfile's templates.


_WORLD = {
    "fetchSecretValue": "secrets are only fetched when it runs",
    "expandSecretRefs": "secrets are only fetched when it runs",
    "expandenv": "environment variables are only known when it runs",
    "now": "the time is only known when it runs",
    "envExec": "a program would have to run",
}


def functions_of(tree: WorkTree, directory: str) -> dict[str, Callable[..., Any] | TemplateFunction]:
    """Functions for a template whose paths are relative to a directory."""

    def locate(path: str) -> str:
        joined = work_tree.join(directory, path) if not path.startswith("/") else None
        if joined is None:
            raise NotKnownBeforeRun(f"{path} is outside of the repo", name=path)
        return joined

    def read_file(path: str) -> str:
        joined = locate(path)
        text = tree.text(joined) if tree.is_file(joined) else None
        if text is None:
            raise GoTemplateError(f"{joined} is not in the repo", name=path)
        return text

    def execute(command: str, arguments: list[Any], given: str | None = None) -> str:
        if posixpath.basename(command) == "yq" and all(isinstance(each, str) for each in arguments):
            return evaluate_yq(arguments, read_file, given)
        if posixpath.basename(command) == "cat" and len(arguments) == 1:
            return read_file(str(arguments[0]))
        raise NotKnownBeforeRun(f"{command} would have to run", name=f"exec {command}")

    def listing(path: str) -> list[str]:
        return [posixpath.join(path, name) for name in tree.listing(locate(path)) if not name.endswith("/")]

    functions: dict[str, Callable[..., Any] | TemplateFunction] = {
        "env": TemplateFunction("s", _environment),
        "requiredEnv": TemplateFunction("s", _environment),
        "exec": TemplateFunction("sls?", execute),
        "readFile": TemplateFunction("s", read_file),
        "isFile": TemplateFunction("s", lambda path: tree.is_file(locate(path))),
        "isDir": TemplateFunction("s", lambda path: tree.is_dir(locate(path))),
        "readDir": TemplateFunction("s", listing),
        "get": TemplateFunction("saa?", get_value),
        "getOrNil": TemplateFunction("sa", lambda path, value: get_value(path, None, value)),
        "sprigGet": KNOWN["get"],
        "toYaml": TemplateFunction("a", lambda value: to_yaml(value) + "\n"),
        "fromYaml": TemplateFunction("s", lambda text: from_yaml(text, yaml_reader.YamlDialect.TALOS)),
        "setValueAtPath": TemplateFunction("sad", _set_at_path),
    }
    return functions | {name: _unknown(name, reason) for name, reason in _WORLD.items()}


def _environment(name: str) -> str:
    raise NotKnownBeforeRun(f"the environment variable {name} is only known when it runs", name=name)


def _unknown(name: str, reason: str) -> TemplateFunction:
    def run(*arguments: Any) -> Any:
        raise NotKnownBeforeRun(reason, name=name)

    return TemplateFunction("a*", run)


def get_value(path: str, *rest: Any) -> Any:
    """``get "a.b" [default] values``; a value that is there may be anything."""
    *default, value = rest
    for name in path.split(".") if path else ():
        if isinstance(value, go_template.Unknown):
            raise value.error()
        if not isinstance(value, Mapping) or name not in value:
            if default:
                return default[0]
            raise GoTemplateError(f'no value exists for key "{name}"', name=path)
        value = value[name]
    return value


def _set_at_path(path: str, value: Any, values: Any) -> Any:
    *parents, last = path.split(".")
    current = values
    for name in parents:
        current = current.get(name) if isinstance(current, Mapping) else None
    if not isinstance(current, dict):
        raise GoTemplateError(f"there is no map at {path}", name="setValueAtPath")
    current[last] = value
    return values


# The few expressions of yq that helmfiles use to look into other files, answered without running it.


_VALUED = {"-o", "--output-format", "-p", "--input-format", "-I", "--indent"}
_SELECT = re.compile(
    r"select\(\s*(?:(documentIndex|di)\s*==\s*(\d{1,6})|(\.[\w.\[\]\"'-]+)\s*==\s*[\"']([^\"']*)[\"'])\s*\)\s*(?:\|\s*)?"
)
_PATH = re.compile(r"\.(?:([A-Za-z_][\w-]*)|\[?\"([^\"]*)\"\]?)|\[(\d{1,6})\]|\[\"([^\"]*)\"\]")
_FALLBACK = re.compile(r"\s*//\s*(?:\"([^\"]*)\"|([\w.-]+)|(\{\}|\[\]))\s*$")


def evaluate_yq(arguments: Sequence[str], read: Callable[[str], str], given: str | None = None) -> str:
    """What ``yq ARGUMENTS`` prints.

    Args:
        arguments: Without the program itself.
        read: Gives the text of a file.
        given: The standard input, if there is one.

    Raises:
        TemplateError: The expression is not one of those that are answered here.
    """
    words = list(arguments)
    plain: list[str] = []
    is_json = False
    while words:
        word = words.pop(0)
        if word in _VALUED:
            is_json = is_json or (words[:1] == ["json"] and word in ("-o", "--output-format"))
            words = words[1:]
        elif word in ("-o=json", "--output-format=json", "-j"):
            is_json = True
        elif not word.startswith("-"):
            plain.append(word)
    if plain[:1] and plain[0] in ("e", "eval", "ea", "eval-all"):
        plain.pop(0)
    if not plain or is_json or len(plain) > 2 or (len(plain) == 1 and given is None):
        raise NotKnownBeforeRun("this form of yq is not known to reading alone", name="yq")
    source = read(plain[1]) if len(plain) == 2 else given or ""
    contents = yaml_reader.read(source.encode("utf-8", errors="replace"), "", dialect=yaml_reader.YamlDialect.TALOS)
    if not contents.documents:
        raise GoTemplateError("yq finds no YAML there", name="yq")
    found = [value for value, is_there in (_one(document, plain[0]) for document in contents.documents) if is_there]
    return "---\n".join(
        f"{to_yaml(value) if isinstance(value, (Mapping, list)) else _scalar(value)}\n" for value in found
    )


def _one(document: yaml_reader.YamlDocument, expression: str) -> tuple[Any, bool]:
    """The value for one document, and whether the document is selected."""
    rest = expression.strip()
    fallback = _FALLBACK.search(rest)
    if fallback is not None:
        rest = rest[: fallback.start()].strip()
    while (select := _SELECT.match(rest)) is not None:
        index, number, path, wanted = select.groups()
        if index and document.index != int(number):
            return None, False
        if path and printed_text(_walk(document.value, path)) != wanted:
            return None, False
        rest = rest[select.end() :]
    value = _walk(document.value, rest)
    if value is None and fallback is not None:
        value = next((each for each in fallback.groups()[:2] if each is not None), {} if fallback[3] == "{}" else [])
    return value, True


def _walk(value: Any, path: str) -> Any:
    if path in (".", ""):
        return value
    at = 0
    while at < len(path):
        match = _PATH.match(path, at)
        if match is None:
            raise NotKnownBeforeRun(f"the expression {path} of yq is not known to reading alone", name="yq")
        plain, quoted, index, key = match.groups()
        name = next((each for each in (plain, quoted, key) if each is not None), None)
        if name is not None:
            value = value.get(name) if isinstance(value, Mapping) else None
        else:
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
        at = match.end()
    return value


def _scalar(value: Any) -> str:
    return "null" if value is None else printed_text(value)

"""Fields that are texts to helmfile, whatever YAML takes them for: a version 1.10 is not 1.1."""

import dataclasses
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from firstlight.document import yaml_tree, yaml_values
from firstlight.document.yaml_reader import YamlDocument
from firstlight.document.yaml_tree import YamlNode
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.repo import work_tree
from firstlight.repo.helmfile import environments, rendered_files
from firstlight.repo.helmfile.environments import DEFAULT, EnvironmentEntry, HelmfileEnvironment
from firstlight.repo.helmfile.rendered_files import RenderedPart
from firstlight.repo.work_tree import WorkTree

_FIELDS = ("name", "namespace", "chart", "directory", "version", "condition")
_SETTINGS = ("set", "setString", "setTemplate")


def restore_texts(document: YamlDocument, value: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a helmfile's document with numbers and booleans as they are written, where texts are meant."""
    roots = yaml_tree.documents(document.text)
    root = roots[document.index] if document.index < len(roots) else None
    made = dict(value)
    if root is None:
        return made
    if isinstance(made.get("releases"), list):
        nodes = list(_items(_child(root, "releases")))
        made["releases"] = [
            _release(each, nodes[n] if n < len(nodes) else None) for n, each in enumerate(made["releases"])
        ]
    if isinstance(made.get("templates"), Mapping):
        home = _child(root, "templates")
        made["templates"] = {name: _release(each, _child(home, str(name))) for name, each in made["templates"].items()}
    if isinstance(made.get("commonLabels"), Mapping):
        made["commonLabels"] = _labels(made["commonLabels"], _child(root, "commonLabels"))
    return made


def _release(value: Any, node: YamlNode | None) -> Any:
    if not isinstance(value, Mapping) or node is None:
        return value
    made = {key: _text(each, _child(node, key)) if key in _FIELDS else each for key, each in value.items()}
    for key in _SETTINGS:
        if isinstance(made.get(key), list):
            nodes = list(_items(_child(node, key)))
            made[key] = [_setting(each, nodes[n] if n < len(nodes) else None) for n, each in enumerate(made[key])]
    if isinstance(made.get("labels"), Mapping):
        made["labels"] = _labels(made["labels"], _child(node, "labels"))
    return made


def _setting(value: Any, node: YamlNode | None) -> Any:
    if not isinstance(value, Mapping) or node is None:
        return value
    made = {key: _text(each, _child(node, key)) for key, each in value.items()}
    if isinstance(made.get("values"), list):
        nodes = list(_items(_child(node, "values")))
        made["values"] = [_text(each, nodes[n] if n < len(nodes) else None) for n, each in enumerate(made["values"])]
    return made


def _labels(value: Mapping[str, Any], node: YamlNode | None) -> dict[str, Any]:
    return {key: _text(each, _child(node, str(key))) for key, each in value.items()}


def _text(value: Any, node: YamlNode | None) -> Any:
    is_number = isinstance(value, (int, float)) and node is not None and node.target.is_scalar
    return node.target.text if is_number and node is not None else value


def _child(node: YamlNode | None, key: str) -> YamlNode | None:
    """The value of a key, also one that comes by ``<<``."""
    if node is None or not node.target.is_mapping:
        return None
    pair = node.target.find(key, yaml_values.TALOS)
    if pair is not None:
        return pair[1]
    found = (other.target.find(key, yaml_values.TALOS) for other in node.target.merged() if other.target.is_mapping)
    return next((pair[1] for pair in found if pair is not None), None)


def _items(node: YamlNode | None) -> Iterator[YamlNode]:
    return iter(node.target.children if node is not None and node.target.is_sequence else ())


# A helmfile for one environment: its parts rendered one after the other, with the values of those before.


MAX_PARTS = 100
MAX_BASES = 50


@dataclasses.dataclass(frozen=True, slots=True)
class HelmfileItem:
    """An entry of a list of the helmfile, such as a release, with where it is written."""

    value: Any = dataclasses.field(repr=False)
    part: RenderedPart = dataclasses.field(repr=False)
    index: int
    """Of the document in its part."""
    steps: tuple[str | int, ...]

    def place(self, *steps: str | int) -> Place:
        """Where it, or something in it, is written."""
        return self.part.place(self.index, *self.steps, *steps)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HelmfileState:
    """What a helmfile says for one environment."""

    path: str
    directory: str
    environment: HelmfileEnvironment
    spec: Mapping[str, Any] = dataclasses.field(repr=False)
    """Its top-level keys; releases, helmfiles, repositories and hooks are lists of ``Item``."""
    is_defined: bool = True
    """Whether it has the environment; helmfile passes over one that has not."""

    def items(self, key: str) -> list[HelmfileItem]:
        """The entries of a list."""
        return listed(self.spec.get(key))


def listed(value: Any) -> list[HelmfileItem]:
    """The entries of what should be a list."""
    return [each for each in value if isinstance(each, HelmfileItem)] if isinstance(value, list) else []


_LISTS = ("releases", "helmfiles", "repositories", "hooks", "values", "bases")


def names(tree: WorkTree, path: str, say: Callable[[Diagnostic], None]) -> list[str]:
    """The environments that a helmfile declares."""
    state = load(tree, path, DEFAULT, say=say)
    declared = state.spec.get("environments") if state else None
    return [str(name) for name in declared] if isinstance(declared, Mapping) else []


def load(
    tree: WorkTree,
    path: str,
    name: str,
    *,
    say: Callable[[Diagnostic], None],
    given: Mapping[str, Any] | None = None,
    inherited: HelmfileEnvironment | None = None,
    home: str | None = None,
) -> HelmfileState | None:
    """Load a helmfile for an environment; None if it cannot be read.

    Args:
        tree: The repo.
        path: The file.
        name: The environment.
        say: Takes what there is to say.
        given: Values that a parent gives; they win.
        inherited: The environment as far as it is known, for a base.
        home: The directory that paths are relative to, for a base; else it is the file's own.
    """
    text = tree.text(path)
    if text is None:
        return None
    directory = home if home is not None else posixpath.dirname(path) or "."
    environment = inherited
    spec: dict[str, Any] = {}
    is_base = home is not None
    for offset, part_text in _parts(text.replace("\r\n", "\n")):
        known = (environment or HelmfileEnvironment(name)).over(given or {})
        part = _part(tree, part_text, path, known, directory, offset, say)
        current = _spec(part, say)
        if not is_base:
            current = _with_bases(tree, current, path, directory, known, name, say)
        environment = _environment(tree, current, directory, known, say)
        forgotten = [_name(each) for each in listed(spec.get("releases"))]
        if forgotten and (replacing := listed(current.get("releases"))):
            message = f"these releases replace {', '.join(forgotten[:5])} of an earlier part, which helmfile forgets"
            say(
                Diagnostic.warning(
                    "helmfile-releases-replaced",
                    message,
                    at=replacing[0].place(),
                    fix="Write all releases into one part.",
                )
            )
        spec = _over(spec, current)
    declared = spec.get("environments")
    declared = declared if isinstance(declared, Mapping) else {}
    is_defined = name == DEFAULT or is_base or name in declared or (not declared and bool(given or inherited))
    final = (environment or HelmfileEnvironment(name)).over(given or {}) if len(spec) else HelmfileEnvironment(name)
    return HelmfileState(path=path, directory=directory, environment=final, spec=spec, is_defined=is_defined)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Parts, with the lines before each; only a line of exactly three dashes separates."""
    offset = 0
    for part in text.split("\n---\n")[:MAX_PARTS]:
        yield offset, part
        offset += part.count("\n") + 2


def _part(
    tree: WorkTree,
    text: str,
    path: str,
    environment: HelmfileEnvironment,
    directory: str,
    offset: int,
    say: Callable[[Diagnostic], None],
) -> RenderedPart:
    is_template = path.endswith(rendered_files.GOTMPL)
    data = environment.data()
    part = rendered_files.read(tree, text, path, data, directory=directory, offset=offset, is_template=is_template)
    if not is_template and part.diagnostics and "{{" in text:
        rendered = rendered_files.read(tree, text, path, data, directory=directory, offset=offset, is_template=True)
        if not rendered.diagnostics:
            message = "it is read as a template, which helmfile 1 only does with files that end with .gotmpl"
            say(
                Diagnostic.warning(
                    "helmfile-template-unnamed",
                    message,
                    at=Place(path, part.diagnostics[0].place.line),
                    fix=f"Rename it to {path}.gotmpl.",
                )
            )
            part = rendered
    for diagnostic in (*part.diagnostics, *rendered_files.doubts(part)):
        say(diagnostic)
    return part


def _spec(part: RenderedPart, say: Callable[[Diagnostic], None]) -> dict[str, Any]:
    """The keys of a part's documents, with the entries of lists wrapped so that their places stay known."""
    spec: dict[str, Any] = {}
    for index, value in enumerate(part.values):
        if not isinstance(value, Mapping):
            say(
                Diagnostic.error(
                    "helmfile-wrong", "a helmfile is a map with releases, environments and so on", at=part.place(index)
                )
            )
            continue
        found = restore_texts(part.documents[index], value)
        for key in _LISTS:
            entries = found.get(key)
            if isinstance(entries, list):
                found[key] = [HelmfileItem(each, part, index, (key, n)) for n, each in enumerate(entries)]
            elif entries is not None:
                say(Diagnostic.error("helmfile-wrong", f"{key} is no list", at=part.place(index, key)))
        declared = found.get("environments")
        if isinstance(declared, Mapping):
            found["environments"] = {name: _wrapped(each, part, index, name) for name, each in declared.items()}
        spec = environments.layered(spec, found)
    return spec


def _wrapped(environment: Any, part: RenderedPart, index: int, name: Any) -> dict[str, Any]:
    found = dict(environment) if isinstance(environment, Mapping) else {}
    for key in ("values", "secrets"):
        if isinstance(found.get(key), list):
            steps = ("environments", str(name), key)
            found[key] = [HelmfileItem(each, part, index, (*steps, n)) for n, each in enumerate(found[key])]
    return found


def _with_bases(
    tree: WorkTree,
    spec: dict[str, Any],
    path: str,
    directory: str,
    environment: HelmfileEnvironment,
    name: str,
    say: Callable[[Diagnostic], None],
) -> dict[str, Any]:
    bases = listed(spec.get("bases"))[:MAX_BASES]
    below: dict[str, Any] = {}
    for base in bases:
        written = str(base.value)
        target = work_tree.join(directory, written)
        if target is None or not tree.is_file(target) or target == path:
            grade = Severity.UNKNOWN if "://" in written or "{{" in written else Severity.ERROR
            say(
                Diagnostic(
                    code="helmfile-file-missing",
                    severity=grade,
                    message=f"the base {written} is not in the repo"
                    if grade is Severity.UNKNOWN
                    else base.place().describe_missing(written),
                    places=(base.place(),),
                )
            )
            continue
        state = load(tree, target, name, say=say, inherited=environment, home=directory)
        if state is not None:
            below = environments.layered(below, state.spec)
    return environments.layered(below, spec) if below else spec


def _environment(
    tree: WorkTree,
    spec: Mapping[str, Any],
    directory: str,
    context: HelmfileEnvironment,
    say: Callable[[Diagnostic], None],
) -> HelmfileEnvironment:
    """The environment after a part: its values over those of the parts before."""
    declared = spec.get("environments")
    mine = declared.get(context.name) if isinstance(declared, Mapping) else None
    values: dict[str, Any] = {}
    if isinstance(mine, Mapping):
        handler = mine.get("missingFileHandler") or spec.get("missingFileHandler") or "Error"
        is_optional = handler != "Error"
        values = environments.load(
            tree, _entries(mine.get("values")), directory=directory, context=context, is_optional=is_optional, say=say
        )
        hidden = environments.secrets(
            tree, _entries(mine.get("secrets")), directory=directory, is_optional=is_optional, say=say
        )
        values = environments.override(values, hidden)
    defaults = environments.load(
        tree, _entries(spec.get("values")), directory=directory, context=context, is_optional=False, say=say
    )
    return HelmfileEnvironment(
        context.name, environments.override(context.values, values), environments.override(context.defaults, defaults)
    )


def _entries(items: Any) -> list[EnvironmentEntry]:
    return [EnvironmentEntry(value=each.value, place=each.place()) for each in listed(items)]


def _over(spec: dict[str, Any], current: Mapping[str, Any]) -> dict[str, Any]:
    """A later part over earlier ones: its lists replace theirs."""
    return environments.override(
        spec, {key: value for key, value in current.items() if value not in (None, [], {}, "")}
    )


def _name(item: HelmfileItem) -> str:
    return str(item.value.get("name")) if isinstance(item.value, Mapping) else "?"

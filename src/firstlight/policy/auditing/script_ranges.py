"""The lines of scripts that bootstrap runs: tasks, recipes and shell scripts that deploy something, as a whole."""

import re
from collections.abc import Iterator, Mapping

from firstlight.model.component import Form, Side
from firstlight.model.place import Place
from firstlight.plan import facts
from firstlight.policy.auditing.scene import Scene

_SCRIPTED = {Form.HELM_COMMAND, Form.KUBECTL_COMMAND, Form.KUSTOMIZE_COMMAND, Form.FLUX_COMMAND}
_ANY_CLUSTER = "for which cluster"
"""What readers doubt of a command that is probably no part of bootstrap: it is for whatever cluster is at hand."""
_RECIPE = re.compile(r"^@?[A-Za-z_][\w.-]*(?:\s[^:=]*)?:(?!=)|^\[(?:tasks\.)?[^\]]+\]\s*$")
_CONTINUED = ("\\", "|", "&&")
_SAID = re.compile(r"^\s*(?:#|-?\s*(?:echo|printf|desc|description|msg|summary|prompt|sh)\b|- '?echo\b)")


def lines(scene: Scene, cluster: str) -> Iterator[tuple[Place, str]]:
    """Every line of them that does something, with its place; comments and messages are left out."""
    for path, wanted in sorted(_deploying(scene, cluster).items()):
        text = (scene.files.text(path) or "").splitlines()
        for first, last in _ranges(scene, path, text):
            if any(first <= each < last for each in wanted):
                for number in range(first, min(last, len(text) + 1)):
                    line = text[number - 1]
                    if line.strip() and not _SAID.match(line.lstrip()):
                        yield Place(path, number), line.strip()


def _deploying(scene: Scene, cluster: str) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = {}
    for component in scene.facts[cluster].bootstrap:
        for origin in facts.origins(component, Side.BOOTSTRAP):
            if origin.form in _SCRIPTED and _ANY_CLUSTER not in origin.doubt:
                found.setdefault(origin.place.path, set()).add(origin.place.line)
    return found


def _ranges(scene: Scene, path: str, text: list[str]) -> Iterator[tuple[int, int]]:
    """The first line of each task and the one after its last."""
    if path.endswith((".sh", ".bash", ".zsh")):
        yield 1, len(text) + 1
        return
    starts = sorted(_tasks(scene, path) if path.endswith((".yaml", ".yml")) else _recipes(text))
    yield from zip(starts, [*starts[1:], len(text) + 1], strict=True)


def _tasks(scene: Scene, path: str) -> Iterator[int]:
    for document in scene.files.documents(path)[:1]:
        tasks = document.value.get("tasks") if isinstance(document.value, Mapping) else None
        for name in tasks if isinstance(tasks, Mapping) else ():
            yield document.place("tasks", name).line


def _recipes(text: list[str]) -> Iterator[int]:
    yield from (number for number, line in enumerate(text, 1) if _RECIPE.match(line))


def statement(scene: Scene, place: Place) -> str:
    """The statement that a line of a script belongs to: with the lines that it continues, and that continue it."""
    lines_ = (scene.files.text(place.path) or "").splitlines()
    first = last = place.line - 1
    while first > 0 and lines_[first - 1].rstrip().endswith(_CONTINUED):
        first -= 1
    while last < len(lines_) - 1 and lines_[last].rstrip().endswith(_CONTINUED):
        last += 1
    return " ".join(each.strip().removesuffix("\\") for each in lines_[first : last + 1])

"""The functions of helmfile's templates; what depends on the machine that runs it is not known."""

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from firstlight.document import reading
from firstlight.repo import go_template, work_tree
from firstlight.repo.go_template import KNOWN, Function, NotKnown, TemplateError
from firstlight.repo.go_template.sprig_data import from_yaml, to_yaml
from firstlight.repo.helmfile import yq
from firstlight.repo.work_tree import WorkTree

_WORLD = {
    "fetchSecretValue": "secrets are only fetched when it runs",
    "expandSecretRefs": "secrets are only fetched when it runs",
    "expandenv": "environment variables are only known when it runs",
    "now": "the time is only known when it runs",
    "envExec": "a program would have to run",
}


def of(tree: WorkTree, directory: str) -> dict[str, Callable[..., Any] | Function]:
    """Functions for a template whose paths are relative to a directory."""

    def locate(path: str) -> str:
        joined = work_tree.join(directory, path) if not path.startswith("/") else None
        if joined is None:
            raise NotKnown(f"{path} is outside of the repo", name=path)
        return joined

    def read_file(path: str) -> str:
        joined = locate(path)
        text = tree.text(joined) if tree.is_file(joined) else None
        if text is None:
            raise TemplateError(f"{joined} is not in the repo", name=path)
        return text

    def execute(command: str, arguments: list[Any], given: str | None = None) -> str:
        if posixpath.basename(command) == "yq" and all(isinstance(each, str) for each in arguments):
            return yq.evaluate(arguments, read_file, given)
        if posixpath.basename(command) == "cat" and len(arguments) == 1:
            return read_file(str(arguments[0]))
        raise NotKnown(f"{command} would have to run", name=f"exec {command}")

    def listing(path: str) -> list[str]:
        return [posixpath.join(path, name) for name in tree.listing(locate(path)) if not name.endswith("/")]

    functions: dict[str, Callable[..., Any] | Function] = {
        "env": Function("s", _environment),
        "requiredEnv": Function("s", _environment),
        "exec": Function("sls?", execute),
        "readFile": Function("s", read_file),
        "isFile": Function("s", lambda path: tree.is_file(locate(path))),
        "isDir": Function("s", lambda path: tree.is_dir(locate(path))),
        "readDir": Function("s", listing),
        "get": Function("saa?", get),
        "getOrNil": Function("sa", lambda path, value: get(path, None, value)),
        "sprigGet": KNOWN["get"],
        "toYaml": Function("a", lambda value: to_yaml(value) + "\n"),
        "fromYaml": Function("s", lambda text: from_yaml(text, reading.Dialect.TALOS)),
        "setValueAtPath": Function("sad", _set_at_path),
    }
    return functions | {name: _unknown(name, reason) for name, reason in _WORLD.items()}


def _environment(name: str) -> str:
    raise NotKnown(f"the environment variable {name} is only known when it runs", name=name)


def _unknown(name: str, reason: str) -> Function:
    def run(*arguments: Any) -> Any:
        raise NotKnown(reason, name=name)

    return Function("a*", run)


def get(path: str, *rest: Any) -> Any:
    """``get "a.b" [default] values``; a value that is there may be anything."""
    *default, value = rest
    for name in path.split(".") if path else ():
        if isinstance(value, go_template.Unknown):
            raise NotKnown(value.reason, name=value.name)
        if not isinstance(value, Mapping) or name not in value:
            if default:
                return default[0]
            raise TemplateError(f'no value exists for key "{name}"', name=path)
        value = value[name]
    return value


def _set_at_path(path: str, value: Any, values: Any) -> Any:
    *parents, last = path.split(".")
    current = values
    for name in parents:
        current = current.get(name) if isinstance(current, Mapping) else None
    if not isinstance(current, dict):
        raise TemplateError(f"there is no map at {path}", name="setValueAtPath")
    current[last] = value
    return values

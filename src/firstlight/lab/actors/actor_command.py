"""How the program of a pod is called: what is taken of its container's flags and variables, and what is not.

A manifest may be a stranger's: a flag or variable that the table does not name never reaches a real program.
"""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from firstlight.lab.actors.actor_table import ActorRow

Object = dict[str, Any]
_REFERENCE = re.compile(r"\$(\$)?\(([A-Za-z_][A-Za-z0-9_]*)\)")


class EnvReference(NamedTuple):
    """A value that is kept in another object."""

    kind: Literal["ConfigMap", "Secret"]
    name: str
    key: str
    """Empty for all of them."""
    is_optional: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" + (f", key {self.key}" if self.key else "")


class MissingEnvValue(Exception):
    """A value that a container cannot start without."""


Values = Mapping[tuple[str, str], Mapping[str, str]]
"""The data of ConfigMaps and Secrets, by kind and name; those that do not exist are not there."""


def references(row: ActorRow, container: Object) -> tuple[EnvReference, ...]:
    """What must be looked up before the container's variables are known."""
    named = [each for each in container.get("env") or () if _matches(each["name"], row.keep_env)]
    found = [_reference(each.get("valueFrom") or {}) for each in named]
    if row.keep_env:
        found += [_whole(source) for source in container.get("envFrom") or ()]
    return tuple(each for each in found if each is not None)


def environment(row: ActorRow, container: Object, pod: Object, values: Values) -> dict[str, str]:
    """The variables of a container that are taken over.

    Raises:
        Missing: One is kept in an object that is not there.
    """
    result: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        if (reference := _whole(source)) and row.keep_env:
            result |= {source.get("prefix", "") + name: text for name, text in _data(reference, values).items()}
    for each in container.get("env") or ():
        source = each.get("valueFrom") or {}
        value: str | None = None
        if reference := _reference(source):
            if _matches(each["name"], row.keep_env):
                value = _data(reference, values).get(reference.key)
                if value is None and not reference.is_optional:
                    raise MissingEnvValue(f"{reference} is not there")
        elif "fieldRef" in source:
            value = _field(pod, source["fieldRef"].get("fieldPath", ""))
        elif not source:
            value = expand(each.get("value", ""), result)
        if value is not None:
            result[each["name"]] = value
    return {name: value for name, value in result.items() if _matches(name, row.keep_env) and "\0" not in value}


def arguments(row: ActorRow, container: Object, env: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags of a container that are taken over, and the names of those that are not."""
    replaced = {_name(flag) for flag in row.flags}
    kept: list[str] = []
    left: dict[str, None] = {}
    for words in _flags([*(container.get("command") or ()), *(container.get("args") or ())]):
        name = _name(words[0])
        if name in replaced:
            continue
        if _matches(name, row.keep) and not any("\0" in word for word in words):
            kept.append(_joined(words, env))
        elif not _matches(name, row.drop):
            left[f"--{name}"] = None
    return tuple(kept), tuple(left)


def expand(text: str, env: Mapping[str, str]) -> str:
    """``$(NAME)`` as a kubelet puts it in: what is not known stays, and ``$$(NAME)`` is ``$(NAME)``."""

    def value(found: re.Match[str]) -> str:
        return found.group()[1:] if found[1] else env.get(found[2], found.group())

    return _REFERENCE.sub(value, text)


def _flags(words: Sequence[str]) -> list[list[str]]:
    """Each flag with its value; words before the first flag are no flags."""
    found: list[list[str]] = []
    for word in words:
        if word.startswith("-") and len(word) > 1:
            found.append([word])
        elif found and len(found[-1]) == 1 and "=" not in found[-1][0]:
            found[-1].append(word)
    return found


def _joined(words: Sequence[str], env: Mapping[str, str]) -> str:
    """A flag as one word: as two, what a variable holds could be a flag of its own."""
    flag, equals, value = "=".join(words).partition("=")
    return f"--{_name(flag)}{equals}{expand(value, env)}"


def _name(flag: str) -> str:
    return flag.lstrip("-").partition("=")[0]


def _matches(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _reference(source: Object) -> EnvReference | None:
    for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if key in source:
            given = source[key]
            return EnvReference(kind, given.get("name", ""), given["key"], bool(given.get("optional")))  # type: ignore[arg-type]  # one of the two
    return None


def _whole(source: Object) -> EnvReference | None:
    for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        if key in source:
            return EnvReference(kind, source[key].get("name", ""), "", bool(source[key].get("optional")))  # type: ignore[arg-type]  # one of the two
    return None


def _data(reference: EnvReference, values: Values) -> Mapping[str, str]:
    found = values.get((reference.kind, reference.name))
    if found is None:
        if reference.is_optional:
            return {}
        raise MissingEnvValue(f"{reference} is not there")
    return found


def _field(pod: Object, path: str) -> str | None:
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    known: dict[str, Any] = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": spec.get("nodeName"),
        "spec.serviceAccountName": spec.get("serviceAccountName", "default"),
        "status.podIP": status.get("podIP"),
        "status.hostIP": status.get("hostIP"),
    }
    return known.get(path)

"""What was found, without secrets: text as it is shown, and objects as they go into an archive."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.clients.talosctl import talosctl_output
from firstlight.model import remote_url
from firstlight.model.secret import MASK
from firstlight.repo.secrecy import secret_fields, secret_text

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
LONGEST = 2_000
"""Characters of a line; nobody reads more."""
_BEARER = re.compile(r"\b(bearer|basic)(\s+|%20)[\w.~+/=-]{6,}", re.I)
_COOKIE = re.compile(r"\b((?:set-)?cookie\s*:\s*).+", re.I)
_SCP = re.compile(r"(?<![\w/])[\w.+-]+:[^\s:@/]+@(?=[\w.-]+)")
"""A user and a password before a host, in an address without a scheme."""
_NAMED = re.compile(r"(?<=/)([\w.-]+)(?=: )")
"""An object whose name stands before what is said of it: one that is called password is none."""
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]+-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]+-----")
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_VALUES = frozenset(
    {"values", "valuesObject", "valuesInline", "parameters", "substitute", "env", "plugin", "httpHeaders"}
)
"""Fields in which people write whatever their software wants: names stay, values do not."""
_NOTES = re.compile(
    r"(?:[\w.-]*\.)?(?:kubernetes\.io|k8s\.io|fluxcd\.io|argoproj\.io|helm\.sh|firstlight\.dev|cert-manager\.io|talos\.dev)/.+"
)
"""Annotations that tools write for tools."""


def line(said: str) -> str:
    """A line of a log or a message, on which secrets that can be told from the rest are masked."""
    text = said if len(said) <= LONGEST else f"{said[:LONGEST]}…"
    text = secret_text.masked(_NAMED.sub(r"\1\0", text)).replace("\0", "")
    text = _COOKIE.sub(rf"\1{MASK}", _BEARER.sub(rf"\1 {MASK}", text))
    text = _SCP.sub(f"{MASK}@", remote_url.without_credentials(text))
    return talosctl_output.masked_output(text)


def lines(said: Iterable[str]) -> tuple[str, ...]:
    """Lines that follow each other: a key that begins on one of them is masked until its end."""
    found: list[str] = []
    is_key = False
    for each in said:
        if is_key:
            is_key = _PEM_END.search(each) is None
            continue
        begins = _PEM_BEGIN.search(each)
        if begins is not None and _PEM_END.search(each, begins.end()) is None:
            is_key = True
            each = f"{each[: begins.start()]}{MASK}"
        found.append(line(each))
    return tuple(found)


def text(said: str) -> str:
    """A message of one line or more."""
    return "\n".join(lines(said.split("\n"))) if "\n" in said else line(said)


def shown(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object for strangers: no values of environments, settings and unknown annotations, all texts masked."""
    bare = _without(dict(value))
    found = _texts(secret_fields.without(bare, secret_fields.of_document(bare)))
    assert isinstance(found, dict)
    return found


def _without(value: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(value.get("metadata") or {})
    notes = metadata.get("annotations")
    if isinstance(notes, Mapping):
        metadata["annotations"] = {
            key: each if _NOTES.fullmatch(key) else MASK for key, each in notes.items() if key != LAST_APPLIED
        }
    managed = metadata.get("managedFields")
    if isinstance(managed, list):
        # Which fields: among them are items of lists, which are values.
        metadata["managedFields"] = [
            {key: each[key] for key in each if key != "fieldsV1"} for each in managed if isinstance(each, Mapping)
        ]
    made = {**value, "metadata": metadata}
    for name in ("data", "binaryData", "stringData"):
        if isinstance(made.get(name), Mapping):
            made[name] = {key: MASK for key in made[name]}
    for name in ("spec", "status"):
        if name in made:
            made[name] = _settings(made[name])
    return made


def _settings(value: Any) -> Any:
    """The same with masks in the place of what software is given to work with."""
    if isinstance(value, Mapping):
        return {
            key: _emptied(each, is_env=key == "env")
            if key in _VALUES and isinstance(each, dict | list | str)
            else _settings(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_settings(each) for each in value]
    return value


def _emptied(value: Any, *, is_env: bool = False) -> Any:
    """Names without their values."""
    if isinstance(value, Mapping):
        is_pair = "name" in value and ("value" in value or "valueFrom" in value)
        return {
            key: each if is_pair and key in ("name", "valueFrom") else _emptied(each, is_env=is_env)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_emptied(each, is_env=is_env) for each in value]
    return value if isinstance(value, bool | None) else MASK


def _texts(value: Any) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {str(key): _texts(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(each) for each in value]
    return value

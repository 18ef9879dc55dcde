"""Sprig's functions for lists, maps and defaults, with the JSON and YAML functions that everybody adds."""

import copy
import json
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import yaml

from firstlight.document import reading
from firstlight.repo.go_template import limits, printing
from firstlight.repo.go_template.problem import NotKnown, TemplateError
from firstlight.repo.go_template.signature import Function, kind
from firstlight.repo.go_template.unknown import Unknown


class _Dumper(yaml.CSafeDumper):
    """Writes shared values in full, as Go does."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    """Some readers take a lone y or n for a boolean; Go writes them in quotes."""
    style = '"' if text in ("y", "Y", "n", "N") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent)


def to_yaml(value: Any) -> str:
    """A value as YAML, without a line end."""
    plain = _plain(limits.value(value))
    try:
        text: str = yaml.dump(
            plain, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=True, width=2**30
        )
    except (yaml.YAMLError, TypeError) as error:
        raise TemplateError(f"toYaml is given what YAML cannot hold: {kind(value)}", name="toYaml") from error
    return limits.text(text).removesuffix("...\n").removesuffix("\n")


def from_yaml(text: str, dialect: reading.Dialect = reading.Dialect.KUBERNETES) -> Any:
    """The first document of a YAML text."""
    contents = reading.read(text.encode("utf-8", errors="replace"), "", dialect=dialect)
    if any(each.grade == "error" for each in contents.remarks):
        raise TemplateError(f"fromYaml: {contents.remarks[0].message}", name="fromYaml")
    return contents.documents[0].value if contents.documents else {}


def _plain(value: Any) -> Any:
    if isinstance(value, Unknown):
        raise NotKnown(value.reason, name=value.name)
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _to_json(value: Any, indent: int | None = None, *, is_raw: bool = False) -> str:
    separators = (",", ": ") if indent else (",", ":")
    plain = _whole(_plain(limits.value(value)))
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=separators, indent=indent, default=str)
    if is_raw:
        return text
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _whole(value: Any) -> Any:
    """Floats without a fraction as JSON has them in Go: without a point."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value


def _from_json(text: str) -> Any:
    try:
        return json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        raise TemplateError("fromJson is given what is no JSON", name="fromJson") from None


def _dict(*values: Any) -> dict[str, Any]:
    keys = [printing.text(each) for each in values[::2]]
    return dict(zip(keys, [*values[1::2], *([""] * (len(values) % 2))], strict=True))


def _set(mapping: MutableMapping[str, Any], key: str, value: Any) -> Mapping[str, Any]:
    mapping[key] = value
    return mapping


def _unset(mapping: MutableMapping[str, Any], key: str) -> Mapping[str, Any]:
    mapping.pop(key, None)
    return mapping


def _merge(target: MutableMapping[str, Any], *sources: Mapping[str, Any]) -> Mapping[str, Any]:
    for source in sources:
        _fill(target, source, 0, overwrite=False)
    return target


def _merge_overwrite(target: MutableMapping[str, Any], *sources: Mapping[str, Any]) -> Mapping[str, Any]:
    for source in sources:
        _fill(target, source, 0, overwrite=True)
    return target


def _fill(target: MutableMapping[str, Any], source: Mapping[str, Any], depth: int, *, overwrite: bool) -> None:
    if depth > limits.MAX_DEPTH:
        raise TemplateError(f"values are nested deeper than {limits.MAX_DEPTH} levels")
    for key, value in source.items():
        here = target.get(key)
        if isinstance(here, MutableMapping) and isinstance(value, Mapping):
            _fill(here, value, depth + 1, overwrite=overwrite)
        elif overwrite or not here:
            target[key] = value


def _dig(*arguments: Any) -> Any:
    *keys, otherwise, value = arguments
    if not keys:
        raise TemplateError("dig is given too few arguments", name="dig")
    for key in keys:
        if not isinstance(value, Mapping):
            raise TemplateError(f"dig finds {kind(value)} where a map is wanted", name="dig")
        if key not in value:
            return otherwise
        value = value[key]
    return value


def _required(message: str, value: Any) -> Any:
    if value is None or value == "":
        raise TemplateError(message or "a required value is missing", name="required")
    return value


def _fail(message: str) -> str:
    raise TemplateError(f"the template fails: {message}", name="fail")


def _listed(*lists: Sequence[Any]) -> list[Any]:
    made = [each for part in lists for each in part]
    return made if len(made) <= limits.MAX_ITEMS else list(limits.value(made))


def _unique(values: Sequence[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    for each in limits.value(values):
        found.setdefault(f"{type(each).__name__} {printing.text(each)}", each)
    return list(found.values())


def _kind_of(value: Any) -> str:
    if value is None:
        return "invalid"
    kinds = {bool: "bool", int: "int", float: "float64", str: "string", list: "slice", tuple: "slice"}
    return kinds.get(type(value), "map")


def _keys(*maps: Mapping[str, Any]) -> list[str]:
    return [key for each in maps for key in printing.ordered(each)]


FUNCTIONS = {
    "default": Function("aa?", lambda otherwise, value=None: value if printing.is_true(value) else otherwise),
    "empty": Function("a", lambda value: not printing.is_true(value)),
    "coalesce": Function("a*", lambda *values: next((each for each in values if printing.is_true(each)), None)),
    "all": Function("a*", lambda *values: all(printing.is_true(each) for each in values)),
    "any": Function("a*", lambda *values: any(printing.is_true(each) for each in values)),
    "ternary": Function("aab", lambda yes, no, is_so: yes if is_so else no),
    "required": Function("sa", _required),
    "fail": Function("s", _fail),
    "list": Function("a*", lambda *values: list(values)),
    "tuple": Function("a*", lambda *values: list(values)),
    "dict": Function("a*", _dict),
    "get": Function("ds", lambda mapping, key: mapping.get(key, "")),
    "set": Function("dsa", _set),
    "unset": Function("ds", _unset),
    "hasKey": Function("ds", lambda mapping, key: key in mapping),
    "pluck": Function("sd*", lambda key, *maps: [each[key] for each in maps if key in each]),
    "keys": Function("d*", _keys),
    "values": Function("d", lambda mapping: [mapping[key] for key in printing.ordered(mapping)]),
    "pick": Function("ds*", lambda mapping, *keys: {key: mapping[key] for key in keys if key in mapping}),
    "omit": Function("ds*", lambda mapping, *keys: {key: each for key, each in mapping.items() if key not in keys}),
    "merge": Function("dd*", _merge),
    "mergeOverwrite": Function("dd*", _merge_overwrite),
    "deepCopy": Function("a", lambda value: copy.deepcopy(limits.value(value))),
    "dig": Function("saa*", _dig),
    "append": Function("la", lambda values, value: _listed(values, [value])),
    "prepend": Function("la", lambda values, value: _listed([value], values)),
    "concat": Function("l*", _listed),
    "first": Function("l", lambda values: values[0] if values else None),
    "last": Function("l", lambda values: values[-1] if values else None),
    "rest": Function("l", lambda values: list(values[1:])),
    "initial": Function("l", lambda values: list(values[:-1])),
    "reverse": Function("l", lambda values: list(reversed(values))),
    "uniq": Function("l", _unique),
    "without": Function("la*", lambda values, *out: [each for each in values if each not in out]),
    "has": Function("al", lambda value, values: value in values),
    "compact": Function("l", lambda values: [each for each in values if printing.is_true(each)]),
    "sortAlpha": Function("l", lambda values: sorted(printing.text(each) for each in values if each is not None)),
    "kindOf": Function("a", _kind_of),
    "kindIs": Function("sa", lambda wanted, value: _kind_of(value) == wanted),
    "typeOf": Function("a", _kind_of),
    "deepEqual": Function("aa", lambda a, b: bool(limits.value(a) == limits.value(b))),
    "toJson": Function("a", _to_json),
    "toRawJson": Function("a", lambda value: _to_json(value, is_raw=True)),
    "toPrettyJson": Function("a", lambda value: _to_json(value, 2)),
    "fromJson": Function("s", _from_json),
    "toYaml": Function("a", to_yaml),
    "fromYaml": Function("s", from_yaml),
}
FUNCTIONS |= {
    f"must{name[0].upper()}{name[1:]}": FUNCTIONS[name]
    for name in (
        "append",
        "prepend",
        "first",
        "last",
        "rest",
        "initial",
        "reverse",
        "uniq",
        "without",
        "has",
        "compact",
    )
} | {f"must{name[0].upper()}{name[1:]}": FUNCTIONS[name] for name in ("toJson", "fromJson", "merge", "mergeOverwrite")}

"""Sprig's functions for lists, maps and defaults, with the JSON and YAML functions that everybody adds."""

import copy
import json
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import yaml

from firstlight.document import yaml_reader
from firstlight.repo.go_template import go_format, unknown_values
from firstlight.repo.go_template.builtin_functions import TemplateFunction, argument_kind
from firstlight.repo.go_template.unknown_values import FirstDocument, GoTemplateError, Unknown


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
    plain = _plain(unknown_values.limited_value(value))
    try:
        text: str = yaml.dump(
            plain, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=True, width=2**30
        )
    except (yaml.YAMLError, TypeError) as error:
        raise GoTemplateError(
            f"toYaml is given what YAML cannot hold: {argument_kind(value)}", name="toYaml"
        ) from error
    return unknown_values.limited_text(text).removesuffix("...\n").removesuffix("\n")


def from_yaml(text: str, dialect: yaml_reader.YamlDialect = yaml_reader.YamlDialect.KUBERNETES) -> Any:
    """The first document of a YAML text; it knows if there are more."""
    contents = yaml_reader.read(text.encode("utf-8", errors="replace"), "", dialect=dialect)
    if any(each.severity == "error" for each in contents.diagnostics):
        raise GoTemplateError(f"fromYaml: {contents.diagnostics[0].message}", name="fromYaml")
    first = contents.documents[0].value if contents.documents else {}
    return FirstDocument(first) if isinstance(first, dict) and len(contents.documents) > 1 else first


def _plain(value: Any) -> Any:
    if isinstance(value, Unknown):
        raise value.error()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _to_json(value: Any, indent: int | None = None, *, is_raw: bool = False) -> str:
    separators = (",", ": ") if indent else (",", ":")
    plain = _whole(_plain(unknown_values.limited_value(value)))
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
        raise GoTemplateError("fromJson is given what is no JSON", name="fromJson") from None


def _dict(*values: Any) -> dict[str, Any]:
    keys = [go_format.printed_text(each) for each in values[::2]]
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
    if depth > unknown_values.MAX_DEPTH:
        raise GoTemplateError(f"values are nested deeper than {unknown_values.MAX_DEPTH} levels")
    for key, value in source.items():
        here = target.get(key)
        if isinstance(here, MutableMapping) and isinstance(value, Mapping):
            _fill(here, value, depth + 1, overwrite=overwrite)
        elif overwrite or not here:
            target[key] = value


def _dig(*arguments: Any) -> Any:
    *keys, otherwise, value = arguments
    if not keys:
        raise GoTemplateError("dig is given too few arguments", name="dig")
    for key in keys:
        if not isinstance(value, Mapping):
            raise GoTemplateError(f"dig finds {argument_kind(value)} where a map is wanted", name="dig")
        if key not in value:
            return otherwise
        value = value[key]
    return value


def _required(message: str, value: Any) -> Any:
    if value is None or value == "":
        raise GoTemplateError(message or "a required value is missing", name="required")
    return value


def _fail(message: str) -> str:
    raise GoTemplateError(f"the template fails: {message}", name="fail")


def _listed(*lists: Sequence[Any]) -> list[Any]:
    made = [each for part in lists for each in part]
    return made if len(made) <= unknown_values.MAX_ITEMS else list(unknown_values.limited_value(made))


def _unique(values: Sequence[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    for each in unknown_values.limited_value(values):
        found.setdefault(f"{type(each).__name__} {go_format.printed_text(each)}", each)
    return list(found.values())


def _kind_of(value: Any) -> str:
    if value is None:
        return "invalid"
    kinds = {bool: "bool", int: "int", float: "float64", str: "string", list: "slice", tuple: "slice"}
    return kinds.get(type(value), "map")


def _keys(*maps: Mapping[str, Any]) -> list[str]:
    return [key for each in maps for key in go_format.ordered(each)]


FUNCTIONS = {
    "default": TemplateFunction("aa?", lambda otherwise, value=None: value if go_format.is_true(value) else otherwise),
    "empty": TemplateFunction("a", lambda value: not go_format.is_true(value)),
    "coalesce": TemplateFunction(
        "a*", lambda *values: next((each for each in values if go_format.is_true(each)), None)
    ),
    "all": TemplateFunction("a*", lambda *values: all(go_format.is_true(each) for each in values)),
    "any": TemplateFunction("a*", lambda *values: any(go_format.is_true(each) for each in values)),
    "ternary": TemplateFunction("aab", lambda yes, no, is_so: yes if is_so else no),
    "required": TemplateFunction("sa", _required),
    "fail": TemplateFunction("s", _fail),
    "list": TemplateFunction("a*", lambda *values: list(values)),
    "tuple": TemplateFunction("a*", lambda *values: list(values)),
    "dict": TemplateFunction("a*", _dict),
    "get": TemplateFunction("ds", lambda mapping, key: mapping.get(key, "")),
    "set": TemplateFunction("dsa", _set),
    "unset": TemplateFunction("ds", _unset),
    "hasKey": TemplateFunction("ds", lambda mapping, key: key in mapping),
    "pluck": TemplateFunction("sd*", lambda key, *maps: [each[key] for each in maps if key in each]),
    "keys": TemplateFunction("d*", _keys),
    "values": TemplateFunction("d", lambda mapping: [mapping[key] for key in go_format.ordered(mapping)]),
    "pick": TemplateFunction("ds*", lambda mapping, *keys: {key: mapping[key] for key in keys if key in mapping}),
    "omit": TemplateFunction(
        "ds*", lambda mapping, *keys: {key: each for key, each in mapping.items() if key not in keys}
    ),
    "merge": TemplateFunction("dd*", _merge),
    "mergeOverwrite": TemplateFunction("dd*", _merge_overwrite),
    "deepCopy": TemplateFunction("a", lambda value: copy.deepcopy(unknown_values.limited_value(value))),
    "dig": TemplateFunction("saa*", _dig),
    "append": TemplateFunction("la", lambda values, value: _listed(values, [value])),
    "prepend": TemplateFunction("la", lambda values, value: _listed([value], values)),
    "concat": TemplateFunction("l*", _listed),
    "first": TemplateFunction("l", lambda values: values[0] if values else None),
    "last": TemplateFunction("l", lambda values: values[-1] if values else None),
    "rest": TemplateFunction("l", lambda values: list(values[1:])),
    "initial": TemplateFunction("l", lambda values: list(values[:-1])),
    "reverse": TemplateFunction("l", lambda values: list(reversed(values))),
    "uniq": TemplateFunction("l", _unique),
    "without": TemplateFunction("la*", lambda values, *out: [each for each in values if each not in out]),
    "has": TemplateFunction("al", lambda value, values: value in values),
    "compact": TemplateFunction("l", lambda values: [each for each in values if go_format.is_true(each)]),
    "sortAlpha": TemplateFunction(
        "l", lambda values: sorted(go_format.printed_text(each) for each in values if each is not None)
    ),
    "kindOf": TemplateFunction("a", _kind_of),
    "kindIs": TemplateFunction("sa", lambda wanted, value: _kind_of(value) == wanted),
    "typeOf": TemplateFunction("a", _kind_of),
    "deepEqual": TemplateFunction(
        "aa", lambda a, b: bool(unknown_values.limited_value(a) == unknown_values.limited_value(b))
    ),
    "toJson": TemplateFunction("a", _to_json),
    "toRawJson": TemplateFunction("a", lambda value: _to_json(value, is_raw=True)),
    "toPrettyJson": TemplateFunction("a", lambda value: _to_json(value, 2)),
    "fromJson": TemplateFunction("s", _from_json),
    "toYaml": TemplateFunction("a", to_yaml),
    "fromYaml": TemplateFunction("s", from_yaml),
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

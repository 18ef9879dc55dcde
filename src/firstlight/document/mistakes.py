"""What is wrong with a file of a known form, in plain words, each with its place and what to write instead."""

import dataclasses
import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from firstlight.document.yaml_reader import YamlDocument, read
from firstlight.errors import ConfigError
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place

_Form = TypeVar("_Form")
_SHOWN = 30
_OPTIONS = 20
_LONGEST = 60
_TYPES = {
    "object": "a mapping (key: value)",
    "array": "a list (- item)",
    "string": "a text",
    "integer": "a number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
_NAME = "Write lower-case letters, digits, - and dots, such as cert-manager."


class OwnExplanation(NamedTuple):
    """What one form says of one kind of mistake at one field, instead of what is said of it everywhere."""

    kind: str
    """As JSON Schema calls what was broken: ``pattern``, ``type``, ``anyOf``."""
    way: tuple[str, ...]
    """The last keys of the way to the field; ``*`` is any, and none at all fits every field."""
    message: str
    """What follows the name of the field."""
    fix: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FormHints:
    """What is known of a form beside its schema."""

    meant: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Its fields by what they are called elsewhere."""
    required: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What to write for a field that is missing."""
    own: tuple[OwnExplanation, ...] = ()
    """The first that fits counts."""


class FormMistakes(ConfigError):
    """Files say something that they must not say; has all diagnostics."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        first, *others = sorted(set(diagnostics))
        super().__init__(first.message, path=str(first.place), hint=first.fix)
        self.path, self.line = first.place.path, first.place.line
        self.diagnostics = (first, *others)
        if others:
            # What to write instead stands below each, not below all of them.
            told = [f"{each.place}: {each.message}{_below(each)}" for each in self.diagnostics[: _SHOWN + 1]]
            told += [f"and {len(others) - _SHOWN} more"] if len(others) > _SHOWN else []
            self.message, self.hint = "\n".join(told), ""


def _below(diagnostic: Diagnostic) -> str:
    return f"\n  {diagnostic.fix}" if diagnostic.fix else ""


def parsed(data: bytes, path: str, form: type[_Form], *, hints: FormHints | None = None) -> tuple[_Form, YamlDocument]:
    """A file as what it must be.

    Raises:
        Mistaken: It is something else.
    """
    contents = read(data, path)
    wrong = [each for each in contents.diagnostics if each.severity is Severity.ERROR or each.code == "key-given-twice"]
    if wrong:
        raise FormMistakes([dataclasses.replace(each, severity=Severity.ERROR) for each in wrong])
    if len(contents.documents) != 1:
        raise FormMistakes(
            [
                Diagnostic.error(
                    "one-document-expected", "it must be one document", at=Place(path), fix="Write one, without ---."
                )
            ]
        )
    document = contents.documents[0]
    try:
        return msgspec.convert(document.value, form, strict=True), document
    except msgspec.ValidationError as error:
        found = list(problems(document, msgspec.json.schema(form), hints=hints))
        raise FormMistakes(found or [Diagnostic.error("field-wrong", str(error), at=document.place())]) from error


def problems(
    document: YamlDocument, schema: Mapping[str, Any], *, hints: FormHints | None = None
) -> Iterator[Diagnostic]:
    """Everything that a schema forbids; only worth looking for where msgspec has found something."""
    import jsonschema_rs

    explaining = _Explaining(document, schema, hints or FormHints())
    for error in jsonschema_rs.validator_for(dict(schema)).iter_errors(document.value):
        yield from explaining.diagnostics(error)


def near(name: str, options: Sequence[str]) -> str:
    """What may have been meant, or what there is."""
    if found := difflib.get_close_matches(name, options, n=1, cutoff=0.6):
        return f"Did you mean {found[0]}?"
    return f"There is {either(options)}." if options else ""


def either(options: Sequence[str]) -> str:
    """``a, b or c``; of many the first."""
    options = [*options[:_OPTIONS], "…"] if len(options) > _OPTIONS else options
    return " or ".join([", ".join(options[:-1]), options[-1]] if len(options) > 1 else options)


def written(steps: Sequence[str | int]) -> str:
    """A way as people write it: ``components.cilium.needs[0]``; empty for the top."""
    return "".join(f"[{each}]" if isinstance(each, int) else f".{short(each)}" for each in steps).removeprefix(".")


def short(name: str) -> str:
    """A stranger's name, cut off where nobody reads on."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


@dataclasses.dataclass(frozen=True, slots=True)
class _Explaining:
    """One document, its schema, and what is known beside that."""

    document: YamlDocument
    schema: Mapping[str, Any]
    hints: FormHints

    def diagnostics(self, error: Any) -> Iterator[Diagnostic]:
        """One error in plain words; each of several forbidden keys is one."""
        steps: list[str | int] = list(error.instance_path)
        facts: Mapping[str, Any] = error.kind.as_dict()
        match error.kind.name:
            case "anyOf" if meant := _meant(facts["context"], len(steps)):
                for each in meant:
                    yield from self.diagnostics(each)
            case "additionalProperties":
                known = _known_fields(self.schema, error.schema_path)
                for name in facts["unexpected"]:
                    place, other = self.document.place(*steps, name), self.hints.meant.get(name, "")
                    hint = f"Did you mean {other}?" if other in known else near(name, known)
                    yield Diagnostic.error(
                        "field-unknown", f"{written([*steps, name])} is no field", at=place, fix=hint
                    )
            case "required":
                name = facts["property"]
                hint = f"Write {name}: {self.hints.required.get(name, '…')}"
                message = f"{written([*steps, name])} is missing"
                yield Diagnostic.error("field-missing", message, at=self.document.place(*steps), fix=hint)
            case "propertyNames":
                name = str(facts["error"].instance)
                place = self.document.place(*steps, name)
                yield Diagnostic.error("field-name-wrong", f"{short(name)} is no name", at=place, fix=_NAME)
            case kind:
                field = written(steps) or "the file"
                own = next((each for each in self.hints.own if each.kind == kind and _fits(each.way, steps)), None)
                says, hint = (own.message, own.fix) if own is not None else _said(kind, facts, error.instance)
                yield Diagnostic.error("field-wrong", f"{field} {says}", at=self.document.place(*steps), fix=hint)


def _said(kind: str, facts: Mapping[str, Any], value: Any) -> tuple[str, str]:
    """What is wrong with a field, and what to write; of what stands there only what is no secret of anybody."""
    match kind:
        case "enum":
            options = [str(each) for each in facts["options"] if each != ""]
            # YAML makes a truth of True; the status of a condition is a text.
            hint = f'Write it in quotes: "{value}".' if isinstance(value, bool) else near(str(value), options)
            return f"must be {either(options)}", hint
        case "type":
            types = [str(each) for each in facts["types"]]
            wanted = " or ".join(_TYPES.get(each, each) for each in types)
            return f"must be {wanted}", _typed(types, value) or f"Write {wanted}."
        case "anyOf":
            return "must be a text, a number, true or false", "Write one value."
        case "pattern":
            return "is no name", _NAME
        case "minProperties" | "minItems" | "minLength":
            return "is empty", "Write at least one entry."
        case "maxLength":
            return f"is longer than {facts['limit']} characters", ""
        case "minimum":
            return f"must be at least {facts['limit']}", ""
        case _:
            return f"is not as it must be ({kind})", ""


def _typed(types: Sequence[str], value: Any) -> str:
    """How to write a value that YAML takes for something else than was meant."""
    if value is None and types[:1] in (["object"], ["array"]):
        return f"Write {'{}' if types[0] == 'object' else '[]'}, or leave the key out."
    if "string" in types and isinstance(value, int | float):
        return f'Write it in quotes: "{value}".'  # YAML makes a number of 1.13, and of 1.10 the same as of 1.1
    return f"Write [{value}]." if types == ["array"] and isinstance(value, str | int | float) else ""


def _meant(contexts: Sequence[Sequence[Any]], depth: int) -> Sequence[Any]:
    """Of several forms the mistakes of the one whose type is right; none where that is no one's."""
    for context in contexts:
        if all(each.kind.name != "type" or len(each.instance_path) > depth for each in context):
            return context
    return ()


def _fits(way: Sequence[str], steps: Sequence[str | int]) -> bool:
    last = [str(each) for each in steps[len(steps) - len(way) :]]
    return len(steps) >= len(way) and all(one in ("*", other) for one, other in zip(way, last, strict=True))


def _known_fields(schema: Mapping[str, Any], path: Sequence[str | int]) -> list[str]:
    """The fields of the section that an error is about."""
    at: Any = schema
    for step in path[:-1]:
        at = at[step]
    return list(at.get("properties", {}))

"""What is wrong with a file of a known form, in plain words, each with its place and what to write instead."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from firstlight.document.reading import Document, read
from firstlight.errors import ConfigError
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark

_Form = TypeVar("_Form")
_SHOWN = 30
_TYPES = {
    "object": "a mapping (key: value)",
    "array": "a list (- item)",
    "string": "a text",
    "integer": "a number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}


class Mistaken(ConfigError):
    """Files with rules or tests say something that they must not say; has all remarks."""

    def __init__(self, remarks: Sequence[Remark]) -> None:
        first, *others = sorted(set(remarks))
        super().__init__(first.message, path=str(first.place), hint=first.hint)
        self.line = first.place.line
        self.remarks = (first, *others)
        more = [f"{each.place}: {each.message}{f'  {each.hint}' if each.hint else ''}" for each in others[:_SHOWN]]
        more += [f"and {len(others) - _SHOWN} more"] if len(others) > _SHOWN else []
        self.message = "\n".join([self.message, *more])


def parsed(data: bytes, path: str, form: type[_Form]) -> tuple[_Form, Document]:
    """A file as what it must be.

    Raises:
        Mistaken: It is something else.
    """
    contents = read(data, path)
    wrong = [each for each in contents.remarks if each.grade is Grade.ERROR or "given twice" in each.message]
    if wrong:
        raise Mistaken([_error(each.place, each.message, each.hint) for each in wrong])
    if len(contents.documents) != 1:
        raise Mistaken([_error(Place(path), "it must be one document", "Write one, without ---.")])
    document = contents.documents[0]
    try:
        return msgspec.convert(document.value, form, strict=True), document
    except msgspec.ValidationError as error:
        found = list(_problems(document, form))
        raise Mistaken(found or [_error(document.place(), str(error), "")]) from error


def near(name: str, options: Sequence[str]) -> str:
    """What may have been meant, or what there is."""
    if found := difflib.get_close_matches(name, options, n=1, cutoff=0.6):
        return f"Did you mean {found[0]}?"
    return f"There is {either(options)}." if options else ""


def either(options: Sequence[str]) -> str:
    """``a, b or c``; of many the first."""
    options = [*options[:20], "…"] if len(options) > 20 else options
    return " or ".join([", ".join(options[:-1]), options[-1]] if len(options) > 1 else options)


def _problems(document: Document, form: type) -> Iterator[Remark]:
    """Everything that the schema forbids; only looked for where msgspec has found something."""
    import jsonschema_rs

    schema = msgspec.json.schema(form)
    for error in jsonschema_rs.validator_for(schema).iter_errors(document.value):
        yield from _explained(document, error, schema)


def _explained(document: Document, error: Any, schema: Mapping[str, Any]) -> Iterator[Remark]:
    """One error in plain words; a forbidden key and each of several is one."""
    steps: list[str | int] = list(error.instance_path)
    facts: Mapping[str, Any] = error.kind.as_dict()
    place, field = document.place(*steps), _written(steps)
    match error.kind.name:
        case "additionalProperties":
            known = _known_fields(schema, error.schema_path)
            for name in facts["unexpected"]:
                yield _error(document.place(*steps, name), f"{_written([*steps, name])} is no field", near(name, known))
        case "required":
            yield _error(place, f"{_written([*steps, facts['property']])} is missing", f"Write {facts['property']}: …")
        case "enum":
            options = [str(each) for each in facts["options"] if each != ""]
            yield _error(place, f"{field} must be {either(options)}", near(str(error.instance), options))
        case "type":
            types = [str(each) for each in facts["types"]]
            wanted = " or ".join(_TYPES.get(each, each) for each in types)
            hint = f"Write {wanted}."
            if types == ["string"] and isinstance(error.instance, int | float):
                hint = f'Write it in quotes: "{error.instance}".'
            if types == ["array"] and isinstance(error.instance, str | int | float):
                hint = f"Write [{error.instance}]."
            yield _error(place, f"{field} must be {wanted}", hint)
        case "anyOf":
            # Of several forms that one is meant whose type is right.
            for context in facts["context"]:
                if all(each.kind.name != "type" or len(each.instance_path) > len(steps) for each in context):
                    for each in context:
                        yield from _explained(document, each, schema)
                    return
            yield _error(place, f"{field} must be a text, a number, true or false", "Write one value.")
        case kind:
            yield _error(place, f"{field} is not as it must be ({kind})", "")


def _known_fields(schema: Mapping[str, Any], path: Sequence[str | int]) -> list[str]:
    at: Any = schema
    for step in path[:-1]:
        at = at[step]
    return list(at.get("properties", {}))


def _written(steps: Sequence[str | int]) -> str:
    """A way as people write it: ``rules[0].when``."""
    text = "".join(f"[{each}]" if isinstance(each, int) else f".{each[:60]}" for each in steps)
    return text.removeprefix(".") or "the file"


def _error(place: Place, message: str, hint: str) -> Remark:
    return Remark(place, Grade.ERROR, message, hint)

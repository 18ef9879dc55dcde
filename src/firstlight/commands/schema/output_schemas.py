"""JSON Schemas of what commands print with ``--output json``, made from the types in each room's ``output_form.py``."""

import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec

from firstlight import commands, errors
from firstlight.cli import output_form
from firstlight.cli.output_form import OutputForm
from firstlight.journal import event_lines
from firstlight.model.event import Event

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MODULE = "output_form"
_REFERENCE = "#/$defs/{name}"
_COMMON = {
    output_form.ERROR: OutputForm(1, (output_form.ErrorData,)),
    output_form.EVENT: OutputForm(event_lines.VERSION, (), has_events=True),
}
"""What is not of one command."""


def names() -> list[str]:
    """Return the commands whose output has a schema, then ``error`` and ``event``, which all of them may print."""
    return [*sorted(_forms()), *_COMMON]


def schema(name: str) -> dict[str, Any]:
    """Return the schema of a command's output, by its words: ``audit``, ``node list``.

    Raises:
        errors.UsageError: No output has this name.
    """
    form = _COMMON.get(name) or _forms().get(name)
    if form is None:
        raise errors.UsageError(
            f"{name!r} is not the name of an output", hint="List them with: firstlight schema output"
        )
    return _whole(name, form)


def identifier(name: str, version: int) -> str:
    """Return the ``$id`` of a schema."""
    return f"https://firstlight.dev/schemas/output/v{version}/{name.replace(' ', '-')}.json"


def _whole(name: str, form: OutputForm) -> dict[str, Any]:
    events: tuple[type[Event], ...] = get_args(Event) if form.has_events else ()
    shapes, defined = msgspec.json.schema_components((*form.shapes, *events), ref_template=_REFERENCE)
    for each in events:
        defined[each.__name__] = _event(each.__name__, defined[each.__name__])
    return {
        "$schema": DIALECT,
        "$id": identifier(name, form.version),
        "title": name if name in _COMMON else f"firstlight {name} --output json",
        "version": form.version,
        **(shapes[0] if len(shapes) == 1 else {"anyOf": list(shapes)}),
        "$defs": dict(sorted(defined.items())),
    }


def _event(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """An event as a line of a journal has it: its version and type come first."""
    own = {"v": {"const": event_lines.VERSION}, "type": {"const": name}}
    return {
        **fields,
        "properties": {**own, **fields["properties"]},
        "required": [*own, *fields.get("required", ())],
    }


@functools.cache
def _forms() -> Mapping[str, OutputForm]:
    return {name: form for room in _rooms() for name, form in room.items()}


def _rooms() -> Iterator[Mapping[str, OutputForm]]:
    for room in pkgutil.iter_modules(commands.__path__):
        module = f"{commands.__name__}.{room.name}.{_MODULE}"
        if importlib.util.find_spec(module) is not None:
            outputs: Mapping[str, OutputForm] = importlib.import_module(module).OUTPUTS
            yield outputs

"""What an override has changed of objects, field by field, without the values of Secrets."""

import json
import re
from collections.abc import Mapping
from typing import Any

from firstlight.execute.overriding import owned_fields
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, FieldChange
from firstlight.ownership import field_values
from firstlight.ownership.field_set import FieldSet, path_text
from firstlight.ownership.field_values import ABSENT

HIDDEN = "(hidden)"
NOTHING = "(not there)"
_LONGEST = 200
_SECRET = re.compile(r"passw|token|secret|credential|api.?key|private.?key", re.IGNORECASE)


def changes(id: ObjectId, live: Mapping[str, Any] | None, before: Mapping[str, Any] | None) -> tuple[FieldChange, ...]:
    """Before and after of everything that the emergency manager has of an object."""
    if live is None:
        return (FieldChange(object=id, field="", before="there", after=NOTHING),) if before is not None else ()
    found = []
    if before is None and owned_fields.of(live, MANAGER):
        found.append(FieldChange(object=id, field="", before=NOTHING, after="there"))
    for path in owned_fields.leaves(owned_fields.of(live, MANAGER)):
        old = field_values.at(before, path) if before is not None else ABSENT
        new = field_values.at(live, path)
        name = path_text(path)
        if not field_values.is_same(old, new):
            found.append(
                FieldChange(object=id, field=name, before=shown(old, id, name), after=shown(new, id, name))
            )  # fmt: skip
    return tuple(found)


def others(live: Mapping[str, Any] | None, recorded: tuple[str, ...]) -> tuple[str, ...]:
    """Fields that the override has changed and somebody else has changed since, with their new owners."""
    if live is None:
        return ()
    mine = {path_text(path) for path in owned_fields.of(live, MANAGER).paths}
    lost = [each for each in recorded if each not in mine]
    if not lost:
        return ()
    by_text: dict[str, str] = {}
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        paths = FieldSet.of(entry.get("fieldsV1")).paths
        by_text |= {path_text(path): str(entry.get("manager") or "") for path in paths}
    return tuple(f"{each} (by {by_text[each]})" if each in by_text else f"{each} (gone)" for each in lost)


def shown(value: Any, id: ObjectId, field: str = "") -> str:
    """A value for people; what is secret, or is called so, is hidden."""
    if value is ABSENT:
        return NOTHING
    if id.is_secret or _SECRET.search(field):
        return HIDDEN
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

"""The JSON of ``firstlight change``: records of changes."""

from typing import TypedDict

from firstlight.cli.output_form import OutputForm
from firstlight.commands.change.change_record import ChangeRecord


class ChangesData(TypedDict):
    """All changes that were carried through from this clone, newest first."""

    changes: list[ChangeRecord]


OUTPUTS = {
    "change list": OutputForm(1, (ChangesData,)),
    "change resume": OutputForm(1, (ChangeRecord,)),
    "change revert": OutputForm(1, (ChangeRecord,)),
    "change show": OutputForm(1, (ChangeRecord,)),
    "change start": OutputForm(1, (ChangeRecord,)),
}

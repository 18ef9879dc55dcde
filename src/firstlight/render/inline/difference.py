"""What is different between two sets of objects, in a form that shows no secrets."""

import difflib
from collections.abc import Sequence

from firstlight.model.inline import Change, What
from firstlight.model.rendition import Object
from firstlight.render.inline import confidential, contents

_CONTEXT = 3


def between(old: Sequence[Object], new: Sequence[Object], *, path: str) -> tuple[Change, ...]:
    """The objects that are in one of both only, or differ; in the order in which Talos applies them.

    Args:
        old: What stands in the file.
        new: What is to stand there.
        path: What the file is called.
    """
    before, after = ({each.id: each for each in objects} for objects in (old, new))
    found = []
    for each in contents.in_order({**before, **after}.values()):
        was, is_ = before.get(each.id), after.get(each.id)
        if was is not None and is_ is not None:
            if contents.fingerprint(was) != contents.fingerprint(is_):
                found.append(Change(id=each.id, what=What.CHANGED, lines=_lines(was, is_, path)))
        elif is_ is not None:
            found.append(Change(id=each.id, what=What.ADDED, lines=_lines(None, is_, path)))
        else:
            found.append(Change(id=each.id, what=What.REMOVED, lines=_lines(was, None, path)))
    return tuple(found)


def _lines(old: Object | None, new: Object | None, path: str) -> tuple[str, ...]:
    """A unified diff of one object, with masks where its secrets are."""
    shown = str((new or old or Object({})).id)
    one = contents.text(confidential.masked(old)).splitlines() if old else []
    other = contents.text(confidential.masked(new, other=old)).splitlines() if new else []
    # What both begin and end with is taken off: a diff of a CRD with ten thousand lines takes seconds else.
    head = _common(one, other)
    tail = _common(one[head:][::-1], other[head:][::-1])
    first = max(head - _CONTEXT, 0)
    last = max(tail - _CONTEXT, 0)
    diff = difflib.unified_diff(
        one[first : len(one) - last], other[first : len(other) - last],
        f"{path}: {shown}", f"rendered: {shown}", lineterm="", n=_CONTEXT,
    )  # fmt: skip
    return tuple(_shifted(line, first) for line in diff)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _shifted(line: str, first: int) -> str:
    """A line of a diff; the numbers of a hunk count from the beginning of the object."""
    if not first or not line.startswith("@@ -"):
        return line
    _, old, new, _ = line.split(" ", 3)
    return f"@@ {_moved(old, first)} {_moved(new, first)} @@"


def _moved(span: str, first: int) -> str:
    start, comma, length = span[1:].partition(",")
    return f"{span[0]}{int(start) + first}{comma}{length}"

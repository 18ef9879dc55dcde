"""Files with edits spliced in: what was not asked for does not change, not a space and not a comment."""

import json
from collections.abc import Iterable

from firstlight import errors
from firstlight.document import splicing
from firstlight.model.finding import Edit, EditVerb
from firstlight.repo.work_tree import WorkTree


def files(tree: WorkTree, edits: Iterable[Edit]) -> dict[str, str | None]:
    """The texts of files after edits, None for those that go; equal edits are made once.

    Raises:
        errors.ConfigError: One cannot be made without changing something else.
    """
    texts: dict[str, str | None] = {}
    done: list[Edit] = []
    for edit in edits:
        if edit in done:
            continue
        done.append(edit)
        if edit.path in texts and texts[edit.path] is None:
            raise errors.ConfigError("the file goes, and is edited as well", path=edit.path)
        texts[edit.path] = _edited(texts.get(edit.path) or _text(tree, edit), edit)
    for path, text in texts.items():
        if path.endswith(".json") and text is not None and not _is_json(text):
            raise errors.ConfigError("it is JSON, which the edit is not", path=path)
    return texts


def _is_json(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _text(tree: WorkTree, edit: Edit) -> str:
    if edit.verb is EditVerb.WRITE:
        if tree.is_file(edit.path):
            raise errors.ConfigError("the file is there already, and is not written over", path=edit.path)
        return ""
    data = tree.bytes(edit.path)
    if data is None:
        raise errors.ConfigError("the file cannot be read", path=edit.path)
    # Not ``text``: line ends and a byte-order mark stay as they are.
    return data.decode()


def _edited(text: str, edit: Edit) -> str | None:
    match edit.verb:
        case EditVerb.SET:
            return splicing.set_value(text, edit.steps, edit.value, document=edit.document, path=edit.path)
        case EditVerb.REMOVE:
            return splicing.remove(text, edit.steps, document=edit.document, path=edit.path)
        case EditVerb.APPEND:
            return splicing.append(text, edit.steps, edit.value, document=edit.document, path=edit.path)
        case EditVerb.WRITE:
            return str(edit.value)
        case EditVerb.DELETE:
            return None

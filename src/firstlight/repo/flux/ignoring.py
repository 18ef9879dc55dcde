"""Files that a source leaves out of what it fetches: Flux does not have them, whatever the repo holds."""

import re
from collections.abc import Collection

from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo.flux import kinds
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

_SIMPLE = re.compile(r"/\*|!/(?P<kept>[\w.-]+)(?:/.*)?|(?:\*\*/)?\*\.(?!ya?ml)\w+")
"""What most repos write: leave everything at the top out, but for some directories; and files that are no YAML."""


def remarks(tree: WorkTree, source: Manifest | None, files: Collection[str]) -> list[Remark]:
    """What to say of files that have a part in a cluster's tree, and that its source may leave out."""
    found = []
    for place, written in _written(tree, source):
        lines = [line.strip() for line in written.splitlines()]
        patterns = [line for line in lines if line and not line.startswith("#")]
        simple = [_SIMPLE.fullmatch(line) for line in patterns]
        if any(each is None for each in simple):
            message = "patterns of files that are not fetched are not followed; some that are read here may be missing"
            found.append(Remark(place, Grade.UNKNOWN, message))
        elif "/*" in patterns:
            kept = {each["kept"] for each in simple if each is not None}
            left_out = sorted(each for each in files if each.partition("/")[0] not in kept)
            if left_out:
                message = f"{left_out[0]} is not fetched, but the cluster's tree needs it"
                found.append(Remark(place, Grade.ERROR, message, f"add !/{left_out[0].partition('/')[0]}"))
    return found


def _written(tree: WorkTree, source: Manifest | None) -> list[tuple[Place, str]]:
    found = []
    if source is not None and (ignore := kinds.text(kinds.spec(source).get("ignore"))):
        found.append((source.at("spec", "ignore"), ignore))
    if tree.is_file(".sourceignore"):
        found.append((Place(".sourceignore"), tree.text(".sourceignore") or ""))
    return found

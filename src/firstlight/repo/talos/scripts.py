"""Which scripts of a repo name a file; what they do with it is the business of another reader."""

import re
from collections.abc import Iterable

from firstlight.repo.work_tree import WorkTree

_SCRIPT = re.compile(
    r"(^|/)(\.?[Tt]askfile[^/]*|\.?[Jj]ustfile|[Mm]akefile|[^/]+\.(just|sh|bash|mk))$|(^|/)\.?taskfiles?/.+\.ya?ml$"
)


def naming(tree: WorkTree, names: Iterable[str]) -> dict[str, str]:
    """Those of some file names that stand in a Taskfile, justfile, Makefile or shell script, with the first one."""
    patterns = {name: re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])") for name in names}
    found: dict[str, str] = {}
    for path in tree.files if patterns else ():
        if _SCRIPT.search(path) and (text := tree.text(path)):
            for name, pattern in patterns.items():
                if name not in found and name in text and pattern.search(text):
                    found[name] = path
    return found

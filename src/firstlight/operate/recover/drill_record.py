"""The record of drills in the repo, which ``audit`` reads: a line more for each that went well."""

import datetime
from pathlib import Path

import yaml

from firstlight import errors
from firstlight.execute import lasting
from firstlight.model.recovery import Drilled
from firstlight.policy.auditing.checks.drills import RECORD


def append(root: Path, drilled: Drilled, *, now: float) -> Path:
    """Add a drill to the record; the file.

    Args:
        root: The repo.
        drilled: What came of it.
        now: When it was.

    Raises:
        errors.Refused: What is there is no list, or the file cannot be written.
    """
    path = root / RECORD
    day = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
    what = (
        f"{drilled.scenario}: diagnosed in {drilled.diagnosed:.0f} s, repaired in {drilled.repaired:.0f} s by "
        f"{drilled.option}, nothing lost of {drilled.compared} objects"
    )
    entry = {"cluster": drilled.cluster, "day": day, "what": what}
    line = yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, width=10_000).strip()
    if path.is_symlink() or path.parent.is_symlink():
        raise errors.Refused(f"{RECORD} is a link: it is not followed", hint="Put a file in its place.")
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    after = f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}- {line}\n"
    if not _is_one_more(before, after):
        raise errors.Refused(
            f"{RECORD} is no list of drills with a line each, so that nothing was added", hint=f"Add it: - {line}"
        )
    try:
        path.parent.mkdir(exist_ok=True)
        lasting.write(path, after.encode())
        path.chmod(0o644)  # it is for everybody who has the repo
    except OSError as error:
        raise errors.Refused(
            f"{RECORD} cannot be written: {error.strerror or error}", hint=f"Add it: - {line}"
        ) from error
    return path


def _is_one_more(before: str, after: str) -> bool:
    try:
        old, new = (yaml.safe_load(each) for each in (before, after))
    except yaml.YAMLError:
        return False
    known = old or []
    return isinstance(known, list) and isinstance(new, list) and new[:-1] == known and len(new) == len(known) + 1

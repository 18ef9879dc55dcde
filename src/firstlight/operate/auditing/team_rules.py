"""A team's own audit rules, in ``firstlight-rules/audit``, and those that installed packages bring."""

from collections.abc import Iterator
from pathlib import Path

from firstlight import errors
from firstlight.operate import team_links
from firstlight.policy import team_files
from firstlight.policy.auditing import baseline as baselines
from firstlight.policy.auditing import loading
from firstlight.policy.auditing.baseline import Baseline
from firstlight.policy.auditing.loading import Book
from firstlight.repo.work_tree import YAML, WorkTree

DIRECTORY = f"{team_files.DIRECTORY}/audit"
TESTS = (".test.yaml", ".test.yml")

File = tuple[str, bytes]


def book(tree: WorkTree) -> Book:
    """Our rules, before them those of packages, and before those a team's.

    Raises:
        errors.ConfigError: A file says something that it must not say, or is behind a link.
    """
    team_links.check(tree)
    rules = [each for each in of_tree(tree) if not each[0].endswith(TESTS) and each[0] != baselines.FILE]
    return loading.book(rules, packaged())


def packaged() -> list[loading.PackagedRule]:
    """The rules of installed packages.

    Raises:
        errors.ToolError: A package cannot be loaded.
    """
    try:
        return loading.packaged_rules()
    except (Exception, SystemExit) as error:
        hint = f"It has an entry point of the group {loading.ENTRY_POINTS}: repair or uninstall it."
        raise errors.ToolError(f"a package with audit rules cannot be loaded: {error}", hint=hint) from error


def baseline(tree: WorkTree, file: Path | None) -> Baseline:
    """What is known and excused: in the file that is named, or in the one of the repo, if it has one.

    Raises:
        errors.UsageError: The file that is named cannot be read.
        errors.ConfigError: It says something that it must not say.
    """
    if file is not None:
        try:
            return baselines.read(file.read_bytes(), str(file))
        except OSError as error:
            raise errors.UsageError(f"{file} cannot be read: {error.strerror or error}") from error
    content = tree.bytes(baselines.FILE) if tree.is_file(baselines.FILE) else None
    return baselines.read(content, baselines.FILE) if content is not None else Baseline()


def of_tree(tree: WorkTree) -> Iterator[File]:
    """The YAML files of the directory."""
    for name in tree.listing(DIRECTORY):
        path = f"{DIRECTORY}/{name}"
        content = tree.bytes(path) if name.endswith(YAML) else None
        if content is not None:
            yield path, content

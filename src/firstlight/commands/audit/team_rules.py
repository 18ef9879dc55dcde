"""A team's own audit rules, in ``firstlight-rules/audit``, and those that installed packages bring."""

from collections.abc import Iterator
from pathlib import Path

from firstlight import errors
from firstlight.commands.audit import baseline as audit_baseline
from firstlight.commands.audit import rulebook
from firstlight.commands.audit.baseline import AuditBaseline
from firstlight.commands.audit.rulebook import AuditRulebook
from firstlight.repo import team_files
from firstlight.repo.work_tree import YAML, WorkTree

DIRECTORY = f"{team_files.DIRECTORY}/audit"
TESTS = (".test.yaml", ".test.yml")

File = tuple[str, bytes]


def book(tree: WorkTree) -> AuditRulebook:
    """Our rules, before them those of packages, and before those a team's.

    Raises:
        errors.ConfigError: A file says something that it must not say, or is behind a link.
    """
    team_files.check_links(tree)
    rules = [each for each in of_tree(tree) if not each[0].endswith(TESTS) and each[0] != audit_baseline.FILE]
    return rulebook.read_rulebook(rules, packaged())


def packaged() -> list[rulebook.PackagedRule]:
    """The rules of installed packages.

    Raises:
        errors.ToolError: A package cannot be loaded.
    """
    try:
        return rulebook.packaged_rules()
    except (Exception, SystemExit) as error:
        hint = f"It has an entry point of the group {rulebook.ENTRY_POINTS}: repair or uninstall it."
        raise errors.ToolError(f"a package with audit rules cannot be loaded: {error}", hint=hint) from error


def baseline(tree: WorkTree, file: Path | None) -> AuditBaseline:
    """What is known and excused: in the file that is named, or in the one of the repo, if it has one.

    Raises:
        errors.UsageError: The file that is named cannot be read.
        errors.ConfigError: It says something that it must not say.
    """
    if file is not None:
        try:
            return audit_baseline.read(file.read_bytes(), str(file))
        except OSError as error:
            raise errors.UsageError(f"{file} cannot be read: {error.strerror or error}") from error
    content = tree.bytes(audit_baseline.FILE) if tree.is_file(audit_baseline.FILE) else None
    return audit_baseline.read(content, audit_baseline.FILE) if content is not None else AuditBaseline()


def of_tree(tree: WorkTree) -> Iterator[File]:
    """The YAML files of the directory."""
    for name in tree.listing(DIRECTORY):
        path = f"{DIRECTORY}/{name}"
        content = tree.bytes(path) if name.endswith(YAML) else None
        if content is not None:
            yield path, content

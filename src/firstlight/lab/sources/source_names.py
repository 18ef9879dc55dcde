"""What things may be called: a name that passes is safe as a path below its server's directory, and as an argument."""

import re

from firstlight import errors

_GIT_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}"
GIT = re.compile(rf"{_GIT_SEGMENT}(?:/{_GIT_SEGMENT}){{1,7}}")
_OCI_SEGMENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
OCI = re.compile(rf"{_OCI_SEGMENT}(?:/{_OCI_SEGMENT})*")
OCI_LENGTH = 255
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
CHARTS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
CHART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,249}")
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}")


def is_git(name: str) -> bool:
    """Whether a Git repository may have this name; ``.git`` at the end of an address is no part of it."""
    return bool(GIT.fullmatch(name)) and not any(part.endswith((".git", ".lock", ".")) for part in name.split("/"))


def git_name(name: str) -> str:
    """The name of a Git repository, without a trailing ``.git``.

    Raises:
        errors.UsageError: It cannot be one.
    """
    plain = name.removesuffix(".git")
    if not is_git(plain):
        raise errors.UsageError(
            f"{name!r} cannot be the name of a Git repository",
            hint="It is <owner>/<repository>: letters, digits, '.', '_' and '-'.",
        )
    return plain


def is_oci(name: str) -> bool:
    """Whether an OCI repository may have this name."""
    return len(name) <= OCI_LENGTH and bool(OCI.fullmatch(name))


def oci_name(name: str) -> str:
    """The name of an OCI repository.

    Raises:
        errors.UsageError: It cannot be one.
    """
    if not is_oci(name):
        raise errors.UsageError(
            f"{name!r} cannot be the name of an OCI repository",
            hint="Lower-case letters and digits, joined by '.', '_', '-' and '/'.",
        )
    return name


def tag_name(name: str) -> str:
    """The name of a tag in the registry.

    Raises:
        errors.UsageError: It cannot be one.
    """
    if not TAG.fullmatch(name):
        raise errors.UsageError(f"{name!r} cannot be a tag of the registry")
    return name


def charts_name(name: str) -> str:
    """The name of a Helm repository.

    Raises:
        errors.UsageError: It cannot be one.
    """
    if not CHARTS.fullmatch(name):
        raise errors.UsageError(f"{name!r} cannot be the name of a Helm repository")
    return name


def branch_name(name: str) -> str:
    """The name of a branch or a tag in Git.

    Raises:
        errors.UsageError: It cannot be one.
    """
    odd = any(part.endswith((".", ".lock")) or part.startswith(".") or not part for part in name.split("/"))
    if not _BRANCH.fullmatch(name) or ".." in name or odd:
        raise errors.UsageError(f"{name!r} cannot be the name of a branch or tag")
    return name


def file_path(path: str) -> str:
    """The path of a file in a commit or an artifact.

    Raises:
        errors.UsageError: It would be somewhere else, or in Git's own directory.
    """
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts) or not path.isprintable():
        raise errors.UsageError(f"{path!r} cannot be the path of a file in a repository")
    return path

"""Whether an engine is at the commit that was rendered, as it writes commits."""

import re

_COMMIT = re.compile(r"(?:|.*@)(?:(?:sha1:)?([0-9a-f]{40})|(?:(?<=@)sha256:)?([0-9a-f]{64}))", re.DOTALL)
"""Of a repository with SHA-1 or with SHA-256; a bare ``sha256:…`` is an artifact's digest."""


def commit(revision: str) -> str:
    """The commit in a revision: of ``main@sha1:…``, of a bare one; empty for a digest or a version.

    ``main@sha256:…`` may be a commit or the digest of an artifact: only whoever knows the source can tell.
    """
    found = _COMMIT.fullmatch(revision)
    return (found[1] or found[2]) if found else ""


def is_at(revision: str, expected: str) -> bool:
    """Whether a revision is the expected commit; what has no commit in it cannot be held against one."""
    found, wanted = commit(revision), commit(expected)
    is_digest = len(found) > len(wanted)  # a repository with SHA-1 has no commits so long
    return not wanted or not found or is_digest or found == wanted


def short(revision: str) -> str:
    """A revision for people: ``main@3f2a91c``."""
    if found := commit(revision):
        branch, mark, _ = revision.rpartition("@")
        return f"{branch}@{found[:7]}" if mark else found[:7]
    return revision if len(revision) <= 40 else f"{revision[:39]}…"


def is_same_repository(one: str, other: str) -> bool:
    """Whether two URLs mean the same repository, whatever they are reached by."""
    return bool(one) and _bare(one) == _bare(other)


def _bare(url: str) -> str:
    rest = re.sub(r"^[a-z+]+://", "", url.strip().lower())
    rest = rest.partition("@")[2] or rest
    rest = re.sub(r"^([^/:]+):(?!\d+/)", r"\1/", rest)
    return re.sub(r"^([^/:]+):\d+/", r"\1/", rest).removesuffix("/").removesuffix(".git")

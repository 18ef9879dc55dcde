"""Whether an engine is at the commit that was rendered, as it writes commits."""

import re

_SHA1 = re.compile(r"[0-9a-f]{40}")


def commit(revision: str) -> str:
    """The commit in a revision: of ``main@sha1:…``, of a bare one; empty for a digest or a version."""
    _, mark, digest = revision.rpartition("@sha1:")
    bare = digest if mark else revision.removeprefix("sha1:")
    return bare if _SHA1.fullmatch(bare) else ""


def is_at(revision: str, expected: str) -> bool:
    """Whether a revision is the expected commit; what has no commit in it cannot be held against one."""
    found, wanted = commit(revision), commit(expected)
    return not wanted or not found or found == wanted


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

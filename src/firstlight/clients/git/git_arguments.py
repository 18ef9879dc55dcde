"""Revisions, branches, paths and people, checked before they become arguments.

They come from repositories and from users. Nothing passes that Git could read as an option, as a pattern, as a range
of revisions, or as a place outside the repository.
"""

import re

from firstlight import errors

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FORBIDDEN_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_REVISION = re.compile(r"(?P<base>[^~^]+)(?:[~^][0-9]*)*")
_FORBIDDEN_IN_PERSON = re.compile(r"[\x00-\x1f\x7f<>]")
_LONGEST = 250


def is_hash(text: str) -> bool:
    """Whether a text is the whole name of an object."""
    return _HASH.fullmatch(text) is not None


def revision(text: str) -> str:
    """A commit as people name it: a hash, a branch, a tag, ``HEAD~3``; never a range or a search.

    Raises:
        errors.UsageError: It is something else.
    """
    match = _REVISION.fullmatch(text)
    if match is None or len(text) > _LONGEST or text.startswith("-") or _FORBIDDEN_IN_REF.search(match["base"]):
        raise errors.UsageError(f"{_shown(text)} does not name a commit", hint="write a hash, a branch or a tag")
    return text


def branch(text: str) -> str:
    """The short name of a branch or a tag, by the rules of git-check-ref-format.

    Raises:
        errors.UsageError: It is something else.
    """
    parts = text.split("/")
    if (
        not text
        or len(text) > _LONGEST
        or text.startswith("-")
        or text in {"@", "HEAD"}
        or text.endswith(".")
        or _FORBIDDEN_IN_REF.search(text)
        or any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)
    ):
        raise errors.UsageError(f"{_shown(text)} is not the name of a branch or tag")
    return text


def path(text: str) -> str:
    """A path in a repository, relative to its top, as Git stores it.

    Raises:
        errors.UsageError: It is something else.
    """
    parts = text.split("/")
    if not text or "\0" in text or any(part in {"", ".", ".."} for part in parts):
        raise errors.UsageError(f"{_shown(text)} is not a path in a repository", hint="write it relative to the top")
    return text


def person(text: str) -> str:
    """The name or the address of somebody who commits.

    Raises:
        errors.UsageError: Git would change it, or read it as something else.
    """
    if not text.strip() or _FORBIDDEN_IN_PERSON.search(text):
        raise errors.UsageError(f"{_shown(text)} is not a name or an address for a commit")
    return text


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "…")

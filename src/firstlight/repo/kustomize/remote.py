"""Resources that are not in the repo, as kustomize writes them: URLs of files, and Git URLs in many spellings."""

import re
from urllib.parse import parse_qs

from firstlight.model.source import Remote

_SCHEMES = ("ssh://", "https://", "http://", "file://")
_USER = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*@")
_RELEASE = re.compile(r"https://github\.com/[^/]+/[^/]+/releases/download/(?P<revision>[^/]+)/.+")
_RAW = re.compile(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/(?:refs/(?:tags|heads)/)?(?P<revision>[^/]+)/.+")
_FILE = (".yaml", ".yml", ".json")


def parse(text: str) -> Remote | None:
    """What a resource names elsewhere; None where it is a path."""
    bare, _, query = text.partition("?")
    if text.lower().startswith(("http://", "https://")) and bare.endswith(_FILE):
        found = _RELEASE.fullmatch(bare) or _RAW.fullmatch(bare)
        return Remote(url=text, revision=found["revision"] if found else "")
    if text.startswith("/"):
        return None
    bare = bare[5:] if bare.lower().startswith("git::") else bare
    scheme = next((each for each in _SCHEMES if bare.lower().startswith(each)), "")
    rest = bare[len(scheme) :]
    user = _USER.match(rest)
    rest = rest[user.end() :] if user else rest
    is_github = rest.lower().startswith(("github.com/", "github.com:"))
    if not scheme and not user and not is_github:
        return None
    separators = [at for at in (rest.find("/"), rest.find(":") if not scheme else -1) if at > 0]
    if not separators:
        return None
    at = min(separators) + 1
    host, rest = rest[:at], rest[at:]
    if is_github and not user and scheme != "ssh://":
        scheme, host = "https://", "github.com/"
    repo, path = _parted(rest, whole=scheme == "file://")
    if not repo:
        return None
    values = parse_qs(query)
    revision = (values.get("ref") or values.get("version") or [""])[0]
    return Remote(url=f"{scheme}{user[0] if user else ''}{host}{repo}", revision=revision, path=path.strip("/"))


def _parted(rest: str, *, whole: bool) -> tuple[str, str]:
    """The repository and the directory in it."""
    if "_git/" in rest:
        before, _, after = rest.partition("_git/")
        name, _, path = after.partition("/")
        return f"{before}_git/{name}", path
    if "//" in rest:
        repo, _, path = rest.partition("//")
        return repo, path
    if ".git" in rest:
        repo, _, path = rest.partition(".git")
        return f"{repo}.git", path
    parts = rest.split("/")
    if whole:
        return rest, ""
    return ("/".join(parts[:2]), "/".join(parts[2:])) if len(parts) > 1 else ("", "")

"""Which paths of a kustomization are not paths but places on the network."""

import re
import urllib.parse

from firstlight import errors
from firstlight.model import remote_url

# kustomize takes these for URLs before it looks for a file, whatever the case; so a file of such a name is no excuse.
_REMOTE = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:|[a-z][a-z0-9-]*@|github\.com[:/])", re.IGNORECASE)
_SHORT = re.compile(r"github\.com/", re.IGNORECASE)
_QUERY = frozenset({"ref", "version", "timeout", "submodules"})
_VALUE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./+-]*")


def is_remote(text: str) -> bool:
    """Whether kustomize would fetch this instead of opening it."""
    return _REMOTE.match(text) is not None


def is_harmless(text: str) -> bool:
    """Whether a remote resource may be fetched where fetching is allowed: by https, and with nothing but a revision.

    kustomize hands the parts of the URL to git as arguments, without looking at them.
    """
    url, _, query = text.partition("?")
    try:
        remote_url.RemoteUrl.parse(f"https://{url}" if _SHORT.match(url) else url, schemes=["https"])
        fields = urllib.parse.parse_qsl(query, strict_parsing=True) if query else []
    except (errors.UsageError, ValueError):
        return False
    return all(name in _QUERY and _VALUE.fullmatch(value) for name, value in fields)

"""Names, versions and references, checked before they become arguments."""

import re
from collections.abc import Collection

from firstlight import errors
from firstlight.model import remote_url, versions

_RELEASE = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_CHART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[0-9A-Za-z.+*^~<>=!|, _-]+")
_API_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(?:/[A-Za-z0-9]+){0,2}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_OCI_PATH = re.compile(r"(?:/[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)+")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?")


def release(text: str) -> str:
    """The name of a release, by Helm's own rule."""
    if len(text) > 53 or not _RELEASE.fullmatch(text):
        raise errors.UsageError(f"{_shown(text)} is not the name of a release")
    return text


def namespace(text: str) -> str:
    """The name of a namespace."""
    if not _NAMESPACE.fullmatch(text):
        raise errors.UsageError(f"{_shown(text)} is not the name of a namespace")
    return text


def chart(text: str) -> str:
    """The name of a chart in a repository."""
    if len(text) > 250 or not _CHART.fullmatch(text) or ".." in text:
        raise errors.UsageError(f"{_shown(text)} is not the name of a chart")
    return text


def version(text: str) -> str:
    """A version, or a range of versions."""
    if len(text) > 250 or not _VERSION.fullmatch(text) or text.startswith("-"):
        raise errors.UsageError(f"{_shown(text)} is not a version", hint="write 1.2.3, or a range such as ^1.2")
    return text


def kube_version(text: str) -> str:
    """A version of Kubernetes."""
    if not versions.is_kubernetes(text):
        raise errors.UsageError(f"{_shown(text)} is not a version of Kubernetes", hint="write 1.34.1")
    return text


def api_version(text: str) -> str:
    """An API that templates may ask for: ``monitoring.coreos.com/v1``, or with a kind behind it."""
    if not _API_VERSION.fullmatch(text):
        raise errors.UsageError(f"{_shown(text)} is not a version of an API")
    return text


def template(text: str) -> str:
    """The path of a template in a chart."""
    parts = text.split("/")
    if not text or "\0" in text or "," in text or any(part in {"", ".", ".."} for part in parts) or text[0] == "-":
        raise errors.UsageError(f"{_shown(text)} is not the path of a template")
    return text


def digest(text: str) -> str:
    """A digest."""
    if not _DIGEST.fullmatch(text):
        raise errors.UsageError(f"{_shown(text)} is not a digest", hint="write sha256: and 64 digits")
    return text


def label(name: str, value: str) -> str:
    """A label and its value as an option wants them."""
    if not _LABEL.fullmatch(name) or (value and not _LABEL.fullmatch(value)):
        raise errors.UsageError(f"{_shown(f'{name}={value}')} is not a label")
    return f"{name}={value}"


def line(text: str) -> str:
    """A text of one line for people."""
    if not text.isprintable():
        raise errors.UsageError(f"{_shown(text)} is not a text of one line")
    return text


def oci(text: str) -> remote_url.RemoteUrl:
    """The place of a chart, or of a directory of them, in a registry."""
    url = remote_url.RemoteUrl.parse(text, schemes=["oci"])
    if not _OCI_PATH.fullmatch(url.path):
        raise errors.UsageError(
            f"{_shown(text)} is not the name of a chart in a registry", hint="versions and digests are given apart"
        )
    return url


def repository(text: str, *, plain_http: Collection[str]) -> remote_url.RemoteUrl:
    """The URL of a repository; without TLS only at addresses for which that is allowed."""
    url = remote_url.RemoteUrl.parse(text, schemes=["https", "http"])
    if url.scheme == "http" and url.address not in plain_http:
        raise errors.UsageError(f"{_shown(text)} is not https, and {url.address} may not be spoken to without TLS")
    return url


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "…")

"""Versions: every way in which one is read from a text, from the strictest to the most lenient.

Talos, Kubernetes, Helm charts and images write versions differently, and callers differ in what they may accept: what
becomes an argument of a program is checked more strictly than what is only compared. Each way has a name here. What
becomes of a version in a change, and ranges of versions, are in ``plan.version_bump``.
"""

import re
from typing import NamedTuple

Line = tuple[int, int]
"""Major and minor."""

_THREE = r"[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,6}"
_PRE = r"-[0-9A-Za-z.-]+"
_BUILD = r"\+[0-9A-Za-z.-]+"


# Whole versions, and how far one is from another.


_WHOLE = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:-([0-9A-Za-z.-]+))?")


class WholeVersion(NamedTuple):
    """A version that can be compared; one before a release is less than the release."""

    major: int
    minor: int
    patch: int
    is_release: bool
    before: tuple[tuple[bool, int, str], ...] = ()

    @property
    def line(self) -> Line:
        """Major and minor."""
        return self.major, self.minor


def parse_version(text: str) -> WholeVersion | None:
    """Read a version such as ``v1.13.1`` or ``1.14.0-beta.1``; None for anything else."""
    match = _WHOLE.fullmatch(text.strip())
    if match is None:
        return None
    pieces = match[4].split(".") if match[4] else []
    rest = tuple((not each.isdecimal(), int(each) if each.isdecimal() else 0, each) for each in pieces)
    return WholeVersion(int(match[1]), int(match[2]), int(match[3]), not rest, rest)


def with_v(text: str) -> str:
    """Write a version as Talos writes its own: with a ``v``."""
    return f"v{text.strip().removeprefix('v')}"


# Major and minor.


_LINE_FIRST = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?![0-9])")
_LINE_WITHIN = re.compile(r"v?([0-9]+)\.([0-9]+)")
_LINE_ALONE = re.compile(r"v?([0-9]+)\.([0-9]+)(?:\.[0-9]+)?(?:[-+].*)?")


def minor(text: str) -> Line | None:
    """Return major and minor of the version that a text begins with: ``v1.36.2``, ``6.12.40-talos``, ``1.13``."""
    return _line(_LINE_FIRST.match(text.strip()))


def minor_within(text: str) -> Line | None:
    """Return major and minor of the first version anywhere in a text: ``Talos (v1.13.0)``."""
    return _line(_LINE_WITHIN.search(text))


def minor_alone(text: str) -> Line | None:
    """Return major and minor of a text that is one version and nothing else; None for a range."""
    return _line(_LINE_ALONE.fullmatch(text))


def _line(match: re.Match[str] | None) -> Line | None:
    return (int(match[1]), int(match[2])) if match else None


# Three numbers.


_RELEASE = re.compile(r"v?([0-9]+\.[0-9]+\.[0-9]+)")
_TAG = re.compile(rf":{_RELEASE.pattern}")
_IN_URL = re.compile(rf"(?<![0-9A-Za-z])v?{_THREE}(?:-(?:alpha|beta|rc)[0-9.]{{0,6}})?(?![0-9A-Za-z])")
_ANY_IN_URL = re.compile(r"v?[0-9]+(?:\.[0-9]+)+[\w.+-]*|[0-9a-f]{40}")
_ORDERED = re.compile(rf"v?([0-9]+(?:\.[0-9]+){{0,2}})({_PRE})?(?:\+.*)?")
_NUMBERED = re.compile(r"v?([0-9]+)(?:\.([0-9]+)(?:\.([0-9]+)(?:\.[0-9A-Za-z.]+)?)?)?(?:-([0-9A-Za-z.-]+))?(?:\+.*)?")
_NAMED = re.compile(rf"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?({_PRE})?")


def release(text: str) -> str:
    """Return the three numbers that a text begins with, without the ``v``; empty if it does not."""
    match = _RELEASE.match(text)
    return match[1] if match else ""


def release_of_image(image: str) -> str:
    """Return the three numbers of an image's tag, without the ``v``; empty if it has none."""
    match = _TAG.search(image)
    return match[1] if match else ""


def version_in_url(url: str) -> str:
    """Return the version in a URL; the last one, since earlier ones may be those of an API."""
    found = _IN_URL.findall(url)
    return str(found[-1]) if found else ""


def without_versions(url: str) -> str:
    """Put a star in the place of every version and commit in a URL."""
    return _ANY_IN_URL.sub("*", url)


def release_order(text: str) -> tuple[tuple[int, ...], bool] | None:
    """Return the numbers of a version with one to three of them, and whether it is a release; None if it is not one."""
    match = _ORDERED.fullmatch(text)
    if match is None:
        return None
    numbers = tuple(int(each) for each in match[1].split("."))
    return (*numbers, 0, 0)[:3], not match[2]


def program_version(text: str) -> tuple[tuple[int, int, int], str] | None:
    """Return the numbers and the pre-release of what a program prints: ``v1.36.3``, ``1.13``, ``2.39.5.windows.1``."""
    match = _NUMBERED.fullmatch(text.strip())
    if match is None:
        return None
    return (int(match[1]), int(match[2] or 0), int(match[3] or 0)), match[4] or ""


def first_within(text: str) -> str:
    """Return the first version that a range names, filled up with zeros; empty if it names none."""
    match = _NAMED.search(text)
    if match is None:
        return ""
    if match[3] is not None:
        return match[0]
    return f"{'v' if match[0].startswith('v') else ''}{match[1]}.{match[2] or 0}.0"


# Whether a text is a version at all, by who asks.


_SEMANTIC = re.compile(rf"v?([0-9]+\.[0-9]+\.[0-9]+(?:{_PRE})?)(?:{_BUILD})?")
_PINNED = re.compile(r"=?v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?")
_KUBERNETES = re.compile(r"v?[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:[-+][0-9A-Za-z.+-]*)?")
_UPGRADE = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+[A-Za-z0-9.+-]*")
_TALOS = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+(?:-[a-z0-9.-]+)?")
_OMNI = re.compile(rf"v?{_THREE}(?:{_PRE})?(?:{_BUILD})?")
_IMAGE = re.compile(rf"v?{_THREE}(?:-[0-9A-Za-z.-]{{1,60}})?")
_LABEL = re.compile(r"v?[0-9]{1,6}(?:\.[0-9]{1,6}){1,3}(?:[-+_][0-9A-Za-z.+_-]{1,60})?")
_CHART = re.compile(r"v?[0-9]{1,9}(?:\.[0-9]{1,9}){0,2}(?:-[0-9A-Za-z.-]{1,100})?(?:\+[0-9A-Za-z.-]{1,100})?")
_URL_PART = re.compile(r"v?[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:[-+.][\w.]+)?")
_WRITTEN = re.compile(r"v?[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:[-+.][0-9A-Za-z.-]+)?")
_LISTED_CHART = re.compile(r"(.+?)-(v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+].*)?)")
_LABELLED_CHART = re.compile(rf"([A-Za-z0-9][A-Za-z0-9._-]{{0,80}}?)-(v?{_THREE}[0-9A-Za-z.+_-]{{0,60}})")


def is_semantic(text: str) -> bool:
    """Say whether a text is one semantic version, with or without a ``v``: no range, no name."""
    return _SEMANTIC.fullmatch(text) is not None


def without_build(text: str) -> str:
    """Return a semantic version without its ``v`` and what follows its plus; empty if it is not one."""
    match = _SEMANTIC.fullmatch(text)
    return match[1] if match else ""


def is_pinned(text: str) -> bool:
    """Say whether the version of a chart allows only one: ``1.2.3``, ``=v1.2.3-rc.1``."""
    return _PINNED.fullmatch(text) is not None


def is_kubernetes(text: str) -> bool:
    """Say whether Helm takes a text as the version of Kubernetes: ``v1.36``, ``1.36.2-gke.1``."""
    return _KUBERNETES.fullmatch(text) is not None


def is_upgrade_target(text: str) -> bool:
    """Say whether talosctl may be told to upgrade Kubernetes to it: three numbers and more without spaces."""
    return _UPGRADE.fullmatch(text) is not None


def is_talos(text: str) -> bool:
    """Say whether Talos calls a release so: ``v1.13.0``, ``v1.14.0-beta.1``."""
    return _TALOS.fullmatch(text) is not None


def is_omni(text: str) -> bool:
    """Say whether a cluster template of Omni may have it: all three numbers."""
    return _OMNI.fullmatch(text) is not None


def is_image_tag(text: str) -> bool:
    """Say whether the tag of an image of Talos or Kubernetes is a version."""
    return _IMAGE.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Say whether the value of ``app.kubernetes.io/version``, or any tag, is a version: two to four numbers."""
    return _LABEL.fullmatch(text) is not None


def is_chart(text: str) -> bool:
    """Say whether Helm takes a text as the version of a chart: one to three numbers, of bounded length."""
    return _CHART.fullmatch(text) is not None


def is_url_part(text: str) -> bool:
    """Say whether a part of a URL's path is a version."""
    return _URL_PART.fullmatch(text) is not None


def is_written(text: str) -> bool:
    """Say whether a value in a file is a version, so that documentation may repeat it."""
    return _WRITTEN.fullmatch(text) is not None


def split_listed_chart(text: str) -> tuple[str, str] | None:
    """Split what ``helm list`` shows of a chart, ``cilium-1.18.2``, into name and version."""
    match = _LISTED_CHART.fullmatch(text)
    return (match[1], match[2]) if match else None


def split_chart_label(text: str) -> tuple[str, str] | None:
    """Split the label ``helm.sh/chart`` into name and version, with the plus that labels cannot have."""
    match = _LABELLED_CHART.fullmatch(text)
    return (match[1], match[2].replace("_", "+")) if match else None

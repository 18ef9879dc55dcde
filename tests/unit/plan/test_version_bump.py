"""What becomes of versions, as charts, images, ranges and URLs have them."""

from typing import Any

import pytest

from firstlight.plan.version_bump import bump, is_any, minors, number

CASES: list[tuple[Any, Any, str | None]] = [
    ("1.2.3", "2.0.0", "major"),
    ("1.2.3", "1.3.0", "minor"),
    ("1.2.3", "1.2.4", "patch"),
    ("v1.2.3", "1.2.4", "patch"),
    ("1.2.3", "v1.2.2", "down"),
    ("2.0.0", "1.9.9", "down"),
    ("1.9.0", "1.10.0", "minor"),
    ("1.18", "1.19", "minor"),
    (1.18, 1.19, "minor"),
    (16, 17, "major"),
    ("16", "17", "major"),
    ("16-alpine", "17-alpine", "major"),
    ("16-alpine", "16-bookworm", "other"),
    ("1.0.0-rc.1", "1.0.0-rc.2", "patch"),
    ("1.0.0-rc.2", "1.0.0", "patch"),
    ("1.0.0", "1.0.0-rc.2", "down"),
    ("1.0.0-alpha.3", "1.0.0-beta.1", "patch"),
    ("1.0.0+build1", "1.0.0+build2", "other"),
    ("1.2.3", "1.2.3", None),
    ("1.2.3", None, None),
    (None, "1.2.3", None),
    (True, False, None),
    ({}, [], None),
    ("latest", "nightly", "other"),
    ("latest", "1.2.3", "other"),
    ("10.0.0.1", "11.0.0.1", "other"),
    # images
    ("registry.example.org:5000/a/b:1.2.3", "registry.example.org:5000/a/b:1.3.0", "minor"),
    ("registry.example.org:5000/a/b:v1", "registry.example.org:5000/a/b:v2", "major"),
    ("example.org/a:1.2.3@sha256:aaaa", "example.org/a:1.2.4@sha256:bbbb", "patch"),
    ("example.org/a:1.2.3@sha256:aaaa", "example.org/a:1.2.3@sha256:bbbb", "other"),
    ("sha256:aaaa", "sha256:bbbb", "other"),
    ("example.org/a:1.2.3", "example.net/a:1.2.3", "other"),
    ("example.org/a:1.2.3", "example.net/a:2.0.0", "major"),
    # installers of Talos
    ("factory.example.org/installer/376567:v1.11.2", "factory.example.org/installer/376567:v1.12.0", "minor"),
    ("factory.example.org/installer/376567:v1.11.2", "factory.example.org/installer/ab12cd:v1.11.2", "other"),
    ("factory.example.org/installer/376567:v1.11.2", "factory.example.org/installer/ab12cd:v1.11.3", "patch"),
    # URLs
    ("https://example.org/v1.2.0/install.yaml", "https://example.org/v1.4.0/install.yaml", "minor"),
    ("https://example.org/x?ref=v1.2.0", "https://example.org/x?ref=v2.2.0", "major"),
    ("https://example.org/1.2.0/a-1.2.0.tgz", "https://example.org/1.2.1/a-1.2.1.tgz", "patch"),
    ("https://example.org/1.2.0/a.yaml", "https://example.org/1.2.1/b.yaml", "other"),
    # ranges
    ("^1.2.0", "^1.3.0", "minor"),
    ("^1.2.0", "^2.0.0", "major"),
    ("^2.0.0", "^1.2.0", "down"),
    ("~1.2.0", "~1.3.0", "minor"),
    ("1.2.3", "^1.2.3", "minor"),
    ("1.2.3", "~1.2.3", "patch"),
    ("1.2.3", ">=1.2.3", "major"),
    ("1.2.3", "*", "major"),
    ("1.x", "2.x", "major"),
    ("1.2.x", "1.3.x", "minor"),
    ("^0.2.0", "^0.3.0", "minor"),
    (">=0.9.0 <1.0.0", ">=0.9.0 <2.0.0", "major"),
    (">=0.9.0 <1.0.0", ">=0.10.0 <1.0.0", "minor"),
    (">=1.0.0, <1.5.0", ">=1.0.0, <1.6.0", "minor"),
    ("1.0.0 - 1.5.0", "1.0.0 - 2.0.0", "major"),
    ("^1.0.0 || ^2.0.0", "^1.0.0 || ^3.0.0", "major"),
    (">= nonsense", ">= 1.0", "other"),
    ("", "1.2.3", "other"),
]


@pytest.mark.parametrize(("before", "after", "expected"), CASES, ids=[f"{one} to {two}" for one, two, _ in CASES])
def test_bump(before: Any, after: Any, expected: str | None) -> None:
    assert bump(before, after) == expected


def test_a_long_text_is_no_trouble() -> None:
    assert bump("1." * 100_000, "2." * 100_000) == "other"
    assert bump("1.2.3 " * 10_000, "^" * 10_000) == "other"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("v1.34.1", "v1.37.0", ("1.35", "1.36", "1.37")),
        ("v1.34.1", "v1.35.0", ("1.35",)),
        (1.34, 1.36, ("1.35", "1.36")),
        ("example.org/installer/ab12:v1.11.2", "example.org/installer/cd34:v1.13.0", ("1.12", "1.13")),
        ("1.34.1", "1.34.2", ()),
        ("1.34.1", "2.37.0", ()),
        ("1.37.0", "1.34.0", ()),
        ("^1.2.0", "^1.5.0", ()),
        ("", "1.2.3", ()),
        (None, "1.2.3", ()),
    ],
)
def test_minor_versions_on_the_way(before: Any, after: Any, expected: tuple[str, ...]) -> None:
    assert minors(before, after) == expected
    assert is_any(before, after, ["skip"]) == (len(expected) > 1)
    assert is_any(before, after, ["minor"]) == (bump(before, after) == "minor")


def test_so_many_minor_versions_are_not_told() -> None:
    assert len(minors("1.0.0", "1.4000000000.0")) == 20


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("v1.36.2", "1.36.2"),
        ("example.org:5000/kubelet:v1.36.2@sha256:aaaa", "1.36.2"),
        (1.36, "1.36"),
        ("^1.2.0", ""),
        ("latest", ""),
        (None, ""),
    ],
)
def test_the_version_in_a_text(value: Any, expected: str) -> None:
    assert number(value) == expected

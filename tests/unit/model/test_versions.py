"""Versions as each caller reads them, and that nobody else has expressions for them."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import firstlight
from firstlight.model import versions

SOURCES = Path(firstlight.__file__).parent

TEXTS = (
    "v1.13.1", "1.14.0-beta.1", "1.2.3+build", "1.36", "v1", "1.2.3.4", "=1.2.3", "^1.2", "1.x", "1.2.3-rc_1",
    "1.36.2-", "latest", "", "1.2.3 ", "1.2.3;x", "v1.14.0-Beta",
)  # fmt: skip


@pytest.mark.parametrize(
    ("judge", "accepted"),
    [
        (versions.is_semantic, {"v1.13.1", "1.14.0-beta.1", "1.2.3+build", "v1.14.0-Beta"}),
        (versions.is_pinned, {"v1.13.1", "1.14.0-beta.1", "1.2.3+build", "=1.2.3", "v1.14.0-Beta"}),
        (versions.is_kubernetes, {"v1.13.1", "1.14.0-beta.1", "1.2.3+build", "1.36", "1.36.2-", "v1.14.0-Beta"}),
        (versions.is_upgrade_target, {"v1.13.1", "1.14.0-beta.1", "1.2.3+build", "1.2.3.4", "1.36.2-", "v1.14.0-Beta"}),
        (versions.is_talos, {"v1.13.1"}),
        (versions.is_omni, {"v1.13.1", "1.14.0-beta.1", "1.2.3+build", "v1.14.0-Beta"}),
        (versions.is_image_tag, {"v1.13.1", "1.14.0-beta.1", "v1.14.0-Beta"}),
        (
            versions.is_label,
            {"v1.13.1", "1.14.0-beta.1", "1.2.3+build", "1.36", "1.2.3.4", "1.2.3-rc_1", "v1.14.0-Beta"},
        ),
        (versions.is_chart, {"v1.13.1", "1.14.0-beta.1", "1.2.3+build", "1.36", "v1", "v1.14.0-Beta"}),
        (
            versions.is_url_part,
            {"v1.13.1", "1.14.0-beta.1", "1.2.3+build", "1.36", "1.2.3.4", "1.2.3-rc_1", "v1.14.0-Beta"},
        ),
        (
            versions.is_written,
            {"v1.13.1", "1.14.0-beta.1", "1.2.3+build", "1.36", "1.2.3.4", "1.36.2-", "v1.14.0-Beta"},
        ),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_each_caller_keeps_its_strictness(judge: Callable[[str], bool], accepted: set[str]) -> None:
    assert {text for text in TEXTS if judge(text)} == accepted


@pytest.mark.parametrize(
    ("text", "first", "within", "alone"),
    [
        ("v1.36.2", (1, 36), (1, 36), (1, 36)),
        (" 1.13 ", (1, 13), (1, 13), None),
        ("6.12.40-talos", (6, 12), (6, 12), (6, 12)),
        ("Talos (v1.13.0)", None, (1, 13), None),
        (">=1.2 <2", None, (1, 2), None),
        ("1.2.x", (1, 2), (1, 2), None),
        ("1.12345", None, (1, 12345), (1, 12345)),
        ("latest", None, None, None),
    ],
)
def test_major_and_minor(
    text: str, first: tuple[int, int] | None, within: tuple[int, int] | None, alone: tuple[int, int] | None
) -> None:
    assert versions.minor(text) == first
    assert versions.minor_within(text) == within
    assert versions.minor_alone(text) == alone


def test_a_version_before_a_release_is_less_than_it() -> None:
    written = ["v1.13.9", "1.14.0-alpha.2", "1.14.0-alpha.10", "1.14.0-beta.0", "v1.14.0", "1.14.1"]
    parsed = [versions.parse_version(each) for each in written]
    assert None not in parsed
    assert parsed == sorted(parsed, key=lambda each: each or ())
    assert versions.parse_version("1.14") is None
    assert versions.with_v(" 1.14.0") == versions.with_v("v1.14.0") == "v1.14.0"


@pytest.mark.parametrize(("text", "expected"), [("v1.36.2+k3s1", "1.36.2"), ("1.36", ""), ("a v1.36.2", "")])
def test_the_release_that_a_text_begins_with(text: str, expected: str) -> None:
    assert versions.release(text) == expected


@pytest.mark.parametrize(
    ("image", "expected"), [("registry.k8s.io/kube-apiserver:v1.36.2", "1.36.2"), ("host:5000/a:main", ""), ("a", "")]
)
def test_the_release_of_an_image(image: str, expected: str) -> None:
    assert versions.release_of_image(image) == expected


def test_urls_of_one_manifest_differ_in_versions_and_commits() -> None:
    first = "https://host/a/v1.2.3/x.yaml"
    assert versions.without_versions(first) == versions.without_versions("https://host/a/1.3.0-rc.1/x.yaml")
    assert versions.without_versions(first) != versions.without_versions("https://host/b/v1.2.3/x.yaml")
    assert versions.without_versions(f"https://host/{'a' * 40}/x") == "https://host/*/x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("v1.2", ((1, 2, 0), True)), ("1.2.3-rc.1+x", ((1, 2, 3), False)), ("1.2.3.4", None), ("main", None)],
)
def test_the_order_of_releases(text: str, expected: object) -> None:
    assert versions.release_order(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v1.36.3\n", ((1, 36, 3), "")),
        ("1.13", ((1, 13, 0), "")),
        ("2.39.5.windows.1", ((2, 39, 5), "")),
        ("2.0.0-rc.1+x", ((2, 0, 0), "rc.1")),
        ("go1.25", None),
    ],
)
def test_what_programs_print(text: str, expected: object) -> None:
    assert versions.program_version(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [(">=1.2 <2", "1.2.0"), ("v3", "v3.0.0"), ("~1.2.3-rc.1", "1.2.3-rc.1"), ("*", "")]
)
def test_the_first_version_that_a_range_names(text: str, expected: str) -> None:
    assert versions.first_within(text) == expected


def test_a_version_without_its_build() -> None:
    assert versions.without_build("v1.2.3-rc.1+abc") == "1.2.3-rc.1"
    assert versions.without_build("1.2") == ""


def test_charts_with_their_versions() -> None:
    assert versions.split_listed_chart("cert-manager-v1.18.2") == ("cert-manager", "v1.18.2")
    assert versions.split_listed_chart("cilium") is None
    assert versions.split_chart_label("rook-ceph-v1.18.2_abc") == ("rook-ceph", "v1.18.2+abc")
    assert versions.split_chart_label("cilium") is None


OTHERS = {
    "model/versions.py": "here",
    "plan/version_bump.py": "ranges, and several versions in one text",
    "drawing/decision_words.py": "which words of a text are set apart",
    "commands/doctor/rules/deletions.py": "versions of an API",
    "commands/decide/git_names.py": "what is not the name of a branch",
    "commands/audit/checks/moving_sources.py": "ranges without an upper end",
    "commands/decide/phrases.py": "numbers in a question",
    "commands/node/kubernetes_upgrade.py": "versions of an API",
    "engines/flux/features.py": "ranges of Flux's version, and feature gates",
    "execute/apply/object_survey.py": "versions of an API",
    "lab/machines/machine_settings.py": "the pattern of a JSON Schema",
    "repo/declaration/declaration_form.py": "the pattern of a JSON Schema",
    "render/chart_files.py": "the name of an archive",
}
"""Modules with an expression that looks like one for versions, and what it is for."""


def test_versions_are_read_in_one_place() -> None:
    looks_like_one = re.compile(r"v\??\(?(?:\?P<\w+>)?(?:\\d|\[0-9\])")
    found = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and looks_like_one.search(node.value)
    }
    assert found == set(OTHERS)

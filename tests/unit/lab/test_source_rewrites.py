"""Every file below ``rewrites`` is a case: rules, an object as it is written, and as it is stored."""

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from firstlight import errors
from firstlight.lab import lab_settings, rewrite_rules
from firstlight.lab.simulations import source_rewrites

CASES = sorted((Path(__file__).parent / "rewrites").glob("*.yaml"))


def load(path: Path) -> dict[str, Any]:
    return dict(yaml.load(path.read_text(), Loader=yaml.CSafeLoader))


def rules_of(case: dict[str, Any]) -> tuple[rewrite_rules.SourceRewrite, ...]:
    return msgspec.convert(case["rewrites"], tuple[rewrite_rules.SourceRewrite, ...])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_is_written_becomes_what_is_stored_and_stays_so(path: Path) -> None:
    case = load(path)
    rules = rules_of(case)

    stored = source_rewrites.rewritten(case["written"], rules)

    assert stored == case.get("stored", case["written"])
    assert source_rewrites.rewritten(stored, rules) == stored, "what is stored is written back by others, as it is"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_patch_makes_the_stored_object(path: Path) -> None:
    case = load(path)
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}}
    body["request"] = {"uid": "u", "object": case["written"]}

    answer = source_rewrites.review(body, rules_of(case))["response"]

    patched = case["written"]
    for operation in msgspec.json.decode(base64.b64decode(answer.get("patch", "W10="))):
        patched = _patched(patched, operation)
    assert (answer["uid"], answer["allowed"]) == ("u", True)
    assert patched == case.get("stored", case["written"])


def _patched(obj: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    first, *rest = operation["path"].strip("/").split("/")
    if rest:
        return {**obj, first: _patched(obj[first], {**operation, "path": "/".join(rest)})}
    if operation["op"] == "remove":
        return {key: value for key, value in obj.items() if key != first}
    assert operation["op"] == "add" or first in obj
    return {**obj, first: operation["value"]}


def test_a_deleted_object_is_none_of_its_business() -> None:
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "object": None}}

    assert source_rewrites.review(body, ())["response"] == {"uid": "u", "allowed": True}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://github.com/me/home-ops", "http://lab/ops"),
        ("https://github.com/me/home-ops/", "http://lab/ops"),
        ("https://github.com/me/home-ops.git", "http://lab/ops"),
        ("https://GitHub.com:443/me/home-ops.git/", "http://lab/ops"),
        ("https://me:token@github.com/me/home-ops", "http://lab/ops"),
        ("ssh://git@github.com/me/home-ops", "http://lab/ops"),
        ("ssh://git@github.com:22/me/home-ops.git", "http://lab/ops"),
        ("git@github.com:me/home-ops.git", "http://lab/ops"),
        ("https://github.com/me/home-ops-old", "http://lab/git/me/home-ops-old"),
        ("https://github.com/me/other.git", "http://lab/git/me/other.git"),
        ("git@github.com:me/other", "http://lab/git/me/other"),
        ("https://github.com:8443/me/home-ops", None),
        ("https://github.com/you/home-ops", None),
        ("https://github.company.com/me/home-ops", None),
        ("https://github.com", None),
        ("oci://github.com/me/home-ops", None),
        ("oci://ghcr.io/me/charts/app", "oci://127.71.1.1:5000/charts/app"),
        ("ghcr.io/me/charts", "127.71.1.1:5000/charts"),
        ("https://ghcr.io/me/charts", None),
        ("{{ .repo }}", None),
        ("file:///github.com/me/home-ops", None),
        ("me/home-ops", None),
        ("", None),
    ],
)
def test_the_longest_rule_wins_in_every_spelling(url: str, expected: str | None) -> None:
    rules = (
        rewrite_rules.SourceRewrite("https://github.com/me", "http://lab/git/me"),
        rewrite_rules.SourceRewrite("git@github.com:me/home-ops.git", "http://lab/ops"),
        rewrite_rules.SourceRewrite("oci://ghcr.io/me/charts", "oci://127.71.1.1:5000/charts/"),
    )

    found = rewrite_rules.rewrite_url(rules, url)

    assert (found.url.rstrip("/") if found else None) == expected
    assert rewrite_rules.rewrite_url(rules[::-1], url) == found


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("oci://127.71.1.1:5000/charts", True),
        ("127.71.1.1:5000/charts", True),
        ("oci://[::1]:5000/charts", True),
        ("oci://ghcr.io/charts", False),
        ("http://127.71.1.1:5000/charts", False),
        ("charts", False),
    ],
)
def test_the_registry_of_a_lab_is_known_by_its_loopback_address(url: str, expected: bool) -> None:
    assert rewrite_rules.is_plain_registry(url) is expected


def test_a_place_below_itself_is_itself() -> None:
    place = rewrite_rules.source_address("https://github.com/me")

    assert place is not None
    assert place.rest_of(place) == ()


RULE = '{from: "https://github.com/me", to: "http://127.71.1.1:3000/git/me"}'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (f"rewrites:\n  - {RULE}\n  - {RULE}\n", 3, "https://github.com/me is rewritten twice"),
        (f'rewrites:\n  - {RULE}\n  - {{from: "git@github.com:me.git", to: "http://a/b"}}\n', 3, "rewritten twice"),
        ('rewrites:\n  - {from: github, to: "http://a/b"}\n', 2, "'github' is no address of a source"),
        ('rewrites:\n  - {from: "https://u:hunter2@a b", to: "http://a/b"}\n', 2, "'https://a b' is no address"),
        ('rewrites:\n  - {from: "https://a.b/c", to: "git@a:b"}\n', 2, "is a URL of ssh"),
        ('rewrites:\n  - {from: "https://a.b/c", to: "https://u:p@a/b"}\n', 2, "has a user or a password in it"),
        ('rewrites:\n  - {from: "https://a.b/c", to: "https://a.b/c/d"}\n', 2, "would be rewritten again"),
        ('rewrites:\n  - {from: "https://a.b/c", to: "http://a/b", drop: [url]}\n', 2, "Invalid enum value 'url'"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused_with_their_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text(text)

    with pytest.raises(errors.ConfigError) as caught:
        lab_settings.load(path)

    assert message in caught.value.message
    assert "hunter2" not in caught.value.message
    assert caught.value.line == line


def test_the_status_says_how_many_are_rewritten() -> None:
    rule = rewrite_rules.SourceRewrite("https://a.b/c", "http://lab/c")

    assert rewrite_rules.rewrite_notes(()) == ()
    assert rewrite_rules.rewrite_notes((rule, rule)) == ("source URLs: 2 rewritten to the lab's servers",)

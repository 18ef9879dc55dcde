import pytest

from firstlight.tools import tool_version


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("v1.36.3", "1.36.3"),
        ("1.13", "1.13.0"),
        ("2.0.0-rc.1", "2.0.0-rc.1"),
        ("2.39.5.windows.1", "2.39.5"),
        ("v1.36.3+k3s1", "1.36.3"),
        ("1.32.4-dispatcher", "1.32.4-dispatcher"),
    ],
)
def test_reads_what_programs_print(text: str, printed: str) -> None:
    assert str(tool_version.parse(text)) == printed


@pytest.mark.parametrize("text", ["", "latest", "v", "1.x"])
def test_refuses_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="not a version"):
        tool_version.parse(text)


def test_orders_as_semantic_versions_do() -> None:
    ordered = ["1.2.0-alpha.2", "1.2.0-alpha.10", "1.2.0-rc.1", "1.2.0", "1.2.10", "1.10.0"]

    assert sorted(reversed(ordered), key=tool_version.parse) == ordered


@pytest.mark.parametrize(
    ("requirement", "version", "accepted"),
    [
        ("==1.36.3", "1.36.3", True),
        ("==1.36.3", "1.36.4", False),
        ("==1.36.3", "1.36.3-rc.1", False),
        (">=1.12,<1.14", "1.12.0", True),
        (">=1.12,<1.14", "1.13.9", True),
        (">=1.12,<1.14", "1.14.0", False),
        (">=1.12,<1.14", "1.14.0-alpha.1", False),
        (">=1.12,<1.14", "1.12.0-beta.0", False),
    ],
)
def test_a_requirement_accepts(requirement: str, version: str, accepted: bool) -> None:
    assert tool_version.parse_requirement(requirement).accepts(tool_version.parse(version)) is accepted


@pytest.mark.parametrize("text", ["1.2", "~1.2", ">=1.2 <2", ""])
def test_refuses_what_is_no_requirement(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        tool_version.parse_requirement(text)

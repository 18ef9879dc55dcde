"""Ways to fields, kinds, names and files, as rules write them."""

import pytest

from firstlight.document import path_patterns

STEPS = ("spec", "containers", "[name=web]", "image")


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("spec.containers.*.image", True),
        ("spec.containers[name=web].image", True),
        ("spec.containers[*].image", True),
        ("spec.containers[name=db].image", False),
        ("spec.**", True),
        ("**.image", True),
        ("**", True),
        ("**.**", True),
        ("spec.**.image", True),
        ("spec.containers.[name=web].image.**", True),
        ("spec.containers.*", False),
        ("spec.*.image", False),
        ("spec.contain*.*.im*", True),
        ("containers.**", False),
    ],
)
def test_ways(pattern: str, fits: bool) -> None:
    expression = path_patterns.ways([pattern])

    assert expression is not None
    assert bool(expression.fullmatch(path_patterns.joined(STEPS))) is fits


def test_a_step_with_a_dot_stands_in_quotes() -> None:
    expression = path_patterns.ways(['metadata.labels."example.org/tier"', "a.b"])

    assert expression is not None
    assert expression.fullmatch(path_patterns.joined(("metadata", "labels", "example.org/tier")))
    assert not expression.fullmatch(path_patterns.joined(("metadata", "labels", "example", "org/tier")))
    assert expression.fullmatch(path_patterns.joined(("a", "b")))


@pytest.mark.parametrize("text", ["", "a..b", "a.", '"a', "a]b", "[a", '"a"b'])
def test_what_is_no_way_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"it|dot|step"):
        path_patterns.split(text)


def test_many_stars_take_no_time() -> None:
    expression = path_patterns.ways([".".join(["**"] * 40) + ".x"])

    assert expression is not None
    assert not expression.fullmatch(path_patterns.joined(["a"] * 200))


@pytest.mark.parametrize(
    ("pattern", "kind", "fits"),
    [
        ("apps/Deployment", "apps/Deployment", True),
        ("*/Deployment", "apps/Deployment", True),
        ("/Secret", "/Secret", True),
        ("/Secret", "example.org/Secret", False),
        ("*.cilium.io/*", "x.cilium.io/Pool", True),
        ("*/*", "apps/Deployment", True),
        ("*", "apps/Deployment", False),
    ],
)
def test_kinds(pattern: str, kind: str, fits: bool) -> None:
    expression = path_patterns.kinds([pattern])

    assert expression is not None
    assert bool(expression.fullmatch(kind)) is fits


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.md", "README.md", True),
        ("*.md", "docs/README.md", False),
        ("**/*.md", "docs/README.md", True),
        ("**/*.md", "README.md", True),
        ("docs/**", "docs/a/b.txt", True),
        ("docs/*", "docs/a/b.txt", False),
        (".github/**", ".github/workflows/x.yaml", True),
    ],
)
def test_files(pattern: str, path: str, fits: bool) -> None:
    expression = path_patterns.files([pattern])

    assert expression is not None
    assert bool(expression.fullmatch(path)) is fits


def test_no_pattern_is_no_expression() -> None:
    assert (
        path_patterns.ways([]) is path_patterns.kinds([]) is path_patterns.names([]) is path_patterns.files([]) is None
    )

"""Keys change when, and only when, something that determines the binary changes."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.tools import catalogue, go_sources, workshop

LINUX = workshop.BuildTarget("linux", "amd64")
FILES = {"go.mod": "module x\n\ngo 1.24\n", "go.sum": "", "main.go": "package main", "empty/go.mod": "module e\n"}
BUILD = catalogue.GoBuild(package="./cmd", seconds=1, pin="x")


def write(directory: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return directory


def recipe(directory: Path) -> str:
    return workshop.build_recipe(go_sources.read(directory), BUILD, flags=("-trimpath",), machine=LINUX)


@pytest.mark.parametrize(
    "change",
    [
        {"go.mod": "module x\n\ngo 1.25\n"},
        {"go.sum": "a v1 h1:x\n"},
        {"main.go": "package main // changed"},
        {"empty/go.mod": "module other\n"},
        {"more.go": "package main"},
        {"assets/page.html": "<p>"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_file_changes_the_recipe(tmp_path: Path, change: dict[str, str]) -> None:
    before = recipe(write(tmp_path, FILES))

    write(tmp_path, change)

    assert recipe(tmp_path) != before


@pytest.mark.parametrize(
    "change",
    [{"main_test.go": "package main"}, {"testdata/x": "y"}, {".gitignore": "z"}, {"main.go": FILES["main.go"]}],
    ids=lambda change: next(iter(change)),
)
def test_what_does_not_reach_the_binary_does_not_change_the_recipe(tmp_path: Path, change: dict[str, str]) -> None:
    before = recipe(write(tmp_path, FILES))

    write(tmp_path, change)

    assert recipe(tmp_path) == before


def test_the_place_of_a_clone_does_not_change_the_recipe(tmp_path: Path) -> None:
    assert recipe(write(tmp_path / "a", FILES)) == recipe(write(tmp_path / "b", FILES))


def test_the_same_bytes_in_other_files_change_the_recipe(tmp_path: Path) -> None:
    one = recipe(write(tmp_path / "a", FILES | {"x": "1", "y": "2"}))
    other = recipe(write(tmp_path / "b", FILES | {"x": "1y2"}))

    assert one != other


def test_package_flags_and_target_change_the_recipe(tmp_path: Path) -> None:
    module = go_sources.read(write(tmp_path, FILES))
    other_package = catalogue.GoBuild(package="./other", seconds=1, pin="x")
    recipes = {
        workshop.build_recipe(module, BUILD, flags=("-trimpath",), machine=LINUX),
        workshop.build_recipe(module, other_package, flags=("-trimpath",), machine=LINUX),
        workshop.build_recipe(module, BUILD, flags=("-trimpath", "-race"), machine=LINUX),
        workshop.build_recipe(module, BUILD, flags=("-trimpath",), machine=workshop.BuildTarget("darwin", "amd64")),
        workshop.build_recipe(module, BUILD, flags=("-trimpath",), machine=workshop.BuildTarget("linux", "arm64")),
    }

    assert len(recipes) == 5


def test_a_copy_of_a_module_is_part_of_the_recipe(tmp_path: Path) -> None:
    module = go_sources.read(write(tmp_path, FILES))
    copies = [None, catalogue.ToolCopy("m", "v1", "h1:a", "x"), catalogue.ToolCopy("m", "v1", "h1:b", "x")]
    builds = [catalogue.GoBuild(package="./cmd", seconds=1, pin="x", copy=copy) for copy in copies]

    assert len({workshop.build_recipe(module, build, flags=(), machine=LINUX) for build in builds}) == 3


def test_usual_seconds_are_no_part_of_the_recipe(tmp_path: Path) -> None:
    module = go_sources.read(write(tmp_path, FILES))
    slower = catalogue.GoBuild(package="./cmd", seconds=99, pin="x")

    one, other = (workshop.build_recipe(module, build, flags=(), machine=LINUX) for build in (BUILD, slower))

    assert one == other


def test_the_version_of_go_changes_the_key_and_not_the_recipe(tmp_path: Path) -> None:
    made = recipe(write(tmp_path, FILES))

    assert workshop.key_of(made, "1.26.8") != workshop.key_of(made, "1.27.3")
    assert workshop.key_of(made, "1.26.8") == workshop.key_of(made, "1.26.8")


def test_a_new_version_changes_the_stamps_and_so_the_flags() -> None:
    known = catalogue.load()
    tool = known.get("helm")

    flags = workshop.build_flags(tool, known.stamps)

    assert flags[-1] == "-s -w -X helm.sh/helm/v4/internal/version.version=v4.2.4"


def test_a_module_must_not_reach_outside_of_itself(tmp_path: Path) -> None:
    """Else a file that nobody hashed would decide what is built."""
    write(tmp_path, FILES | {"go.mod": "module x\n\nreplace y => ../y\n"})

    with pytest.raises(errors.ToolError, match=r"\.\./y"):
        go_sources.read(tmp_path)

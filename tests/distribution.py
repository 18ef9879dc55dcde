"""Which worker runs what, and when, so that labs neither pile up nor wait.

A lab that only some files use lives on one worker, and is taken down after its last test; the shared one of each worker
as well. What takes long comes first, so that in the end no worker waits for another.
"""

import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

ALONE = ("cluster", "flux", "argocd", "to_engine")
"""Labs of which there is one in all."""
LABS = (*ALONE, "lab")
ORDER = (*ALONE, "journeys", "faults", "lab", "integration", "scenarios", "unit")
"""The tests of a lab follow each other; then files by what they hold."""
_PLACE = pytest.StashKey[Path]()


def lab_of(item: pytest.Item) -> str:
    """The lab that a test needs; empty where it needs none, or makes its own."""
    names: Sequence[str] = getattr(item, "fixturenames", ())
    # A parameter may be called as a lab is.
    parameters: Mapping[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    return next((each for each in LABS if each in names and each not in parameters), "")


def group_of(item: pytest.Item) -> str:
    """What runs on one worker, one after the other: all of a lab, or a file's that need the same."""
    lab, file = lab_of(item), item.nodeid.partition("::")[0]
    return lab if lab in ALONE else f"{file} {lab}".rstrip()


def turn_of(item: pytest.Item) -> tuple[int, bool]:
    """When a test comes; journeys through a shared lab come last there, since there is no way back from a handover."""
    kind = (*item.nodeid.split("/"), "", "")[1]
    what = lab_of(item) or kind
    return ORDER.index(what) if what in ORDER else len(ORDER), kind == "journeys"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put tests in order; a worker also tells which of them belong together, since only workers know."""
    items.sort(key=turn_of)
    place = getattr(config, "workerinput", {}).get("groups", "")
    if place:
        beside = Path(f"{place}.{os.getpid()}")
        beside.write_text(json.dumps({each.nodeid: group_of(each) for each in items}))
        beside.replace(place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """Take a lab down when the next test does not need it: by the order no later one does."""
    yield
    lab = lab_of(item)
    if lab and nextitem is not None and lab_of(nextitem) != lab:
        one: Any = item
        for fixture in one._fixtureinfo.name2fixturedefs.get(lab, ()):
            fixture.finish(one._request)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker where to write the groups down."""
    stash = node.config.stash
    if _PLACE not in stash:
        stash[_PLACE] = Path(tempfile.mkdtemp(prefix="firstlight-tests-")) / "groups.json"
    node.workerinput["groups"] = str(stash[_PLACE])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out whole groups, in the order of the tests."""
    if config.getoption("dist") != "loadfile":
        return None
    known: dict[str, str] = {}

    def group(nodeid: str) -> str:
        if not known:
            known.update(json.loads(config.stash[_PLACE].read_text()))
        return known[nodeid]

    made: Any = importlib.import_module("xdist.scheduler").LoadScopeScheduling(config, log)
    made._split_scope = group
    config.option.loadscopereorder = False  # by their number of tests, the files that take longest would come last
    return made


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    if _PLACE in config.stash:
        shutil.rmtree(config.stash[_PLACE].parent, ignore_errors=True)

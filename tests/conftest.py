"""Budgets and samples: what the suite as a whole promises."""

import gc
import os
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

import hypothesis
import pytest

# The first draw builds tables, which takes seconds on a machine that runs labs besides; that says nothing of a test.
_TOO_SLOW = [hypothesis.HealthCheck.too_slow]
# The same examples in every run, so that main is red for a reason; new ones are looked for with --everything.
hypothesis.settings.register_profile("suite", derandomize=True, deadline=None, suppress_health_check=_TOO_SLOW)
hypothesis.settings.register_profile("everything", deadline=None, suppress_health_check=_TOO_SLOW)
hypothesis.settings.load_profile("suite")

pytest_plugins = [
    "tests.outputs",
    "tests.distribution",
    "tests.labs",
    "tests.machines",
    "tests.flux",
    "tests.argocd",
    "tests.stages",
]

BUDGETS = {"unit": 260, "scenarios": 60, "integration": 800, "journeys": 340, "faults": 180, "attacks": 90}
"""Seconds of work, divided by the number of workers, for each kind of test on two cores with everything built."""

T = TypeVar("T")
_seconds: defaultdict[str, float] = defaultdict(float)
_samples: dict[str, str] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--everything", action="store_true", help="run every cell of what is otherwise sampled")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long and seldom breaks runs with --everything alone."""
    if not config.getoption("--everything"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes long: runs with --everything"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: runs with --everything alone")
    if config.getoption("--everything"):
        hypothesis.settings.load_profile("everything")


def pytest_collection_finish() -> None:
    """Ten thousand tests stay until the end: they need not be looked through for garbage again and again."""
    gc.collect()
    gc.freeze()


def sample(config: pytest.Config, what: str, cells: Sequence[T], size: int) -> list[T]:
    """A seeded sample of the cells, or all of them with --everything; the summary says how many of how many."""
    seed = int(os.environ.get("FIRSTLIGHT_SEED", "1"))
    chosen = list(cells)
    if not config.getoption("--everything") and size < len(chosen):
        picked = sorted(random.Random(seed).sample(range(len(chosen)), size))
        chosen = [chosen[index] for index in picked]
    _samples[what] = f"{what}: {len(chosen)} of {len(cells)} cells, seed {seed}"
    return chosen


def agreement(what: str, right: int, cells: int) -> None:
    """What the summary says of a class of answers: how many were as expected."""
    _samples[f"agreement, {what}"] = f"agreement, {what}: {right} of {cells}"


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """With several workers it is they who choose samples, all the same; the summary is printed here."""
    _samples.update(getattr(node, "workeroutput", {}).get("samples", {}))


def _kind(nodeid: str) -> str:
    return nodeid.split("/")[1] if nodeid.startswith("tests/") else "unit"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[_kind(report.nodeid)] += report.duration


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    workers = config.getoption("numprocesses", None) or 1
    for line in _samples.values():
        terminalreporter.write_line(line)
    for kind, budget in BUDGETS.items():
        if _seconds[kind]:
            terminalreporter.write_line(f"{kind}: {_seconds[kind] / workers:.0f} s of a budget of {budget} s")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["samples"] = _samples
        return
    workers = session.config.getoption("numprocesses", None) or 1
    over = [kind for kind, budget in BUDGETS.items() if _seconds[kind] / workers > budget]
    if over and not session.config.getoption("--everything"):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        assert reporter is not None
        reporter.write_line(f"over budget: {', '.join(over)}")
        session.exitstatus = 1

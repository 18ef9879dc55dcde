"""Any events at all, for properties: steps that were never announced, verdicts nobody knows, clocks that go back."""

from hypothesis import strategies as st

from firstlight.model.component import Phase
from firstlight.model.event import Event, Judged, RunEnded, RunStarted, StepBrief, StepEnded, StepStarted, Told, Writing

_AT = st.sampled_from([1794810600.0, 1794810601.5, 1794810700.0, 1794810599.0, 1794900000.0, 0.0, -1.0, 1e18, 1e308])
_STEP = st.sampled_from(["core/a", "core/b", "core:c", "gitops/d", "machine:e", "nowhere", ""])
_TEXT = st.sampled_from(
    [
        "",
        "a",
        "two words",
        "\x1b[2J",
        "a\nb\r\tc",
        "日本語 " * 20,
        "</text>",
        "x" * 200,
        "\x00",
        "\ud800",
        "\u202eabc",
        "@",
    ]
)
_VERDICT = st.sampled_from(["passed", "waiting", "failed", "skipped", "what?"])

_BRIEFS = st.builds(
    StepBrief, id=_STEP, phase=st.sampled_from(Phase), name=_TEXT, what=_TEXT,
    needs=st.lists(_STEP, max_size=3).map(tuple),
)  # fmt: skip
STARTS = st.builds(
    RunStarted, at=_AT, run=_TEXT, cluster=_TEXT, steps=st.lists(_BRIEFS, max_size=6).map(tuple), revision=_TEXT,
    who=_TEXT, is_dry_run=st.booleans(), is_rehearsal=st.booleans(),
)  # fmt: skip
EVENTS: st.SearchStrategy[Event] = st.one_of(
    STARTS,
    st.builds(StepStarted, at=_AT, step=_STEP),
    st.builds(Writing, at=_AT, step=_STEP, writes=st.lists(_TEXT, max_size=3).map(tuple)),
    st.builds(Told, at=_AT, step=_STEP, text=_TEXT),
    st.builds(Judged, at=_AT, step=_STEP, gate=_TEXT, verdict=_VERDICT, reason=_TEXT),
    st.builds(
        StepEnded, at=_AT, step=_STEP, verdict=_VERDICT, reason=_TEXT, hint=_TEXT, writes=st.integers(0, 9)
    ),
    st.builds(RunEnded, at=_AT, verdict=_VERDICT, reason=_TEXT, writes=st.integers(0, 9)),
)  # fmt: skip
RUNS = st.lists(EVENTS, max_size=25)

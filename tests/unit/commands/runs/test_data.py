"""What stays with Talos after a run, told from the run's own steps."""

from firstlight.commands.runs import data
from firstlight.model import run_state
from firstlight.model.component import Phase
from firstlight.model.event import RunStarted, StepBrief
from firstlight.model.run_state import RunState

INLINE = (
    StepBrief(id="inline:talos", phase=Phase.INLINE, name="Talos's own"),
    StepBrief(id="inline/cilium", phase=Phase.INLINE, name="cilium"),
    StepBrief(id="inline/flannel", phase=Phase.INLINE, name="flannel"),
)
BASELINE = StepBrief(id="handover:baseline", phase=Phase.HANDOVER, name="baseline")


def state(*steps: StepBrief) -> RunState:
    return run_state.fold([RunStarted(at=1.0, run="r", cluster="infra", steps=steps)], is_alive=False)


def released(what: str) -> StepBrief:
    return StepBrief(id="handover:release", phase=Phase.HANDOVER, name="release", what=what)


def test_what_is_not_released_stays() -> None:
    some = state(*INLINE, BASELINE, released("cilium"))

    assert data.staying_components(some) == ("flannel",)
    assert data.staying_text(some) == (
        "flannel stays with Talos: talosctl upgrade-k8s makes it what its manifest says, whatever was changed since"
    )
    assert data.staying_components(state(*INLINE, BASELINE)) == ("cilium", "flannel")
    assert data.staying_text(state(*INLINE, BASELINE)).startswith("cilium, flannel stay with Talos: ")


def test_nothing_stays_where_everything_is_released_or_nothing_is_known() -> None:
    assert data.staying_text(state(*INLINE, BASELINE, released("cilium, flannel"))) == ""
    assert data.staying_text(state(*INLINE)) == "", "a run that ended before the handover"

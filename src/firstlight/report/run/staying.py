"""What stays with Talos after a run: components whose manifests it does not release."""

from firstlight.model.component import Phase
from firstlight.model.run_state import RunState

_TALOS, _RELEASE = "inline:talos", "handover:release"


def components(state: RunState) -> tuple[str, ...]:
    """Their names, as the steps of the run tell; none where the run had no handover, so that it is not known."""
    briefs = [each.brief for each in state.steps]
    if not any(each.phase == Phase.HANDOVER for each in briefs):
        return ()
    released = {name for each in briefs if each.id == _RELEASE for name in each.what.split(", ")}
    inline = [each.name for each in briefs if each.phase == Phase.INLINE and each.id != _TALOS]
    return tuple(each for each in dict.fromkeys(inline) if each not in released)


def text(state: RunState) -> str:
    """A sentence; empty where nothing stays."""
    names = components(state)
    if not names:
        return ""
    one = len(names) == 1
    stays, makes = ("stays", "it what its manifest says") if one else ("stay", "them what their manifests say")
    return f"{', '.join(names)} {stays} with Talos: talosctl upgrade-k8s makes {makes}, whatever was changed since"

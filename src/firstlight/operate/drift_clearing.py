"""Fields that people put beside Git's taken away, where their engine has answered and leaves what it never applied."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.execute.lease import Lease
from firstlight.model.drift import Drifted
from firstlight.observe import drift as observing
from firstlight.operate import drift_standing_in
from firstlight.operate.drift_scene import Scene
from firstlight.ownership import drifting, leaving_out, normal_values, stray_fields
from firstlight.ownership.drifting import Wanted
from firstlight.ownership.field_set import path_text
from firstlight.ownership.ignoring import Ignored
from firstlight.report import safe


async def remove(
    scene: Scene,
    drifted: Sequence[Drifted],
    client: kube.Client,
    *,
    lease: Lease,
    tell: Callable[[str], None],
    confirm: Callable[[str], bool],
) -> None:
    """Take away exactly those fields that Git does not have and that somebody else put there; nothing else is written.

    Args:
        scene: What Git has.
        drifted: What differs by such fields, and whose owner has answered.
        client: The API.
        lease: The right to write, taken.
        tell: Told of everything that is done, and of what is left.
        confirm: Asked once, with all fields that are going to be removed.

    Raises:
        errors.Refused: Another run has taken the cluster over.
        errors.ClientError: It cannot be told what autoscalers have.
    """
    wanted = drift_standing_in.applicable(scene, drifted, tell)
    if not wanted:
        return
    ids = {each.id for each in wanted}
    fields = "\n".join(
        f"  {safe.name(str(each.id))}   {safe.name(one.path)}{f' ({safe.name(one.manager)})' if one.manager else ''}"
        for each in drifted
        if each.id in ids
        for one in each.fields
        if one.is_beside
    )
    owners = ", ".join(sorted({each.owner.name for each in wanted}))
    why = f"{safe.name(owners)} answered, and leaves what it never applied."
    if not confirm(f"{why} These fields, which Git does not have, would be removed:\n{fields}"):
        tell("nothing was removed")
        return
    await drift_standing_in.write_each(scene, wanted, client, write=_cleared, lease=lease, tell=tell)


async def _cleared(wanted: Wanted, live: Mapping[str, Any] | None, client: kube.Client, ignored: Ignored) -> str:
    if live is None:
        return f"{wanted.id} was left: it is not there any more"
    value = normal_values.without_string_data(drifting.form(wanted, live))
    beside = [each for each in drifting.strays(wanted, value, live) if each.writer is not None and not each.is_pause]
    strays = leaving_out.strays(beside, live, value=value, ignored=ignored)
    real = stray_fields.real(strays, await observing.cleaned(strays, live, client)) if strays else ()
    if not real:
        return f"{wanted.id} was left: nobody has put anything beside Git's form by now"
    if await observing.cleaned(real, live, client, manager=wanted.manager, dry_run=False) is None:
        return f"{wanted.id} was left: the server would not take it without {path_text(real[0].path)}"
    return f"removed {', '.join(path_text(each.path) for each in real)} from {wanted.id}"

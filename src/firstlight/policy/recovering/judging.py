"""From a diagnosis to an assessment: what is broken, what only follows from it, and the ways back, the best first."""

import dataclasses
import re
from collections.abc import Iterator

from firstlight.model.diagnosis import Cause, Symptom
from firstlight.model.machine_report import Standing
from firstlight.model.recovery import Assessment, Option, Trouble
from firstlight.policy.recovering import needs, parts, table
from firstlight.policy.recovering.ground import NO_QUORUM, Ground

_LOST = {
    "kubeconfig": ("API", "this computer has no kubeconfig of {cluster}"),
    "talosconfig": ("machines", "this computer has no talosconfig of {cluster}"),
    "data": ("etcd", "{cluster} was brought up before, and no control plane has etcd's data any more"),
    "cluster": ("etcd", "{cluster} was brought up before, and none of its machines has a config any more"),
}
_PLACE = re.compile(r"\{(\w+)\}")


def assess(ground: Ground) -> Assessment:
    """What is broken, and which options there are."""
    cluster = ground.scene.cluster.name
    found = tuple(_trouble(each) for each in ground.diagnosis.causes)
    missing = (*ground.hand.lost, *(["data"] if ground.is_without_data else [])) if _lives(ground) else ()
    missing = ("cluster",) if _is_gone(ground) else missing
    lost = tuple(
        Trouble(key=f"{each}-missing {cluster}", part=part, says=says.format(cluster=cluster))
        for each, (part, says) in _LOST.items()
        if each in missing
    )
    troubles = (*found, *lost)
    return Assessment(
        cluster=cluster,
        parts=parts.parts(ground, troubles),
        troubles=troubles,
        options=tuple(_options(ground, lost)),
        looked=ground.diagnosis.looked,
        unseen=ground.diagnosis.unseen,
        seconds=ground.diagnosis.seconds,
        is_blind=not ground.scene.api.is_reached and not ground.scene.machines,
    )


def _lives(ground: Ground) -> bool:
    """Whether there is a cluster at all: files of one that was never brought up are not lost."""
    ours = any(each.report.standing is Standing.OURS for each in ground.scene.machines)
    return ours or ground.scene.api.is_reached is True


def _is_gone(ground: Ground) -> bool:
    """Whether there was a cluster, and its machines are bare: to the doctor they only wait for their first config."""
    standings = {each.report.standing for each in ground.scene.machines}
    return ground.hand.was_here and Standing.MAINTENANCE in standings and Standing.OURS not in standings


def _trouble(cause: Cause) -> Trouble:
    symptom = cause.symptom
    return Trouble(
        key=symptom.key,
        part=parts.of_layer(symptom.layer.name.lower()),
        says=symptom.says,
        follows=tuple(each.says for each in cause.effects),
        since=symptom.since,
        commands=tuple(each.command for each in symptom.next),
    )


def _options(ground: Ground, lost: tuple[Trouble, ...]) -> Iterator[Option]:
    """Each once, with all that it answers; what may lose least comes first."""
    made: dict[tuple[str, str], Option] = {}
    asked = [(each.key, each.key.partition(" ")[0], "") for each in lost]
    for key, rule, subject in [*asked, *((one.key, one.rule, one.subject) for one in _symptoms(ground))]:
        for name, on in _answers(rule, subject, ground):
            known = made.get((name, on))
            answers = (*known.answers, key) if known else (key,)
            made[name, on] = dataclasses.replace(known or _option(name, on, ground), answers=answers)
    order = list(table.read().options)
    yield from sorted(made.values(), key=lambda each: order.index(each.name))


def _symptoms(ground: Ground) -> Iterator[Symptom]:
    """What is broken, and what that means for the part that it is in; and a quorum that was lost, whatever took it."""
    for each in ground.diagnosis.causes:
        yield each.symptom
        own = each.symptom.layer
        yield from (one for one in each.effects if one.layer == own or one.rule == NO_QUORUM)


def _answers(rule: str, subject: str, ground: Ground) -> Iterator[tuple[str, str]]:
    conditions = {"": True, "no-quorum": ground.is_without_quorum, "no-data": ground.is_without_data}
    row = next((each for each in table.read().answers if each.rule == rule and conditions[each.condition]), None)
    last = subject.rpartition(" ")[2]
    known = {"machine": last, "release": last, "dns": ground.hand.dns}
    for each in row.options if row is not None else ():
        name, _, on = each.partition(" ")
        filled = _PLACE.sub(lambda match: known[match[1]], on)
        if filled or not on:
            yield name, filled


def _option(name: str, on: str, ground: Ground) -> Option:
    entry, cluster = table.read().options[name], ground.scene.cluster.name
    own = f"firstlight recover {cluster} --do {name}{f' --on {on}' if on else ''}"
    commands = tuple(each.format(on=on, cluster=cluster) for each in entry.commands)
    return Option(
        name=name,
        on=on,
        does=entry.does.format(on=on, cluster=cluster),
        risk=entry.risk.format(on=on, cluster=cluster),
        needs=tuple(needs.judged(each, on=on, cluster=cluster, ground=ground) for each in entry.needs),
        commands=commands if entry.by_hand else (own,),
        is_by_hand=entry.by_hand,
    )

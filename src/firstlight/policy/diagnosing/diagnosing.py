"""From what was seen to one cause on top, with what follows from it beneath."""

import dataclasses

from firstlight.model.diagnosis import Diagnosis, NextCommand, Symptom
from firstlight.policy.diagnosing import linking, table
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.scene import Scene

_OF_A_CLUSTER = frozenset({"owners", "drift", "graph", "inventory"})
"""Commands of firstlight that take a cluster first."""


def diagnose(scene: Scene) -> Diagnosis:
    """What is wrong with a cluster: the cause that explains most first; none where nothing is wrong."""
    found = [(symptom(each, scene.cluster.name), each) for each in table.findings(scene)]
    return Diagnosis(
        cluster=scene.cluster.name, causes=linking.causes(found), looked=looked(scene), unseen=scene.unseen
    )


def symptom(found: Found, cluster: str) -> Symptom:
    """What a rule found, as it is told."""
    rule = table.RULES[found.rule]
    return Symptom(
        rule=found.rule,
        layer=found.layer if found.layer is not None else rule.layer,
        subject=found.subject,
        says=found.says,
        title=rule.title,
        remedy=rule.remedy,
        evidence=found.evidence,
        next=tuple(_told(each, cluster) for each in found.next),
        since=found.since or 0.0,
    )


def _told(step: NextCommand, cluster: str) -> NextCommand:
    """Commands of firstlight's own name the cluster, so that they work where a repo has several."""
    words = step.command.split(" ")
    if words[0] == "firstlight" and words[1] in _OF_A_CLUSTER and words[2:3] != [cluster]:
        words.insert(2, cluster)
    return dataclasses.replace(step, command=" ".join(words))


def looked(scene: Scene) -> tuple[str, ...]:
    """What was looked at, counted."""
    counts = (
        (len(scene.machines), "machine"),
        (len(scene.members), "etcd member"),
        (len(scene.objects), "object"),
        (len(scene.events), "event"),
        (len(scene.logs), "log"),
    )
    return tuple(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count)

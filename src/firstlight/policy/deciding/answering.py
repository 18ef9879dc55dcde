"""What the questions of the decision trees get for an answer."""

from collections.abc import Iterable, Mapping

from firstlight.model.change import Change, Matter
from firstlight.model.component import Component
from firstlight.policy.deciding import siding
from firstlight.policy.deciding.facts import Facts
from firstlight.policy.deciding.form import Rule

_KUBERNETES = {
    Matter.OBJECT, Matter.VALUES, Matter.KUSTOMIZE, Matter.CHART, Matter.RELEASE, Matter.SECRET,
}  # fmt: skip
"""What becomes objects in a cluster."""


def answers(
    rule: Rule | None, change: Change, component: Component | None, *, facts: Facts, asked: Iterable[str]
) -> Mapping[str, bool]:
    """The rule's answers; where it has none, what the change itself tells."""
    is_machine = change.matter is Matter.MACHINE
    told = {
        "kubernetes-resource": change.matter in _KUBERNETES,
        "node-os": is_machine,
        "foundation": is_machine or (component is not None and siding.is_of_foundation(component)),
        "os-access": is_machine,
        "kubernetes-api": not is_machine,
    }
    found = {**told, **(rule.answers if rule else {})}
    # Whether the cluster works is a fact, which no rule knows.
    found["operational"] = facts.operational is not False
    wanted = set(asked)
    return {name: answer for name, answer in found.items() if name in wanted}

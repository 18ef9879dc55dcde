"""What the questions of the decision trees get for an answer."""

from collections.abc import Iterable, Mapping

from firstlight.model.change import Matter
from firstlight.policy.deciding.facts import Facts
from firstlight.policy.deciding.form import Rule

_KUBERNETES = {
    Matter.OBJECT, Matter.VALUES, Matter.KUSTOMIZE, Matter.CHART, Matter.RELEASE, Matter.SECRET,
}  # fmt: skip
"""What becomes objects in a cluster."""


def answers(
    rule: Rule | None, matter: Matter, *, is_of_foundation: bool, facts: Facts, asked: Iterable[str]
) -> Mapping[str, bool]:
    """The rule's answers; where it has none, what the change itself tells."""
    is_machine = matter is Matter.MACHINE
    told = {
        "kubernetes-resource": matter in _KUBERNETES,
        "node-os": is_machine,
        "foundation": is_machine or is_of_foundation,
        "os-access": is_machine,
        "kubernetes-api": not is_machine,
    }
    found = {**told, **(rule.answers if rule else {})}
    # Whether the cluster works is a fact, which no rule knows.
    found["operational"] = facts.operational is not False
    wanted = set(asked)
    return {name: answer for name, answer in found.items() if name in wanted}

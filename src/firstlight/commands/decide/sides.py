"""The way through a decision tree."""

from collections.abc import Iterable, Mapping

from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.rule_form import DecisionRule, DecisionTree, SideWord, TreeQuestion
from firstlight.model.change import Change, Matter
from firstlight.model.component import Component, Owner, Side
from firstlight.model.decision import TreePath, TreeStep
from firstlight.plan import cluster_facts


def walk_tree(tree: DecisionTree, answers: Mapping[str, bool]) -> TreePath:
    """The way that answers lead; what they leave open gets its usual answer, else no."""
    questions = {each.id: each for each in tree.questions}
    steps: list[TreeStep] = []
    at = tree.questions[0].id
    while at in questions:
        asked = questions.pop(at)  # no way leads to it twice
        answer = answers.get(asked.id, bool(asked.usually))
        steps.append(TreeStep(question=asked.id, text=asked.text, answer=answer))
        at = asked.if_yes if answer else asked.if_no
    return TreePath(tree=tree.id, steps=tuple(steps), side=Side(at))


def next_question(tree: DecisionTree, answers: Mapping[str, bool]) -> TreeQuestion | Side:
    """The first question that has no answer yet, or where the tree ends."""
    questions = {each.id: each for each in tree.questions}
    at = tree.questions[0].id
    while at in questions:
        asked = questions.pop(at)
        if asked.id not in answers:
            return asked
        at = asked.if_yes if answers[asked.id] else asked.if_no
    return Side(at)


# Which side a change is on: what a rule says, who owns the component in the end, and what is never so.


_OF_NOTHING = {Matter.TOOLING, Matter.DOCUMENTATION}
WITHOUT_CLUSTER = _OF_NOTHING | {Matter.POLICY, Matter.PLATFORM}
"""What no cluster has, whatever it says of clusters."""
HARMLESS_UNREAD = _OF_NOTHING | {Matter.UNKNOWN}
"""What nobody could read of these was of no cluster before."""
_OF_NO_CLUSTER = WITHOUT_CLUSTER | HARMLESS_UNREAD
_OF_BOOTSTRAP = {Matter.MACHINE, Matter.SCRIPT, Matter.RELEASE}


def owned(component: Component) -> Side:
    """The side of a change to a component, by who owns it in the end."""
    if component.owner is Owner.BOOTSTRAP:
        return Side.BOOTSTRAP
    return Side.HYBRID if is_of_foundation(component) else Side.GITOPS


def is_of_foundation(component: Component) -> bool:
    """Whether it is there before Git owns anything; an engine that installs itself is, though Git alone declares it."""
    return component.phase in cluster_facts.BOOTSTRAP_PHASES


def reached(side: Side | None, matter: Matter) -> Side | None:
    """A side, if it can be: no engine reaches machine configuration."""
    return Side.BOOTSTRAP if matter is Matter.MACHINE and side in (None, Side.GITOPS) else side


def by_matter(change: Change) -> Side | None:
    """The side of what belongs to no component."""
    if change.matter in _OF_NOTHING:
        return None
    return Side.BOOTSTRAP if change.matter in _OF_BOOTSTRAP else Side.GITOPS


def side(
    word: SideWord, change: Change, component: Component | None, *, is_own: bool, is_of_machines: bool
) -> tuple[Side | None, str]:
    """The side that a rule's word means here, and what it was overruled for.

    Args:
        word: The rule's.
        change: What changed.
        component: Whose it is.
        is_own: Whether it is a team's own rule.
        is_of_machines: Whether it stands in a file that shapes machines.
    """
    found = _meant(word, change, component)
    if found is None and change.matter is Matter.PLATFORM and not is_own:
        return None, ""  # all fields of firstlight.yaml are known, also where it lists machines
    if (is_of_machines or change.matter is Matter.MACHINE) and found in (None, Side.GITOPS):
        return Side.BOOTSTRAP, "no engine reaches machine configuration"
    if found is None and component is None and change.matter not in _OF_NO_CLUSTER and not is_own:
        return by_matter(change), "what is no tooling and no documentation may reach a cluster"
    return found, ""


def _meant(word: SideWord, change: Change, component: Component | None) -> Side | None:
    match word:
        case "none":
            return None
        case "owner":
            return owned(component) if component is not None else by_matter(change)
    return Side(word)


def union(sides: Iterable[Side | None]) -> Side | None:
    """The side of several changes together."""
    found = {each for each in sides if each is not None}
    if not found:
        return None
    return found.pop() if len(found) == 1 else Side.HYBRID


# What the questions of the decision trees get for an answer.


_KUBERNETES = {
    Matter.OBJECT, Matter.VALUES, Matter.KUSTOMIZE, Matter.CHART, Matter.RELEASE, Matter.SECRET,
}  # fmt: skip
"""What becomes objects in a cluster."""


def answers(
    rule: DecisionRule | None, matter: Matter, *, is_of_foundation: bool, facts: DecisionFacts, asked: Iterable[str]
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

"""The passing of objects from bootstrap to the engine: predict, save, migrate, root object, adopt, release, prove."""

import dataclasses

from firstlight.model.component import Component, Phase, Side
from firstlight.model.plan import Action, Gate, Step, StepNeed, Subject, Tie
from firstlight.plan import asking, facts, ground, passing
from firstlight.plan.ground import Ground
from firstlight.plan.stages.gitops import Tree


def steps(known: Ground, tree: Tree, before: list[Step]) -> list[Step]:
    """The steps of the phase; without an engine there is nobody to hand over to."""
    if not known.engines and not known.facts.gitops:
        return []
    adopted = [each for each in known.facts.bootstrap if facts.is_adopted(each)]
    found = [_baseline(known, before)]
    if adopted:
        found.append(_owners(known, adopted))
    found.append(_root(known, found[-1]))
    found += [_adoption(tree, each) for each in adopted]
    if inline := [each for each in adopted if facts.is_inline(each)]:
        found.append(_release(known, inline))
    if adopted:
        proven = [each.id for each in found if each.action in (Action.WATCH_ADOPTION, Action.RELEASE)]
        found.append(_certificate(known, [*proven, *_besides(known, tree, before)]))
    return found


def _besides(known: Ground, tree: Tree, before: list[Step]) -> list[str]:
    """The steps of what GitOps alone deploys and yet has a namespace or a CRD that bootstrap has created for it."""
    made = [each for step in before for each in step.creates or ()]
    names = dict.fromkeys(each.component for each in passing.of(known.facts, made))
    return [tree.step(known.facts.by_name[each]) for each in names if each in tree.members]


def _baseline(known: Ground, before: list[Step]) -> Step:
    why = "everything that bootstrap installs is there before Git takes over"
    # Workers join whenever they are ready; what needs one waits for it itself.
    needs = tuple(StepNeed(each.id, why, Tie.RUN) for each in before if each.id != ground.WORKERS)
    return Step(
        id=ground.BASELINE, phase=Phase.HANDOVER, action=Action.SAVE_BASELINE, name="baseline", needs=needs,
        what="what the engine will change, and everything as it is now", gates=(Gate(Subject.BASELINE),),
        place=known.facts.cluster.place,
    )  # fmt: skip


def _owners(known: Ground, adopted: list[Component]) -> Step:
    return Step(
        id=ground.OWNERS, phase=Phase.HANDOVER, action=Action.MIGRATE_OWNERS, name="owners",
        what=", ".join(each.name for each in adopted), targets=tuple(each.name for each in adopted),
        needs=(StepNeed(ground.BASELINE, "no owner changes before the baseline is saved", Tie.RUN),),
        gates=(Gate(Subject.OWNERS),), place=known.facts.cluster.place,
    )  # fmt: skip


def _root(known: Ground, last: Step) -> Step:
    cluster = known.facts.cluster
    noun = {"flux": "root Kustomization", "argocd": "root Application"}.get(cluster.engine or "", "root object")
    return Step(
        id=ground.ROOT, phase=Phase.HANDOVER, action=Action.CREATE_ROOT, name="root", gates=(Gate(Subject.ROOT),),
        what=" ".join(each for each in (noun, cluster.path) if each),
        needs=(StepNeed(last.id, "nothing is reconciled before", Tie.RUN),), place=known.facts.said("path"),
    )  # fmt: skip


def _adoption(tree: Tree, component: Component) -> Step:
    return Step(
        id=ground.adoption_id(component), phase=Phase.HANDOVER, action=Action.WATCH_ADOPTION, name=component.name,
        component=component.name, side=component.side, what=component.version, needs=tree.needs(component),
        gates=(Gate(Subject.ADOPTION, component.name), *asking.of_gitops(component)),
        place=facts.place(component, Side.GITOPS),
    )  # fmt: skip


def _release(known: Ground, inline: list[Component]) -> Step:
    why = "only what the engine owns is released"
    return Step(
        id=ground.RELEASE, phase=Phase.HANDOVER, action=Action.RELEASE, name="release",
        what=", ".join(each.name for each in inline), targets=tuple(each.name for each in inline),
        gates=(Gate(Subject.INVENTORY),),
        needs=tuple(StepNeed(ground.adoption_id(each), why, Tie.RUN) for each in inline),
        place=known.facts.cluster.place,
    )  # fmt: skip


def _certificate(known: Ground, proven: list[str]) -> Step:
    needs = tuple(StepNeed(each, "it proves the whole handover", Tie.RUN) for each in dict.fromkeys(proven))
    return Step(
        id=ground.CERTIFICATE, phase=Phase.HANDOVER, action=Action.CERTIFY, name="certificate", needs=needs,
        gates=(Gate(Subject.CERTIFICATE),), place=known.facts.cluster.place,
    )  # fmt: skip


def with_the_way_there(steps: list[Step]) -> list[Step]:
    """What the engine must bring before it can adopt belongs to the handover as well."""
    by_id = {each.id: each for each in steps}
    wanted = [need.step for each in steps if each.phase == Phase.HANDOVER for need in each.needs]
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in seen or name not in by_id or by_id[name].phase != Phase.GITOPS:
            continue
        seen.add(name)
        wanted += [need.step for need in by_id[name].needs]
    return [dataclasses.replace(each, phase=Phase.HANDOVER) if each.id in seen else each for each in steps]

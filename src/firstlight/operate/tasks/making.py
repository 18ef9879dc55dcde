"""A plan made work: a task for every step."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import assert_never

from firstlight.model import work as works
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.machine_draft import MachineDraft
from firstlight.model.plan import Action, Plan, Step
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.work import Installation, Task, Work
from firstlight.operate.tasks import handing, installing, omni, pointing
from firstlight.operate.tasks.preparing import Ready
from firstlight.plan import ground
from firstlight.plan.owning import FIRSTLIGHT


def work(
    platform: Platform,
    cluster: Cluster,
    plan: Plan,
    *,
    renditions: Sequence[Rendition],
    installations: Mapping[str, tuple[tuple[Installation, ...], tuple[Object, ...]]],
    drafts: tuple[MachineDraft, ...],
    revision: str,
    is_rehearsal: bool = False,
) -> Work:
    """What each step of a plan is to do.

    Args:
        platform: What was read.
        cluster: The cluster that the plan is for.
        plan: The steps.
        renditions: What its components deploy.
        installations: Charts ready for Helm, by component, with the objects that no release brings.
        drafts: What its machines are to be.
        revision: The commit that was rendered; empty where it is not known.
        is_rehearsal: Whether it runs in the lab, where there is no Omni.
    """
    ready = Ready(
        platform=platform, cluster=cluster, plan=plan, renditions=tuple(renditions), charts=installations,
        drafts=drafts, revision=revision, is_rehearsal=is_rehearsal,
    )  # fmt: skip
    tasks = {step.id: _task(step, ready) for step in plan.steps}
    return Work(cluster=cluster, plan=plan, tasks=tasks, revision=revision)


def _task(step: Step, ready: Ready) -> Task:
    match step.action:
        case Action.CONFIGURE:
            return _configure(step, ready)
        case Action.SYNC_TEMPLATE:
            return omni.sync(ready)
        case Action.BOOTSTRAP_ETCD:
            return _etcd(step, ready)
        case Action.FETCH_KUBECONFIG:
            return works.FetchKubeconfig(control_planes=ready.control_planes, omni=omni.name(ready))
        case Action.LET_TALOS_APPLY:
            return installing.by_talos(step, ready)
        case Action.APPLY_CRDS:
            return installing.crds(step, ready)
        case Action.CREATE_NAMESPACES:
            return installing.namespaces(step, ready)
        case Action.CREATE_SECRET:
            return _secret(step, ready)
        case Action.INSTALL_CHART | Action.APPLY_OBJECTS | Action.INSTALL_ENGINE:
            return installing.component(step, ready)
        case Action.CREATE_SOURCE:
            return pointing.source(ready)
        case Action.SAVE_BASELINE:
            return works.SaveBaseline(objects=ready.made)
        case Action.CREATE_ROOT:
            return pointing.root(ready)
        case Action.MIGRATE_OWNERS:
            return handing.owners(ready)
        case Action.RELEASE:
            return handing.release(ready)
        case Action.CERTIFY:
            return handing.certify(ready)
        case Action.WATCH_ADOPTION | Action.WATCH:
            return works.Watch(revision=ready.revision)
        case Action.WALK:
            raise AssertionError("a walk has stages of its own, and is in no plan of a run")
        case _:
            assert_never(step.action)


def _configure(step: Step, ready: Ready) -> Task:
    drafts = tuple(each for each in ready.drafts if each.machine.name in step.targets)
    missing = [name for name in step.targets if name not in {each.machine.name for each in drafts}]
    if missing:
        return works.Refuse(
            why=f"nothing says what config {', '.join(missing)} gets",
            hint="Declare machines in firstlight.yaml, by a list or by the file that has them.",
        )
    passing = frozenset(each for each in handing.released(ready) if "://" in each)
    return works.Configure(drafts=tuple(dataclasses.replace(each, passing=passing) for each in drafts))


def _etcd(step: Step, ready: Ready) -> Task:
    first = next((each for each in ready.cluster.machines if each.name in step.targets), None)
    if first is None or first.role != MachineRole.CONTROL_PLANE:
        return works.Refuse(
            why="no machine is declared as a control plane", hint="Give one the role controlplane in firstlight.yaml."
        )
    return works.BootstrapEtcd(first=first, control_planes=ready.control_planes)


def _secret(step: Step, ready: Ready) -> Task:
    for each in ready.facts.secrets:
        if ground.secret_id(each.namespace, each.name) == step.id:
            empty = sorted(key for key, reference in each.data.items() if not reference)
            if not each.data or empty:
                named = f"{step.name} ({', '.join(empty)})" if empty else step.name
                return works.Refuse(
                    why=f"nothing says where the Secret {named} comes from",
                    hint="Name its source in firstlight.yaml: secrets, data, with op://, sops:, vault:, env: or file:.",
                )
            return works.CreateSecret(secret=each, manager=FIRSTLIGHT)
    return works.Refuse(why=f"the Secret {step.name} is not declared any more")

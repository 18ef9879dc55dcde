"""A plan made work: a task for every step."""

import dataclasses
import posixpath
from collections.abc import Mapping, Sequence
from typing import assert_never

from firstlight.commands.up import handover_tasks, install_tasks
from firstlight.commands.up.task_context import TaskContext
from firstlight.model import work as model_work
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.machine_config import MachineDraft
from firstlight.model.plan import Action, Plan, Step
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.work import Installation, Task, Work
from firstlight.plan import plan_context
from firstlight.plan.final_owners import FIRSTLIGHT
from firstlight.repo import work_tree
from firstlight.repo.omni import omni_parser, omni_template
from firstlight.repo.omni.go_yaml import OmniTemplateError
from firstlight.repo.work_tree import WorkTree

__all__ = ["work"]


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
    ready = TaskContext(
        platform=platform, cluster=cluster, plan=plan, renditions=tuple(renditions), charts=installations,
        drafts=drafts, revision=revision, is_rehearsal=is_rehearsal,
    )  # fmt: skip
    tasks = {step.id: _task(step, ready) for step in plan.steps}
    return Work(cluster=cluster, plan=plan, tasks=tasks, revision=revision)


def _task(step: Step, ready: TaskContext) -> Task:
    match step.action:
        case Action.CONFIGURE:
            return _configure(step, ready)
        case Action.SYNC_TEMPLATE:
            return sync_omni(ready)
        case Action.BOOTSTRAP_ETCD:
            return _etcd(step, ready)
        case Action.FETCH_KUBECONFIG:
            return model_work.FetchKubeconfig(control_planes=ready.control_planes, omni=omni_name(ready))
        case Action.LET_TALOS_APPLY:
            return install_tasks.by_talos(step, ready)
        case Action.APPLY_CRDS:
            return install_tasks.crds(step, ready)
        case Action.CREATE_NAMESPACES:
            return install_tasks.namespaces(step, ready)
        case Action.CREATE_SECRET:
            return _secret(step, ready)
        case Action.INSTALL_CHART | Action.APPLY_OBJECTS | Action.INSTALL_ENGINE:
            return install_tasks.component(step, ready)
        case Action.CREATE_SOURCE:
            return handover_tasks.source(ready)
        case Action.SAVE_BASELINE:
            return model_work.SaveBaseline(objects=ready.made)
        case Action.CREATE_ROOT:
            return handover_tasks.root(ready)
        case Action.MIGRATE_OWNERS:
            return handover_tasks.owners(ready)
        case Action.RELEASE:
            return handover_tasks.release(ready)
        case Action.CERTIFY:
            return handover_tasks.certify(ready)
        case Action.WATCH_ADOPTION | Action.WATCH:
            return model_work.Watch(revision=ready.revision)
        case Action.WALK:
            raise AssertionError("a walk has stages of its own, and is in no plan of a run")
        case _:
            assert_never(step.action)


def _configure(step: Step, ready: TaskContext) -> Task:
    drafts = tuple(each for each in ready.drafts if each.machine.name in step.targets)
    missing = [name for name in step.targets if name not in {each.machine.name for each in drafts}]
    if missing:
        return model_work.Refuse(
            why=f"nothing says what config {', '.join(missing)} gets",
            hint="Declare machines in firstlight.yaml, by a list or by the file that has them.",
        )
    passing = frozenset(each for each in handover_tasks.released(ready) if "://" in each)
    return model_work.Configure(drafts=tuple(dataclasses.replace(each, passing=passing) for each in drafts))


def _etcd(step: Step, ready: TaskContext) -> Task:
    first = next((each for each in ready.cluster.machines if each.name in step.targets), None)
    if first is None or first.role != MachineRole.CONTROL_PLANE:
        return model_work.Refuse(
            why="no machine is declared as a control plane", hint="Give one the role controlplane in firstlight.yaml."
        )
    return model_work.BootstrapEtcd(first=first, control_planes=ready.control_planes)


def _secret(step: Step, ready: TaskContext) -> Task:
    for each in ready.facts.secrets:
        if plan_context.secret_id(each.namespace, each.name) == step.id:
            empty = sorted(key for key, reference in each.data.items() if not reference)
            if not each.data or empty:
                named = f"{step.name} ({', '.join(empty)})" if empty else step.name
                return model_work.Refuse(
                    why=f"nothing says where the Secret {named} comes from",
                    hint="Name its source in firstlight.yaml: secrets, data, with op://, sops:, vault:, env: or file:.",
                )
            return model_work.CreateSecret(secret=each, manager=FIRSTLIGHT)
    return model_work.Refuse(why=f"the Secret {step.name} is not declared any more")


# What Omni does in place of firstlight: it configures machines, bootstraps etcd and gives a kubeconfig.


_LEFT = "Omni: not rehearsed, there is none here; the lab's own machines stand in"


def sync_omni(ready: TaskContext) -> Task:
    """The template, and where omnictl must run: it looks there for the files that the template names."""
    if ready.is_rehearsal:
        return model_work.Leave(why=_LEFT)
    path = ready.cluster.omni_template
    tree = WorkTree(ready.platform.root) if path and ready.platform.root.is_dir() else None
    text = tree.text(path) if tree is not None else None
    if tree is None or text is None:
        return model_work.Refuse(
            why=f"the Omni template of {ready.cluster.name} is not in the repo",
            hint=f"Name it in firstlight.yaml: clusters.{ready.cluster.name}.machines: FILE",
        )
    problems: tuple[Diagnostic, ...] = ()
    for directory in dict.fromkeys((posixpath.dirname(path), "")):
        found = omni_parser.problems(text, path, files=_files(tree, path, directory))
        if not found:
            return model_work.SyncTemplate(
                template=tree.root / path, directory=tree.root / directory, cluster=_name(tree, path)
            )
        problems = problems or found
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    first = problems[0]
    return model_work.Refuse(why=f"{first.place}: {first.message}{more}", hint=first.fix)


def omni_name(ready: TaskContext) -> str:
    """What Omni calls the cluster; empty for one that is not Omni's, in a rehearsal, and for a wrong template."""
    found = sync_omni(ready)
    return found.cluster if isinstance(found, model_work.SyncTemplate) else ""


def _name(tree: WorkTree, path: str) -> str:
    values = [each.value for each in tree.documents(path)]
    clusters = [each for each in values if isinstance(each, Mapping) and each.get("kind") == "Cluster"]
    return str(clusters[0].get("name") or "") if clusters else ""


def _files(tree: WorkTree, template: str, directory: str) -> omni_template.Files:
    """Reads what a template names, from where omnictl would run; never outside of the repo."""

    def text(named: str, line: int) -> tuple[str, str]:
        path = work_tree.join(directory, named)
        found = tree.text(path) if path is not None else None
        if path is None or found is None:
            hint = "omnictl looks for it where it runs: all files beside the template, or all from the top of the repo."
            message = f"there is no file {named}"
            raise OmniTemplateError("talos-file-missing", message, path=template, line=line, hint=hint)
        return found, path

    return text

"""A plan made work: a task for every step, those of the handover last."""

import dataclasses
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from firstlight.commands.up import install_tasks
from firstlight.commands.up.task_context import TaskContext
from firstlight.engines import engine_roots
from firstlight.model import flux_names
from firstlight.model import work as model_work
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.component import Component, ObjectId, Owner, Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.machine_config import MachineDraft
from firstlight.model.plan import Action, Plan, Step
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.work import Installation, Task, Work
from firstlight.plan import final_owners, plan_context
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
            return source(ready)
        case Action.SAVE_BASELINE:
            return model_work.SaveBaseline(objects=ready.made)
        case Action.CREATE_ROOT:
            return root(ready)
        case Action.MIGRATE_OWNERS:
            return owners(ready)
        case Action.RELEASE:
            return release(ready)
        case Action.CERTIFY:
            return certify(ready)
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
    passing = frozenset(each for each in released(ready) if "://" in each)
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


_NOTHING = "Git has nothing of what bootstrap brings"


def owners(ready: TaskContext) -> Task:
    """Everything that passes."""
    return model_work.MigrateOwners(passing=ready.passing) if ready.passing else model_work.Leave(why=_NOTHING)


def release(ready: TaskContext) -> Task:
    """The manifests all of whose objects pass: what Git does not have would be nobody's without Talos."""
    if not ready.control_planes:
        return model_work.Leave(why="the repo has no machines of this cluster: release it from Talos where they are")
    if ready.cluster.omni_template:
        return model_work.Leave(why="Omni has the configs of the machines: take the manifests out of its template")
    components = _released(ready)
    kept = {each.name: _left(each, ready) for each in _inline(ready) if each not in components}
    if not components:
        why = "; ".join(f"{name} brings {_first(left, ready)}" for name, left in kept.items())
        return model_work.Leave(why=f"Talos keeps everything: {why}")
    stays = {one.id for each in _inline(ready) if each not in components for one in ready.objects(each)}
    # What a manifest that Talos keeps brings as well, such as a Namespace, stays with it.
    mine = {each.id for component in components for each in ready.objects(component)} - stays
    return model_work.ReleaseFromTalos(
        manifests=_manifests(components),
        passing=tuple(each for each in ready.passing if each.id in mine),
        control_planes=ready.control_planes,
        kept={name: f"it brings {_first(left, ready)}" for name, left in kept.items()},
    )


def released(ready: TaskContext) -> tuple[str, ...]:
    """What Talos releases: names of inline manifests, and URLs of others."""
    return _manifests(_released(ready))


def certify(ready: TaskContext) -> Task:
    """Everything that passes; Talos must not have any more of what it releases, and what it keeps is said."""
    if not ready.passing:
        return model_work.Leave(why=_NOTHING)
    components = _released(ready)
    stays = {one.id for each in _inline(ready) if each not in components for one in ready.objects(each)}
    return model_work.Certify(
        passing=ready.passing, released=_manifests(components), control_planes=ready.control_planes,
        staying=tuple(each.id for each in ready.passing if each.id in stays),
        kept=tuple(each.name for each in ready.facts.bootstrap if each.owner == Owner.BOOTSTRAP),
        revision=ready.revision,
    )  # fmt: skip


def _inline(ready: TaskContext) -> list[Component]:
    """The components of the plan's release: Talos applies them, and the engine takes them over."""
    names = [name for step in ready.plan.steps if step.action == Action.RELEASE for name in step.targets]
    return [ready.facts.by_name[each] for each in names]


def _released(ready: TaskContext) -> list[Component]:
    if ready.cluster.omni_template or not ready.control_planes:
        return []  # somebody else has the configs
    return [each for each in _inline(ready) if not _left(each, ready) and ready.objects(each)]


def _left(component: Component, ready: TaskContext) -> list[ObjectId]:
    passing = {each.id for each in ready.passing}
    return [each.id for each in ready.objects(component) if each.id.name and each.id not in passing]


def _manifests(components: list[Component]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in components for name in install_tasks.manifests(each)))


def _first(left: list[ObjectId], ready: TaskContext) -> str:
    """What of a manifest does not pass, and why not."""
    if not left:
        return "nothing that was rendered"
    given = {
        each.id for (_, side), one in ready.facts.renditions.items() if side == Side.GITOPS for each in one.objects
    }
    # What nothing in Git keeps up to date says more than what the engine is told not to.
    first = min(left, key=lambda each: each in given)
    why = "which Git has and tells the engine to leave alone" if first in given else "which Git does not have"
    rest = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return f"{first.kind} {first.name}{rest}, {why}"


# The engine pointed at the repo: the source first, and the roots only when the baseline is saved.


_HINT = "Write gitops.url, and clusters, NAME, path in firstlight.yaml."


def source(ready: TaskContext) -> Task:
    """What the engine fetches from; nothing of it makes the engine apply anything."""
    found = ready.roots
    if found.unclear and not found.roots:
        return model_work.Refuse(why=found.unclear, hint=_HINT)
    mine = tuple(each for each in found.sources if each.id not in ready.inline)
    if not mine:
        return model_work.Watch(revision=ready.revision, objects=found.sources)
    managers = {each.id: _manager(each.id, ready) for each in mine}
    return model_work.Apply(objects=mine, manager=final_owners.FIRSTLIGHT, managers=_besides(managers))


def root(ready: TaskContext) -> Task:
    """What makes the engine follow the repo; watched alone where Talos applies it with the engine."""
    found = ready.roots
    if found.unclear:
        return model_work.Refuse(why=found.unclear, hint=_HINT)
    # Sources of other repositories tell nothing of this one's commit, so that they come with what reads them.
    held = [each for each in _held_back(ready) if each.id not in found.made]
    held.sort(key=lambda each: not engine_roots.is_source(each.id))
    known = {each.id for each in found.sources}
    objects = [each for each in _once([*found.roots, *held]) if each.id not in ready.inline and each.id not in known]
    if not objects:
        return model_work.Watch(revision=ready.revision, objects=found.roots)
    releases = tuple(each for each, _ in _releases(ready))
    installed = {identity for _, ids in _releases(ready) for identity in ids}
    beside = tuple(each for each in objects if each.id not in installed)
    managers = {each.id: _manager(each.id, ready) for each in beside}
    if releases:
        return model_work.Install(
            releases=releases, objects=tuple(objects), beside=beside, manager=final_owners.FIRSTLIGHT,
            managers=_besides(managers),
        )  # fmt: skip
    return model_work.Apply(objects=beside, manager=final_owners.FIRSTLIGHT, managers=_besides(managers))


def _releases(ready: TaskContext) -> Iterator[tuple[Installation, tuple[ObjectId, ...]]]:
    """The releases that are roots, with what they bring: of ``flux-instance``, or of nothing but Applications."""
    for component in ready.facts.bootstrap:
        objects = ready.objects(component)
        starting = tuple(each.id for each in objects if engine_roots.is_starting(each.id) or engine_roots.syncs(each))
        releases, _ = ready.charts.get(component.name, ((), ()))
        for each in releases:
            if install_tasks.syncs(each) or (starting and len(starting) == len(objects)):
                yield each, starting


def _held_back(ready: TaskContext) -> Iterator[Object]:
    """What components would have started too early, and nothing in Git brings."""
    for component in ready.facts.bootstrap:
        for each in ready.objects(component):
            is_engine = engine_roots.is_starting(each.id) or engine_roots.is_source(each.id)
            if is_engine and not ready.owners.is_in_git(each.id) and not _is_chart(component, ready):
                yield each


def _is_chart(component: Component, ready: TaskContext) -> bool:
    """Whether Helm brings it: then its release is a root, or brings it with everything else."""
    return bool(ready.charts.get(component.name, ((), ()))[0])


def _manager(identity: ObjectId, ready: TaskContext) -> str:
    if identity in ready.roots.by_operator:
        return flux_names.FLUX_OPERATOR
    if identity.kind == "Secret":
        return final_owners.REPOSITORY
    return ready.owners.of(identity)


def _besides(managers: dict[ObjectId, str]) -> dict[ObjectId, str]:
    return {each: owner for each, owner in managers.items() if owner != final_owners.FIRSTLIGHT}


def _once(objects: list[Object]) -> list[Object]:
    return list({each.id: each for each in reversed(objects)}.values())[::-1]

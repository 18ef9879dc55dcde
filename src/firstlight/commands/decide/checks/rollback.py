"""Whether the change can be taken back: what a revert does not bring back, and whether there is a revert."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.clients.git import git_errors
from firstlight.commands.decide.checks import answer, check_input, syntax
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, CommitRange, ObjectPair
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model import argocd_names, flux_names, helm_names
from firstlight.model.cluster import Cluster
from firstlight.model.decision import Decision
from firstlight.plan import manifest_diff

_MOST = 5


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """What cannot be taken back; the base rendered; a revert that applies."""
    answers = irreversible_pairs(check_input.pairs(decision, scene))
    if scene.before is None:
        fix = "say how it is taken back"
        return [*answers, answer.person("rollback-nothing-before", "there is nothing before it to go back to", fix=fix)]
    answers += irreversible_networks(scene.before.platform.clusters, scene.after.platform.clusters)
    answers += _base(decision, scene)
    if unseen := check_input.unseen(decision, scene):
        says = f"what else goes with {', '.join(unseen)} is not known, since it was not rendered before and after"
        answers.append(answer.skipped(says))
    if scene.history is None:
        fix = "keep a copy of what was before"
        return [*answers, answer.person("rollback-without-history", "the repo has no history to go back in", fix=fix)]
    return [*answers, *await _revert(scene.history)]


def _base(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Whether what one would go back to can be rendered."""
    assert scene.before is not None
    broken = [
        f"{each.component} of {each.cluster}: {wrong}"
        for each in check_input.touched(decision)
        if (wrong := syntax.render_problem(scene.before, each, scene))
    ]
    if not broken:
        return []
    says = f"what one would go back to cannot be rendered: {'; '.join(broken[:_MOST])}"
    return [answer.person("rollback-target-broken", says, fix="see whether it worked, before it is needed")]


async def _revert(history: CommitRange) -> list[CheckAnswer]:
    """Whether the commits could be reverted where the branch is now."""
    if not history.head:
        return [answer.passed("it is not committed yet: once it is, git revert takes it back")]
    try:
        commits = await history.git.log(history.path, history.base, history.head)
        later = await history.git.changed_files(history.path, history.head, "HEAD", since_fork=False)
        mine = await history.git.changed_files(history.path, history.base, history.head)
        is_older = await history.git.is_ancestor(history.path, history.head, "HEAD")
    except git_errors.GitNotFound as error:
        return [
            answer.person("revert-unknown", f"the history does not tell whether it can be reverted: {error.detail}")
        ]
    merges = [each.id[:7] for each in commits if len(each.parents) > 1]
    with_merges = f"; of the merge {', '.join(merges[:_MOST])} with -m 1" if merges else ""
    touched = {path for each in mine for path in (each.path, each.old_path) if path}
    again = sorted(touched & {path for each in later for path in (each.path, each.old_path)}) if is_older else []
    if again:
        names = ", ".join(again[:_MOST]) + (f" and {len(again) - _MOST} more" if len(again) > _MOST else "")
        says = f"{names} changed again since, so that a revert may not apply as it is"
        return [answer.person("revert-conflicts", says, fix="try: git revert --no-commit, then git revert --abort")]
    return [answer.passed(f"git revert takes back {_counted(len(commits))} cleanly{with_merges}")]


def _counted(count: int) -> str:
    return "the one commit" if count == 1 else f"the {count} commits"


# What cannot be taken back by reverting a commit: data that goes, and fields that an API server never changes.


_IMMUTABLE: Mapping[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("apps", "Deployment"): (("spec", "selector"),),
    ("apps", "DaemonSet"): (("spec", "selector"),),
    ("apps", "StatefulSet"): (
        ("spec", "selector"), ("spec", "serviceName"), ("spec", "volumeClaimTemplates"),
        ("spec", "podManagementPolicy"),
    ),
    ("batch", "Job"): (("spec", "selector"), ("spec", "template"), ("spec", "completionMode")),
    ("storage.k8s.io", "StorageClass"): (
        ("provisioner",), ("parameters",), ("reclaimPolicy",), ("volumeBindingMode",), ("mountOptions",),
    ),
    ("", "PersistentVolumeClaim"): (
        ("spec", "storageClassName"), ("spec", "accessModes"), ("spec", "volumeMode"), ("spec", "selector"),
    ),
    ("rbac.authorization.k8s.io", "RoleBinding"): (("roleRef",),),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (("roleRef",),),
    ("storage.k8s.io", "CSIDriver"): (("spec", "attachRequired"), ("spec", "volumeLifecycleModes")),
    ("scheduling.k8s.io", "PriorityClass"): (("value",), ("preemptionPolicy",)),
}  # fmt: skip
"""What the API server refuses to change, by group and kind: somebody must delete the object and make it anew."""
_DATA = {
    ("", "PersistentVolumeClaim"): "the volume and what is on it go with it",
    ("", "PersistentVolume"): "what is on it may go with it",
    ("", "Namespace"): "everything in it goes with it",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "every object of its kind goes with it, in all namespaces",
    ("postgresql.cnpg.io", "Cluster"): "the database goes with it",
    ("ceph.rook.io", "CephCluster"): "the storage of the cluster goes with it",
    ("ceph.rook.io", "CephBlockPool"): "its volumes go with it",
    ("ceph.rook.io", "CephFilesystem"): "its volumes go with it",
}
"""What takes data along when it goes."""
_CIDR = "a running cluster cannot change that, nor change it back"


def irreversible_pairs(pairs: Iterable[ObjectPair]) -> list[CheckAnswer]:
    """What of the objects cannot be taken back."""
    return [found for pair in pairs for judge in _JUDGES for found in judge(pair)]


def irreversible_networks(before: Iterable[Cluster], after: Iterable[Cluster]) -> list[CheckAnswer]:
    """Clusters whose own networks become others."""
    answers = []
    olds = {each.name: each for each in before}
    for new in after:
        old = olds.get(new.name)
        for field in ("pods", "services"):
            was, will = (getattr(each.network, field) for each in (old, new)) if old is not None else ((), ())
            if was and will and was != will:
                says = f"the {field} of {new.name} are in {', '.join(will)} instead of {', '.join(was)}: {_CIDR}"
                place = new.said.get(f"network.{field}", new.place)
                fix = "plan a rebuild or a documented migration, with a backup of etcd"
                answers.append(answer.failed("cluster-network-changed", says, fix=fix, at=place))
    return answers


def _gone(pair: ObjectPair) -> Iterator[CheckAnswer]:
    why = _DATA.get((pair.id.group, pair.id.kind))
    if pair.is_gone and why is not None and not _is_kept(pair.before):
        fix = "take a backup that was tried, or keep it (an annotation that forbids to prune it)"
        yield answer.failed(
            "data-lost-with-object",
            f"{pair} is removed, and {why}: a revert brings an empty one",
            fix=fix,
            at=pair.place,
        )


def _is_kept(value: Mapping[str, Any] | None) -> bool:
    """Whether engines leave it where it is."""
    annotations, labels = mapping(value, "metadata", "annotations"), mapping(value, "metadata", "labels")
    return (
        "disabled" in (text(labels, flux_names.PRUNE_ANNOTATION), text(annotations, flux_names.PRUNE_ANNOTATION))
        or text(annotations, helm_names.RESOURCE_POLICY_ANNOTATION) == "keep"
        or "Prune=false" in text(annotations, argocd_names.SYNC_OPTIONS_ANNOTATION)
    )


def _immutable(pair: ObjectPair) -> Iterator[CheckAnswer]:
    if pair.before is None or pair.after is None:
        return
    for path in _IMMUTABLE.get((pair.id.group, pair.id.kind), ()):
        old, new = at(pair.before, *path), at(pair.after, *path)
        if old != new and not (old is None and path[-1] in ("podManagementPolicy", "selector", "mountOptions")):
            says = f"{pair}: {'.'.join(path)} cannot be changed, so that it must be deleted and made anew"
            fix = "write down how, and what runs meanwhile; the same is needed to go back"
            yield answer.failed("immutable-field", says, fix=fix, at=pair.place)
    is_sealed = pair.id.kind in ("ConfigMap", "Secret") and at(pair.before, "immutable") is True
    if is_sealed and any(at(pair.before, each) != at(pair.after, each) for each in ("data", "binaryData", "immutable")):
        yield answer.failed(
            "immutable-field", f"{pair} is immutable, and its content differs", fix="give it a new name", at=pair.place
        )


def _shrunk(pair: ObjectPair) -> Iterator[CheckAnswer]:
    if pair.before is None or pair.after is None:
        return
    for name, old, new in _sizes(pair.before, pair.after):
        before, after = manifest_diff.quantity_value(old), manifest_diff.quantity_value(new)
        if before is None or after is None or before == after:
            continue
        if after < before:
            says = f"{pair}: {name} shrinks from {old} to {new}, and volumes do not shrink"
            yield answer.failed("volume-shrinks", says, fix="make a new volume and copy what is on it", at=pair.place)
        else:
            says = f"{pair}: {name} grows from {old} to {new}, and a revert does not shrink it again"
            yield answer.person(
                "volume-grows", says, fix="after a revert the size in Git must stay the new one", at=pair.place
            )


def _sizes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Sizes of volumes by their names, where both have one."""
    ways: Sequence[tuple[str, ...]] = (
        ("spec", "resources", "requests", "storage"),
        ("spec", "storage", "size"),
        ("spec", "walStorage", "size"),
    )
    for way in ways:
        old, new = at(before, *way), at(after, *way)
        if old is not None and new is not None:
            yield ".".join(way), old, new
    news = {text(each, "metadata", "name"): each for each in sequence(after, "spec", "volumeClaimTemplates")}
    for each in sequence(before, "spec", "volumeClaimTemplates"):
        name = text(each, "metadata", "name")
        if name in news:
            yield f"volume {name}", at(each, *ways[0]), at(news[name], *ways[0])


def _versions(pair: ObjectPair) -> Iterator[CheckAnswer]:
    """A CRD that no longer serves or stores a version: objects of it cannot be read any more."""
    if pair.id.kind != "CustomResourceDefinition" or pair.before is None or pair.after is None:
        return
    news = {text(each, "name"): each for each in sequence(pair.after, "spec", "versions")}
    for each in sequence(pair.before, "spec", "versions"):
        name = text(each, "name")
        is_stored = at(each, "storage") is True
        if name not in news:
            says = f"{pair} drops the version {name}" + (", in which objects are stored" if is_stored else "")
            fix = "see that status.storedVersions does not list it, and that nothing in Git uses it"
            yield (answer.failed if is_stored else answer.person)("crd-version-dropped", says, fix=fix, at=pair.place)
        elif is_stored and at(news[name], "storage") is not True:
            says = f"{pair} stores another version than {name} from now on: what is written then cannot be read before"
            yield answer.person(
                "crd-storage-version-changed", says, fix="a revert needs a storage migration first", at=pair.place
            )


def _pruned(pair: ObjectPair) -> Iterator[CheckAnswer]:
    """A Kustomization or an Application that goes, and takes along what it brought."""
    kind = (pair.id.group, pair.id.kind)
    is_pruning = (
        kind == (flux_names.KUSTOMIZE_GROUP, flux_names.KUSTOMIZATION) and at(pair.before, "spec", "prune") is True
    ) or (
        kind == (argocd_names.GROUP, argocd_names.APPLICATION)
        and any("resources-finalizer" in str(each) for each in sequence(pair.before, "metadata", "finalizers"))
    )
    if pair.is_gone and (is_pruning or kind == (flux_names.HELM_GROUP, flux_names.HELM_RELEASE)):
        says = f"{pair} is removed, and everything that it brought goes with it"
        fix = "a revert brings the objects again, not their data: see what volumes and CRDs it has"
        yield answer.person("owner-removed-with-objects", says, fix=fix, at=pair.place)


_JUDGES: Sequence[Callable[[ObjectPair], Iterator[CheckAnswer]]] = (_gone, _immutable, _shrunk, _versions, _pruned)

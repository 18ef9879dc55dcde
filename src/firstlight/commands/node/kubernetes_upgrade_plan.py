"""The plan of an upgrade of Kubernetes: one minor at a time, as the Talos of each machine allows, and said by the repo.

``talosctl upgrade-k8s`` writes the new version into the configs of all machines. A repo that says the old one would
take it back with the next config that it gives them, so it must say the new one before.
"""

import re
from collections.abc import Iterator, Sequence

from firstlight.model import versions
from firstlight.model.cluster import MachineRole
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.upgrade_plan import (
    DeclaredVersion,
    KubernetesUpgrade,
    MachineUpgrade,
    UpgradeCandidate,
    UpgradePlan,
    UpgradeProduct,
    UpgradeRound,
)
from firstlight.model.versions import WholeVersion
from firstlight.plan import version_matrix


def plan_kubernetes_upgrade(
    machines: Sequence[UpgradeCandidate], target: str, *, cluster: str, runs: str, declared: DeclaredVersion
) -> UpgradePlan:
    """What would be done, and what speaks against it.

    Args:
        machines: All machines of the cluster, as they were found.
        target: The version that is wanted.
        cluster: Its name.
        runs: The version of the API server.
        declared: What the repo says of Kubernetes.
    """
    wanted = versions.parse_version(target)
    if wanted is None:
        refusal = Diagnostic.error(
            "upgrade-version-invalid",
            f"{target[:40]!r} is no version of Kubernetes",
            fix="Write it whole: --kubernetes v1.36.1",
        )
        return UpgradePlan(cluster=cluster, product=UpgradeProduct.KUBERNETES, refusals=(refusal,))
    text = versions.with_v(target)
    moves = tuple(_move(each, runs, text, wanted) for each in machines)
    refusals = [*_silent(machines), *_of_runs(machines, runs, text, wanted)]
    refusals += [each for now in machines for each in _of_talos(now, text, wanted)]
    refusals += _of_repo(declared, text, wanted, cluster)
    return UpgradePlan(
        cluster=cluster,
        product=UpgradeProduct.KUBERNETES,
        rounds=(UpgradeRound(version=text, moves=moves),),
        refusals=tuple(dict.fromkeys(refusals)),
        warnings=tuple(dict.fromkeys(_doubts(machines))),
        repo=_repo(declared, text, cluster),
    )


def _move(now: UpgradeCandidate, runs: str, text: str, wanted: WholeVersion) -> MachineUpgrade:
    """A control plane has the version when the API server has it, too."""
    is_plane = now.machine.role is MachineRole.CONTROL_PLANE
    before = runs if is_plane and not _has(runs, wanted) else now.kubelet
    return MachineUpgrade(machine=now.machine, before=before, after=text, is_done=_has(before, wanted))


def _has(runs: str, wanted: WholeVersion) -> bool:
    found = versions.parse_version(runs)
    return found is not None and found >= wanted


def _silent(machines: Sequence[UpgradeCandidate]) -> Iterator[Diagnostic]:
    for each in machines:
        if each.why:
            yield Diagnostic.error(
                "upgrade-machine-not-ready",
                f"{each.machine.name} {each.why}",
                subject=each.machine.name,
                fix="Bring it back first: every machine gets the new version.",
            )


def _of_runs(machines: Sequence[UpgradeCandidate], runs: str, text: str, wanted: WholeVersion) -> Iterator[Diagnostic]:
    found = versions.parse_version(runs)
    if found is None:
        yield Diagnostic.error("upgrade-version-unknown", "the API server does not say its version")
        return
    if wanted < found:
        message = f"Kubernetes {runs} runs, which is later than {text}: it is not downgraded"
        yield Diagnostic.error("upgrade-downgrade", message)
        return
    kubelets = [parsed for each in machines if (parsed := versions.parse_version(each.kubelet)) is not None]
    oldest = min([found, *kubelets])
    if wanted.major != oldest.major or wanted.minor - oldest.minor > 1:
        yield Diagnostic.error(
            "upgrade-minor-skipped",
            f"Kubernetes {oldest.major}.{oldest.minor} runs, and {text} is more than one minor away",
            fix=f"First: firstlight node upgrade --kubernetes v{oldest.major}.{oldest.minor + 1}.N",
        )


def _of_talos(now: UpgradeCandidate, text: str, wanted: WholeVersion) -> Iterator[Diagnostic]:
    span = _span(now)
    if span is None:
        return
    first, last = versions.minor(span[0]) or wanted.line, versions.minor(span[1]) or wanted.line
    if not first <= wanted.line <= last:
        message = (
            f"{now.machine.name} runs Talos {now.talos}, which is for Kubernetes {span[0]} to {span[1]}, not {text}"
        )
        fix = "First: firstlight node upgrade --talos" if wanted.line > last else "Take a newer one."
        yield Diagnostic.error("upgrade-versions-incompatible", message, fix=fix, subject=now.machine.name)


def _span(now: UpgradeCandidate) -> tuple[str, str] | None:
    line = versions.minor(now.talos)
    return version_matrix.table()["talos"].kubernetes.get(f"{line[0]}.{line[1]}") if line else None


def _doubts(machines: Sequence[UpgradeCandidate]) -> Iterator[Diagnostic]:
    for each in machines:
        if each.talos and _span(each) is None:
            message = (
                f"with which Kubernetes Talos {each.talos} goes is not known here: look it up in its release notes"
            )
            yield Diagnostic.unknown("upgrade-versions-untested", message)


def _of_repo(declared: DeclaredVersion, text: str, wanted: WholeVersion, cluster: str) -> Iterator[Diagnostic]:
    if declared.version and versions.parse_version(declared.version) != wanted:
        where = f"{declared.place} says" if declared.place else "the repo says"
        yield Diagnostic.error(
            "upgrade-repo-version-differs",
            f"{where} Kubernetes {declared.version}: with the next config of a machine it would be that again",
            at=declared.place or (),
            fix=f"Write {text} there, and run this again; nothing is upgraded by the repo alone.",
        )
    elif not declared.version:
        yield Diagnostic.error(
            "upgrade-repo-version-missing",
            "the repo says no version of Kubernetes: the next config of a machine would have talosctl's own",
            fix=f"Write clusters.{cluster}.kubernetes: {text} in firstlight.yaml, and run this again.",
        )


def _repo(declared: DeclaredVersion, text: str, cluster: str) -> str:
    if declared.version and versions.parse_version(declared.version) == versions.parse_version(text):
        return f"the repo says {text} already ({declared.place})" if declared.place else f"the repo says {text} already"
    return f"the repo must say clusters.{cluster}.kubernetes: {text} first"


# What ``talosctl upgrade-k8s`` would do to objects, held against who owns them: Git's are not touched by Talos.
#
# Talos brings its manifests into force with every upgrade of Kubernetes. An inline manifest from the day of the
# bootstrap puts an object back to what it was then, and one that Talos once had and has no more is deleted: so CNIs
# are lost.


SHOWN = 5
_DEPRECATED = re.compile(r"(?P<resource>[a-z]+\.v\d\S*)\s+(?P<count>\d+)")
_RELEASE = "Let Talos release what Git owns: firstlight handover."
_ACCEPT = "Or agree to it: --accept-manifests"


def manifest_refusals(
    *, written: Sequence[str], deleted: Sequence[str], besides: Sequence[str], unknown: str = "", is_pruned: bool = True
) -> Iterator[Diagnostic]:
    """What nobody has agreed to.

    Args:
        written: Objects of Git that would be written over.
        deleted: Objects of Git that would be deleted.
        besides: What else would be deleted.
        unknown: Why it is not known.
        is_pruned: Whether anything would be deleted at all.
    """
    if unknown:
        message = f"what the upgrade would do to Talos's manifests is not known: {unknown}"
        yield Diagnostic.error("upgrade-manifests-unknown", message, fix=_ACCEPT)
    if written:
        message = f"it would write over {_some(written)}, which Git owns"
        yield Diagnostic.error("upgrade-overwrites-git", message, fix=f"{_RELEASE} {_ACCEPT}")
    if deleted and is_pruned:
        message = f"it would delete {_some(deleted)}, which Git owns"
        yield Diagnostic.error("upgrade-deletes-git", message, fix=f"{_RELEASE} Or delete nothing: --no-prune")
    if besides and is_pruned:
        message = f"it would delete {_some(besides)}, which no manifest brings any more"
        yield Diagnostic.error("upgrade-prunes-objects", message, fix=f"Delete nothing: --no-prune. {_ACCEPT}")


def manifest_changes(upgrade: KubernetesUpgrade) -> tuple[str, ...]:
    """What happens to each object that does not stay as it is."""
    return tuple(f"{each.action} {each.subject}" for each in upgrade.manifests if each.action != "unchanged")


def deprecation_warnings(upgrade: KubernetesUpgrade) -> Iterator[Diagnostic]:
    """The kinds that the new version serves no more in the version that is used, as talosctl counts them."""
    for line in upgrade.text.splitlines():
        if match := _DEPRECATED.fullmatch(line.strip()):
            message = f"{match['count']} {match['resource']}: deprecated or gone in the new version"
            yield Diagnostic.warning("upgrade-api-deprecated", message)


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")

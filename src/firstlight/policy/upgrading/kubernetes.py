"""The plan of an upgrade of Kubernetes: one minor at a time, as the Talos of each machine allows, and said by the repo.

``talosctl upgrade-k8s`` writes the new version into the configs of all machines. A repo that says the old one would
take it back with the next config that it gives them, so it must say the new one before.
"""

from collections.abc import Iterator, Sequence

from firstlight.model.cluster import MachineRole
from firstlight.model.node_upgrade import Declared, MachineNow, Move, Product, Refusal, Round, UpgradePlan
from firstlight.plan import versions as known
from firstlight.policy.upgrading import version as versions
from firstlight.policy.upgrading.version import Version


def plan(machines: Sequence[MachineNow], target: str, *, cluster: str, runs: str, declared: Declared) -> UpgradePlan:
    """What would be done, and what speaks against it.

    Args:
        machines: All machines of the cluster, as they were found.
        target: The version that is wanted.
        cluster: Its name.
        runs: The version of the API server.
        declared: What the repo says of Kubernetes.
    """
    wanted = versions.parse(target)
    if wanted is None:
        refusal = Refusal(f"{target[:40]!r} is no version of Kubernetes", "Write it whole: --kubernetes v1.36.1")
        return UpgradePlan(cluster=cluster, product=Product.KUBERNETES, refusals=(refusal,))
    text = versions.written(target)
    moves = tuple(_move(each, runs, text, wanted) for each in machines)
    refusals = [*_silent(machines), *_of_runs(machines, runs, text, wanted)]
    refusals += [each for now in machines for each in _of_talos(now, text, wanted)]
    refusals += _of_repo(declared, text, wanted, cluster)
    return UpgradePlan(
        cluster=cluster,
        product=Product.KUBERNETES,
        rounds=(Round(version=text, moves=moves),),
        refusals=tuple(dict.fromkeys(refusals)),
        warnings=tuple(dict.fromkeys(_doubts(machines))),
        repo=_repo(declared, text, cluster),
    )


def _move(now: MachineNow, runs: str, text: str, wanted: Version) -> Move:
    """A control plane has the version when the API server has it, too."""
    is_plane = now.machine.role is MachineRole.CONTROL_PLANE
    before = runs if is_plane and not _has(runs, wanted) else now.kubelet
    return Move(machine=now.machine, before=before, after=text, is_done=_has(before, wanted))


def _has(runs: str, wanted: Version) -> bool:
    found = versions.parse(runs)
    return found is not None and found >= wanted


def _silent(machines: Sequence[MachineNow]) -> Iterator[Refusal]:
    for each in machines:
        if each.why:
            yield Refusal(
                f"{each.machine.name} {each.why}",
                "Bring it back first: every machine gets the new version.",
            )


def _of_runs(machines: Sequence[MachineNow], runs: str, text: str, wanted: Version) -> Iterator[Refusal]:
    found = versions.parse(runs)
    if found is None:
        yield Refusal("the API server does not say its version")
        return
    if wanted < found:
        yield Refusal(f"Kubernetes {runs} runs, which is later than {text}: it is not downgraded", "")
        return
    kubelets = [parsed for each in machines if (parsed := versions.parse(each.kubelet)) is not None]
    oldest = min([found, *kubelets])
    if wanted.major != oldest.major or wanted.minor - oldest.minor > 1:
        yield Refusal(
            f"Kubernetes {oldest.major}.{oldest.minor} runs, and {text} is more than one minor away",
            f"First: firstlight node upgrade --kubernetes v{oldest.major}.{oldest.minor + 1}.N",
        )


def _of_talos(now: MachineNow, text: str, wanted: Version) -> Iterator[Refusal]:
    span = _span(now)
    if span is None:
        return
    first, last = known.minor(span[0]) or wanted.line, known.minor(span[1]) or wanted.line
    if not first <= wanted.line <= last:
        message = (
            f"{now.machine.name} runs Talos {now.talos}, which is for Kubernetes {span[0]} to {span[1]}, not {text}"
        )
        yield Refusal(message, "First: firstlight node upgrade --talos" if wanted.line > last else "Take a newer one.")


def _span(now: MachineNow) -> tuple[str, str] | None:
    line = known.minor(now.talos)
    return known.table()["talos"].kubernetes.get(f"{line[0]}.{line[1]}") if line else None


def _doubts(machines: Sequence[MachineNow]) -> Iterator[str]:
    for each in machines:
        if each.talos and _span(each) is None:
            yield f"with which Kubernetes Talos {each.talos} goes is not known here: look it up in its release notes"


def _of_repo(declared: Declared, text: str, wanted: Version, cluster: str) -> Iterator[Refusal]:
    if declared.version and versions.parse(declared.version) != wanted:
        where = f"{declared.place} says" if declared.place else "the repo says"
        yield Refusal(
            f"{where} Kubernetes {declared.version}: with the next config of a machine it would be that again",
            f"Write {text} there, and run this again; nothing is upgraded by the repo alone.",
        )
    elif not declared.version:
        yield Refusal(
            "the repo says no version of Kubernetes: the next config of a machine would have talosctl's own",
            f"Write clusters.{cluster}.kubernetes: {text} in firstlight.yaml, and run this again.",
        )


def _repo(declared: Declared, text: str, cluster: str) -> str:
    if declared.version and versions.parse(declared.version) == versions.parse(text):
        return f"the repo says {text} already ({declared.place})" if declared.place else f"the repo says {text} already"
    return f"the repo must say clusters.{cluster}.kubernetes: {text} first"

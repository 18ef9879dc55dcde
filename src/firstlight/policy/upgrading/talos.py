"""The plan of an upgrade of Talos: rounds of one minor each, and everything that speaks against it.

Talos tests the way between neighbouring minors only, and goes with some versions of Kubernetes only. Below 1.8 an
upgrade wiped the machine's data unless it was told not to, which today's talosctl cannot say any more.
"""

import itertools
from collections.abc import Iterator, Sequence

from firstlight.model.node_upgrade import Declared, MachineNow, Move, Product, Refusal, Round, UpgradePlan
from firstlight.plan import versions as known
from firstlight.policy.upgrading import images, order
from firstlight.policy.upgrading import version as versions
from firstlight.policy.upgrading.version import Version

FIRST = (1, 8)
"""The first minor whose upgrades keep the data of a machine without being told."""


def plan(
    machines: Sequence[MachineNow],
    targets: Sequence[str],
    *,
    cluster: str,
    kubernetes: str,
    declared: Declared,
    only: Sequence[str] = (),
    leader: str = "",
) -> UpgradePlan:
    """What would be done, and what speaks against it.

    Args:
        machines: All machines of the cluster, as they were found.
        targets: Versions, one for each minor on the way; the last is the one that is wanted.
        cluster: Its name.
        kubernetes: The version that runs.
        declared: What the repo says of Talos.
        only: Names of machines that are meant; all if none is named.
        leader: The machine whose member of etcd leads.
    """
    meant = [each for each in machines if not only or each.machine.name in only]
    wanted = [(versions.written(each), parsed) for each in targets if (parsed := versions.parse(each)) is not None]
    refusals = [*_unread(targets), *_unknown(machines, only), *_unordered(wanted)]
    for now in meant:
        refusals += _of_machine(now, wanted)
    for _, target in wanted:
        refusals += _of_kubernetes(target, kubernetes)
    by_name = {each.machine.name: each for each in meant}
    ordered = [by_name[each.name] for each in order.of((each.machine for each in meant), leader=leader)]
    warnings = [line for now in meant for line in images.warnings(now)]
    warnings += [line for _, target in wanted for line in _doubts(target)]
    rounds = tuple(
        _round(ordered, text, target, number and wanted[number - 1][0]) for number, (text, target) in enumerate(wanted)
    )
    return UpgradePlan(
        cluster=cluster,
        product=Product.TALOS,
        rounds=rounds,
        refusals=tuple(dict.fromkeys(refusals)),
        warnings=tuple(dict.fromkeys(warnings)),
        repo=_repo(declared, wanted[-1][0], cluster) if wanted else "",
    )


def _round(machines: Sequence[MachineNow], text: str, target: Version, last: str | int) -> Round:
    moves = []
    for now in machines:
        runs = versions.parse(now.talos)
        is_done = runs is not None and runs >= target
        before = now.talos if not last or (runs and runs >= (versions.parse(str(last)) or target)) else str(last)
        moves.append(
            Move(
                machine=now.machine,
                before=before,
                after=text,
                image=images.in_version(now.image, text),
                is_done=is_done,
            )
        )
    return Round(version=text, moves=tuple(moves))


def _unread(targets: Sequence[str]) -> Iterator[Refusal]:
    for each in targets:
        if versions.parse(each) is None:
            yield Refusal(f"{each[:40]!r} is no version of Talos", "Write it whole: --talos v1.13.1")


def _unknown(machines: Sequence[MachineNow], only: Sequence[str]) -> Iterator[Refusal]:
    names = [each.machine.name for each in machines]
    for each in only:
        if each not in names:
            yield Refusal(f"there is no machine {each[:63]!r}", f"There is {', '.join(names)}.")


def _unordered(wanted: Sequence[tuple[str, Version]]) -> Iterator[Refusal]:
    for (before, first), (after, second) in itertools.pairwise(wanted):
        if second <= first:
            yield Refusal(
                f"{after} does not come after {before}", "Name the versions in their order, the last one last."
            )
        elif _is_far(first, second):
            yield Refusal(f"{before} to {after} is more than one minor", _through(first, after, second))


def _of_machine(now: MachineNow, wanted: Sequence[tuple[str, Version]]) -> Iterator[Refusal]:
    name = now.machine.name
    if now.why:
        yield Refusal(f"{name} {now.why}", "Bring it back first, or name the machines that are meant: --machine")
        return
    runs = versions.parse(now.talos)
    if runs is None:
        yield Refusal(f"{name} does not say which Talos it runs", "")
        return
    text, last = wanted[-1] if wanted else ("", runs)
    if last < runs:
        yield Refusal(
            f"{name} runs {now.talos}, which is later than {text}: an older Talos may not read what a newer one wrote",
            f"The version before is still installed beside it: talosctl rollback --nodes {now.machine.address}",
        )
        return
    left = [(each, parsed) for each, parsed in wanted if parsed > runs]
    if not left:
        return
    if runs.line < FIRST:
        yield Refusal(
            f"{name} runs {now.talos}: below v1.8 an upgrade wipes the machine's data unless it is told to keep it",
            "Bring it to v1.8 with the talosctl of its own version: talosctl upgrade --preserve",
        )
        return
    if _is_far(runs, left[0][1]):
        yield Refusal(
            f"{name} runs {now.talos}, and {left[0][0]} is more than one minor away: Talos tests no such way",
            _through(runs, *left[0]),
        )
    yield from images.refusals(now, left[-1][0])


def _is_far(first: Version, second: Version) -> bool:
    return first.major != second.major or second.minor - first.minor > 1


def _through(first: Version, text: str, second: Version) -> str:
    if first.major != second.major:
        return "Look up the way in the release notes of Talos."
    between = [f"--talos v{first.major}.{each}.N" for each in range(first.minor + 1, second.minor)]
    return f"Name a version of each minor on the way, best its last: {' '.join(between)} --talos {text}"


def _of_kubernetes(target: Version, kubernetes: str) -> Iterator[Refusal]:
    span = known.table()["talos"].kubernetes.get(f"{target.major}.{target.minor}")
    runs = known.minor(kubernetes)
    if span is None or runs is None:
        return
    first, last = known.minor(span[0]), known.minor(span[1])
    assert first is not None
    assert last is not None
    if runs < first or runs > last:
        line = f"{target.major}.{target.minor}"
        message = f"Talos {line} is for Kubernetes {span[0]} to {span[1]}, and {kubernetes} runs"
        hint = f"First: firstlight node upgrade --kubernetes v{span[0]}.N" if runs < first else "Take a newer Talos."
        yield Refusal(message, hint)


def _doubts(target: Version) -> Iterator[str]:
    line = f"{target.major}.{target.minor}"
    if line not in known.table()["talos"].kubernetes:
        yield f"with which Kubernetes Talos {line} goes is not known here: look it up in its release notes"


def _repo(declared: Declared, target: str, cluster: str) -> str:
    later = "for machines that are added later"
    if not declared.version:
        return f"the repo says no version of Talos: write clusters.{cluster}.talos: {target}, {later}"
    if versions.parse(declared.version) == versions.parse(target):
        return f"the repo says {target} already" + (f" ({declared.place})" if declared.place else "")
    where = f"{declared.place}: " if declared.place else ""
    return f"{where}write {target} instead of {declared.version}, {later}"

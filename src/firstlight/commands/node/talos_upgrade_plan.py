"""Installer images in another version: everything stays but the tag, so that no extension is lost."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from firstlight.model import versions
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.upgrade_plan import (
    DeclaredVersion,
    MachineUpgrade,
    UpgradeCandidate,
    UpgradePlan,
    UpgradeProduct,
    UpgradeRound,
)
from firstlight.model.versions import WholeVersion
from firstlight.plan import version_matrix
from firstlight.render.machines import schematics

_FACTORY = re.compile(r"/(?:[a-z-]*installer(?:-secureboot)?)/(?P<id>[0-9a-f]{64})$")


def image_in_version(image: str, version: str) -> str:
    """The same installer in another version; the one without extensions moves to the image factory with Talos 1.14."""
    name, _, tag = _parts(image)
    if name == schematics.INSTALLER and tag:
        return schematics.plain_installer(version)
    return f"{name}:{versions.with_v(version)}" if tag and tag != versions.with_v(version) else image


def schematic_of(image: str) -> str:
    """The id of the factory's schematic in an image; empty where it is none of the factory's."""
    match = _FACTORY.search(_parts(image)[0])
    return match["id"] if match else ""


def image_refusals(now: UpgradeCandidate, version: str) -> list[Diagnostic]:
    """Why a machine must not be upgraded with the image that its declaration comes to."""
    name, digest, tag = _parts(now.image)
    own = now.machine.name
    if not now.image:
        message = f"{own}: nothing says which installer it gets"
        fix = f"Declare machine.install.image, or talos: {versions.with_v(version)}."
        return [Diagnostic.error("installer-missing", message, fix=fix, subject=own)]
    if digest and tag != versions.with_v(version):
        message = f"{own}: its installer is pinned to a digest ({now.image})"
        fix = f"Write the image of {versions.with_v(version)} with its digest into {_where(now)}."
        return [Diagnostic.error("installer-pinned-to-digest", message, fix=fix, subject=own)]
    if not tag:
        message = f"{own}: its installer has no version ({now.image})"
        fix = f"Write {name}:vX.Y.Z in {_where(now)}."
        return [Diagnostic.error("installer-without-version", message, fix=fix, subject=own)]
    found = []
    declared, runs = schematic_of(now.image), now.schematic
    if now.extensions and not declared and name == schematics.INSTALLER:
        what = ", ".join(now.extensions[:3]) + (" …" if len(now.extensions) > 3 else "")
        message = f"{own} would lose its extensions ({what}): the repo declares {now.image}, which has none"
        fix = f"Declare the schematic or image that it was installed from{_known(runs)}."
        found.append(Diagnostic.error("installer-loses-extensions", message, fix=fix, subject=own))
    return found


def image_warnings(now: UpgradeCandidate) -> list[Diagnostic]:
    """What differs between what a machine has and what the repo would install, besides the version."""
    declared, runs, own = schematic_of(now.image), now.schematic, now.machine.name
    if declared and runs and declared != runs:
        message = f"{own} gets another schematic: {declared[:12]}…, and it runs {runs[:12]}…"
        return [Diagnostic.warning("installer-schematic-differs", message, subject=own)]
    if declared or runs or not now.installed or _parts(now.image)[0] == _parts(now.installed)[0]:
        return []
    message = f"{own} gets another installer: {now.image}, and its config names {now.installed}"
    return [Diagnostic.warning("installer-differs", message, subject=own)]


def _where(now: UpgradeCandidate) -> str:
    return str(now.machine.place)


def _known(id: str) -> str:
    return f" (schematic {id})" if id else ""


def _parts(image: str) -> tuple[str, str, str]:
    """The name, the digest and the tag of an image."""
    rest, _, digest = image.partition("@")
    name, _, tag = rest.rpartition(":")
    return (name, digest, tag) if name and "/" not in tag else (rest, digest, "")


# In which order machines are upgraded: one first that the cluster can do without, control planes, then the rest.
#
# Talos itself knows no order, only that control planes go one at a time. A worker goes first, since it takes no
# member of etcd along if its new version does not boot; the leader of etcd goes last of its kind, since each time it
# goes the others elect another.


def upgrade_order(machines: Iterable[Machine], *, leader: str = "") -> tuple[Machine, ...]:
    """The machines in their order.

    Args:
        machines: As they are declared.
        leader: The machine whose member of etcd leads, if it is known.
    """
    every = tuple(machines)
    workers = [each for each in every if each.role is not MachineRole.CONTROL_PLANE]
    planes = [each for each in every if each.role is MachineRole.CONTROL_PLANE]
    planes.sort(key=lambda each: each.name == leader)
    return (*workers[:1], *planes, *workers[1:])


# The plan of an upgrade of Talos: rounds of one minor each, and everything that speaks against it.
#
# Talos tests the way between neighbouring minors only, and goes with some versions of Kubernetes only. Below 1.8 an
# upgrade wiped the machine's data unless it was told not to, which today's talosctl cannot say any more.


FIRST = (1, 8)
"""The first minor whose upgrades keep the data of a machine without being told."""


def plan_talos_upgrade(
    machines: Sequence[UpgradeCandidate], targets: Sequence[str], *, cluster: str, kubernetes: str, declared:
    DeclaredVersion, only: Sequence[str] = (), leader: str = "",
) -> UpgradePlan:  # fmt: skip
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
    wanted = [
        (versions.with_v(each), parsed) for each in targets if (parsed := versions.parse_version(each)) is not None
    ]
    refusals = [*_unread(targets), *_unknown(machines, only), *_unordered(wanted)]
    for now in meant:
        refusals += _of_machine(now, wanted)
    for _, target in wanted:
        refusals += _of_kubernetes(target, kubernetes)
    by_name = {each.machine.name: each for each in meant}
    ordered = [by_name[each.name] for each in upgrade_order((each.machine for each in meant), leader=leader)]
    warnings = [line for now in meant for line in image_warnings(now)]
    warnings += [line for _, target in wanted for line in _doubts(target)]
    rounds = tuple(
        _round(ordered, text, target, number and wanted[number - 1][0]) for number, (text, target) in enumerate(wanted)
    )
    return UpgradePlan(
        cluster=cluster,
        product=UpgradeProduct.TALOS,
        rounds=rounds,
        refusals=tuple(dict.fromkeys(refusals)),
        warnings=tuple(dict.fromkeys(warnings)),
        repo=_repo(declared, wanted[-1][0], cluster) if wanted else "",
    )


def _round(machines: Sequence[UpgradeCandidate], text: str, target: WholeVersion, last: str | int) -> UpgradeRound:
    moves = []
    for now in machines:
        runs = versions.parse_version(now.talos)
        is_done = runs is not None and runs >= target
        before = (
            now.talos if not last or (runs and runs >= (versions.parse_version(str(last)) or target)) else str(last)
        )
        moves.append(
            MachineUpgrade(
                machine=now.machine,
                before=before,
                after=text,
                image=image_in_version(now.image, text),
                is_done=is_done,
            )
        )
    return UpgradeRound(version=text, moves=tuple(moves))


def _unread(targets: Sequence[str]) -> Iterator[Diagnostic]:
    for each in targets:
        if versions.parse_version(each) is None:
            message = f"{each[:40]!r} is no version of Talos"
            yield Diagnostic.error("upgrade-version-invalid", message, fix="Write it whole: --talos v1.13.1")


def _unknown(machines: Sequence[UpgradeCandidate], only: Sequence[str]) -> Iterator[Diagnostic]:
    names = [each.machine.name for each in machines]
    for each in only:
        if each not in names:
            message = f"there is no machine {each[:63]!r}"
            yield Diagnostic.error("upgrade-machine-unknown", message, fix=f"There is {', '.join(names)}.")


def _unordered(wanted: Sequence[tuple[str, WholeVersion]]) -> Iterator[Diagnostic]:
    for (before, first), (after, second) in itertools.pairwise(wanted):
        if second <= first:
            message = f"{after} does not come after {before}"
            fix = "Name the versions in their order, the last one last."
            yield Diagnostic.error("upgrade-versions-unordered", message, fix=fix)
        elif _is_far(first, second):
            message = f"{before} to {after} is more than one minor"
            yield Diagnostic.error("upgrade-minor-skipped", message, fix=_through(first, after, second))


def _of_machine(now: UpgradeCandidate, wanted: Sequence[tuple[str, WholeVersion]]) -> Iterator[Diagnostic]:
    name = now.machine.name
    if now.why:
        fix = "Bring it back first, or name the machines that are meant: --machine"
        yield Diagnostic.error("upgrade-machine-not-ready", f"{name} {now.why}", fix=fix, subject=name)
        return
    runs = versions.parse_version(now.talos)
    if runs is None:
        yield Diagnostic.error("upgrade-version-unknown", f"{name} does not say which Talos it runs", subject=name)
        return
    text, last = wanted[-1] if wanted else ("", runs)
    if last < runs:
        yield Diagnostic.error(
            "upgrade-downgrade",
            f"{name} runs {now.talos}, which is later than {text}: an older Talos may not read what a newer one wrote",
            subject=name,
            fix=f"The version before is still installed beside it: talosctl rollback --nodes {now.machine.address}",
        )
        return
    left = [(each, parsed) for each, parsed in wanted if parsed > runs]
    if not left:
        return
    if runs.line < FIRST:
        yield Diagnostic.error(
            "upgrade-wipes-data",
            f"{name} runs {now.talos}: below v1.8 an upgrade wipes the machine's data unless it is told to keep it",
            subject=name,
            fix="Bring it to v1.8 with the talosctl of its own version: talosctl upgrade --preserve",
        )
        return
    if _is_far(runs, left[0][1]):
        yield Diagnostic.error(
            "upgrade-minor-skipped",
            f"{name} runs {now.talos}, and {left[0][0]} is more than one minor away: Talos tests no such way",
            subject=name,
            fix=_through(runs, *left[0]),
        )
    yield from image_refusals(now, left[-1][0])


def _is_far(first: WholeVersion, second: WholeVersion) -> bool:
    return first.major != second.major or second.minor - first.minor > 1


def _through(first: WholeVersion, text: str, second: WholeVersion) -> str:
    if first.major != second.major:
        return "Look up the way in the release notes of Talos."
    between = [f"--talos v{first.major}.{each}.N" for each in range(first.minor + 1, second.minor)]
    return f"Name a version of each minor on the way, best its last: {' '.join(between)} --talos {text}"


def _of_kubernetes(target: WholeVersion, kubernetes: str) -> Iterator[Diagnostic]:
    span = version_matrix.table()["talos"].kubernetes.get(f"{target.major}.{target.minor}")
    runs = versions.minor(kubernetes)
    if span is None or runs is None:
        return
    first, last = versions.minor(span[0]), versions.minor(span[1])
    assert first is not None
    assert last is not None
    if runs < first or runs > last:
        line = f"{target.major}.{target.minor}"
        message = f"Talos {line} is for Kubernetes {span[0]} to {span[1]}, and {kubernetes} runs"
        fix = f"First: firstlight node upgrade --kubernetes v{span[0]}.N" if runs < first else "Take a newer Talos."
        yield Diagnostic.error("upgrade-versions-incompatible", message, fix=fix)


def _doubts(target: WholeVersion) -> Iterator[Diagnostic]:
    line = f"{target.major}.{target.minor}"
    if line not in version_matrix.table()["talos"].kubernetes:
        message = f"with which Kubernetes Talos {line} goes is not known here: look it up in its release notes"
        yield Diagnostic.unknown("upgrade-versions-untested", message)


def _repo(declared: DeclaredVersion, target: str, cluster: str) -> str:
    later = "for machines that are added later"
    if not declared.version:
        return f"the repo says no version of Talos: write clusters.{cluster}.talos: {target}, {later}"
    if versions.parse_version(declared.version) == versions.parse_version(target):
        return f"the repo says {target} already" + (f" ({declared.place})" if declared.place else "")
    where = f"{declared.place}: " if declared.place else ""
    return f"{where}write {target} instead of {declared.version}, {later}"

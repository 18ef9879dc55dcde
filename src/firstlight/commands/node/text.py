"""The plan of an upgrade, and why a machine must not leave, as text and as data."""

from collections.abc import Mapping, Sequence

from firstlight.cli import diagnostic_data
from firstlight.commands.node.departure import Departure, Wipe
from firstlight.commands.node.drain_rules import DrainFate, MaintenanceForecast, PodFate
from firstlight.commands.node.node_rows import ConfigEquality, ConfigStatus
from firstlight.commands.node.output_form import (
    ConfigsData,
    DepartureData,
    MachineUpgradeData,
    MaintenanceData,
    UpgradeData,
)
from firstlight.drawing import decision_words, safe, table
from firstlight.model.cluster import MachineRole
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.machine_report import MachineStanding
from firstlight.model.upgrade_plan import MachineUpgrade, UpgradePlan, UpgradeProduct, UpgradeRound
from firstlight.model.verdict import Passed

_TITLES = {UpgradeProduct.TALOS: "Talos", UpgradeProduct.KUBERNETES: "Kubernetes"}


def upgrade_text(plan: UpgradePlan, *, columns: int = 0) -> str:
    """The plan for people."""
    found: list[str] = []
    for number, each in enumerate(plan.rounds, 1):
        found.append(_title(plan, each, number))
        found += table.render([_row(move, index, each) for index, move in enumerate(each.moves, 1)], indent="  ")
        found += _images(each) if plan.product is UpgradeProduct.TALOS else []
    found += table.labelled("manifests", plan.changes)
    found += table.labelled("repo", [plan.repo] if plan.repo else [])
    found += table.labelled("note", [each.message for each in plan.warnings])
    found += refusals_text(plan.refusals)
    return "\n".join(safe.text(table.cut(each, columns) if columns else each) for each in found)


def refusals_text(given: Sequence[Diagnostic]) -> list[str]:
    """What speaks against it, each with the way out below."""
    lines = [line for each in given for line in (each.message, *([f"  {each.fix}"] if each.fix else []))]
    return table.labelled("refused", lines)


def upgrade_data(plan: UpgradePlan) -> UpgradeData:
    """The plan for programs."""
    return {
        "cluster": plan.cluster,
        "product": str(plan.product),
        "done": plan.is_done and not plan.refusals,
        "rounds": [{"version": each.version, "machines": [_data(move) for move in each.moves]} for each in plan.rounds],
        "changes": list(plan.changes),
        "repo": plan.repo,
        "warnings": diagnostic_data.of_all(plan.warnings),
        "refusals": diagnostic_data.of_all(plan.refusals),
    }


def _data(move: MachineUpgrade) -> MachineUpgradeData:
    return {
        "name": move.machine.name,
        "role": str(move.machine.role),
        "before": move.before,
        "after": move.after,
        "image": move.image,
        "done": move.is_done,
    }


def _title(plan: UpgradePlan, each: UpgradeRound, number: int) -> str:
    done = sum(move.is_done for move in each.moves)
    many = f"{len(each.moves)} machine{'' if len(each.moves) == 1 else 's'}"
    said = f", {done} of them {'has' if done == 1 else 'have'} it already" if done else ""
    turn = f"   round {number} of {len(plan.rounds)}" if len(plan.rounds) > 1 else ""
    return f"{plan.cluster}   {_TITLES[plan.product]} {each.version}{turn}   {many}{said}"


def _row(move: MachineUpgrade, index: int, each: UpgradeRound) -> list[str]:
    role = "control plane" if move.machine.role is MachineRole.CONTROL_PLANE else "worker"
    if move.is_done:
        return [
            str(index),
            move.machine.name,
            role,
            move.before,
            "has it already" if move.before == move.after else "has a later one",
        ]
    is_first = next(one for one in each.moves if not one.is_done) is move and len(each.moves) > 1
    why = "first: if it does not come back, no other is touched" if is_first and move.image else ""
    return [str(index), move.machine.name, role, f"{move.before or '?'} › {move.after}", why]


def _images(each: UpgradeRound) -> list[str]:
    """The installers, each with the machines that get it."""
    by_image: dict[str, list[str]] = {}
    for move in each.moves:
        if not move.is_done:
            by_image.setdefault(move.image, []).append(move.machine.name)
    return table.labelled("image", [f"{image}   {', '.join(names)}" for image, names in by_image.items()])


# A machine that is to leave, as text and as data.


_WIPED = {"partitions": "STATE and EPHEMERAL are wiped", "system-disk": "its system disk is wiped",
          "all": "all its disks are wiped"}  # fmt: skip
_STANDINGS = {
    MachineStanding.OURS: "{wiped}, and it boots again",
    MachineStanding.MAINTENANCE: "is bare already",
    MachineStanding.ABSENT: "does not answer: it is not wiped",
    MachineStanding.FOREIGN: "belongs to another cluster",
}


def departure_text(found: Departure, *, wipe: Wipe, columns: int = 0) -> str:
    """What goes, for people."""
    machine = found.report.machine
    lines = [f"{found.cluster}   {machine.name}   {machine.role}   {machine.address}".rstrip()]
    lines += table.labelled("machine", [_STANDINGS[found.report.standing].format(wiped=_WIPED[wipe])])
    if found.members:
        lines += table.labelled("etcd", [f"member {', '.join(found.members)} leaves; {found.voting} vote now"])
    lines += table.labelled("node", [f"{found.node} is drained and deleted" if found.node else "there is none"])
    lines += table.labelled("storage", [each.message for each in found.concerns if each.severity is not Severity.ERROR])
    lines += table.labelled("note", [each.message for each in found.warnings])
    lines += refusals_text(found.refusals)
    return "\n".join(safe.text(table.cut(each, columns) if columns else each) for each in lines)


def still_declared_text(found: Departure) -> list[str]:
    """What in the repo still declares it."""
    return [safe.text(each) for each in table.labelled("repo", [f"{each}: take it out" for each in found.declared])]


def departure_data(found: Departure) -> DepartureData:
    """What goes, for programs."""
    return {
        "cluster": found.cluster,
        "machine": found.report.machine.name,
        "role": str(found.report.machine.role),
        "standing": str(found.report.standing),
        "members": list(found.members),
        "node": found.node,
        "storage": diagnostic_data.of_all(found.concerns),
        "warnings": diagnostic_data.of_all(found.warnings),
        "refusals": diagnostic_data.of_all(found.refusals),
        "declared": list(found.declared),
    }


# What maintaining a machine would mean, as text and as data.


_WORDS = {Severity.NOTE: "", Severity.WARNING: "asked: ", Severity.ERROR: "refused: "}


def maintenance_text(found: MaintenanceForecast, *, columns: int = 0) -> str:
    """The page: who goes, who stays, what must be agreed to, and what stands in the way."""
    lines = [f"{safe.name(found.machine)}   {_summary(found)}"]
    for label, fate in (("refused", DrainFate.REFUSE), ("evicted", DrainFate.EVICT), ("stay", DrainFate.LEAVE)):
        lines += table.labelled(label, _pods([each for each in found.pods if each.fate is fate], columns))
    said = [f"{_WORDS[each.severity]}{each.message}" for each in found.concerns]
    lines += table.labelled("storage", _wrapped(said, columns))
    if found.etcd is not None:
        word = "" if isinstance(found.etcd, Passed) else "refused: "
        lines += table.labelled("etcd", _wrapped([f"{word}{found.etcd.reason}"], columns))
    if found.begun:
        lines += table.labelled("begun", [f"{safe.name(found.begun)} has not ended: the same command goes on"])
    elif found.is_cordoned:
        lines += table.labelled("cordoned", ["by somebody else: it stays so"])
    return "\n".join(lines)


def is_maintenance_refused(found: MaintenanceForecast, *, is_storage_accepted: bool) -> bool:
    """Whether it would not be done as it was asked for."""
    is_held = found.etcd is not None and not isinstance(found.etcd, Passed)
    is_last = any(each.severity is Severity.ERROR for each in found.concerns) and not is_storage_accepted
    return is_held or is_last or any(each.fate is DrainFate.REFUSE for each in found.pods)


def maintenance_data(found: MaintenanceForecast) -> MaintenanceData:
    """The same for programs."""
    return {
        "machine": found.machine,
        "node": found.node,
        "cordoned": found.is_cordoned,
        "begun": found.begun,
        "pods": [
            {"namespace": each.namespace, "name": each.name, "fate": str(each.fate), "why": each.why}
            for each in found.pods
        ],
        "storage": diagnostic_data.of_all(found.concerns),
        "etcd": None
        if found.etcd is None
        else {"verdict": type(found.etcd).__name__.lower(), "reason": found.etcd.reason},
    }


def _summary(found: MaintenanceForecast) -> str:
    going = sum(each.fate is not DrainFate.LEAVE for each in found.pods)
    return f"{going} pod{'' if going == 1 else 's'} would go, {len(found.pods) - going} stay"


def _pods(pods: Sequence[PodFate], columns: int) -> list[str]:
    return _wrapped([f"{each}{f'   {each.why}' if each.why else ''}" for each in pods], columns)


def _wrapped(lines: Sequence[str], columns: int) -> list[str]:
    found = []
    for each in lines:
        shown = safe.name(each)
        found += table.wrap(shown, columns - table.LABEL - 2) if columns else [shown]
    return found


# What machines would do with the configs of the repo, as text and as data.


def configs_text(found: Mapping[str, ConfigStatus], *, columns: int = 0) -> str:
    """Each machine in its turn: whether it reboots, and field by field what changes."""
    lines: list[str] = []
    for number, (name, sight) in enumerate(found.items(), 1):
        lines.append(f"{number:>3}  {safe.name(name)}   {_effect(sight)}")
        for each in sight.fields:
            shown = f"       {safe.name(decision_words.field(each))}"
            lines.append(table.cut(shown, columns) if columns else shown)
    return "\n".join(lines)


def configs_data(cluster: str, found: Mapping[str, ConfigStatus], *, revision: str) -> ConfigsData:
    """The same for programs, in the order of the machines."""
    return {
        "cluster": cluster,
        "revision": revision,
        "machines": [
            {
                "name": name,
                "config": str(sight.equality),
                "reboot": sight.needs_reboot,
                "reason": sight.reason,
                "fields": [
                    {
                        "path": each.path,
                        "verb": str(each.verb),
                        "secret": each.is_secret,
                        "shown": decision_words.field(each),
                    }
                    for each in sight.fields
                ],
            }
            for name, sight in found.items()
        ],
    }


def _effect(sight: ConfigStatus) -> str:
    match sight.equality:
        case ConfigEquality.EQUAL:
            return "has it already"
        case ConfigEquality.DIFFERENT:
            why = f": {safe.name(sight.reason.splitlines()[0])}" if sight.reason else ""
            return f"reboots{why}" if sight.needs_reboot else "without a reboot"
        case ConfigEquality.PENDING | ConfigEquality.UNKNOWN:
            return safe.name(sight.reason)

"""The plan of an upgrade, and why a machine must not leave, as text and as data."""

from collections.abc import Sequence
from typing import Any

from firstlight.model.cluster import MachineRole
from firstlight.model.node_upgrade import Move, Product, Refusal, Round, UpgradePlan
from firstlight.report import safe, table

_TITLES = {Product.TALOS: "Talos", Product.KUBERNETES: "Kubernetes"}


def text(plan: UpgradePlan, *, columns: int = 0) -> str:
    """The plan for people."""
    found: list[str] = []
    for number, each in enumerate(plan.rounds, 1):
        found.append(_title(plan, each, number))
        found += table.render([_row(move, index, each) for index, move in enumerate(each.moves, 1)], indent="  ")
        found += _images(each) if plan.product is Product.TALOS else []
    found += table.labelled("manifests", plan.changes)
    found += table.labelled("repo", [plan.repo] if plan.repo else [])
    found += table.labelled("note", plan.warnings)
    found += refusals(plan.refusals)
    return "\n".join(safe.text(table.cut(each, columns) if columns else each) for each in found)


def refusals(given: Sequence[Refusal]) -> list[str]:
    """What speaks against it, each with the way out below."""
    lines = [line for each in given for line in (each.message, *([f"  {each.hint}"] if each.hint else []))]
    return table.labelled("refused", lines)


def data(plan: UpgradePlan) -> dict[str, Any]:
    """The plan for programs."""
    return {
        "cluster": plan.cluster,
        "product": str(plan.product),
        "done": plan.is_done and not plan.refusals,
        "rounds": [{"version": each.version, "machines": [_data(move) for move in each.moves]} for each in plan.rounds],
        "changes": list(plan.changes),
        "repo": plan.repo,
        "warnings": list(plan.warnings),
        "refusals": [{"message": each.message, "hint": each.hint} for each in plan.refusals],
    }


def _data(move: Move) -> dict[str, Any]:
    return {
        "name": move.machine.name,
        "role": str(move.machine.role),
        "before": move.before,
        "after": move.after,
        "image": move.image,
        "done": move.is_done,
    }


def _title(plan: UpgradePlan, each: Round, number: int) -> str:
    done = sum(move.is_done for move in each.moves)
    many = f"{len(each.moves)} machine{'' if len(each.moves) == 1 else 's'}"
    said = f", {done} of them {'has' if done == 1 else 'have'} it already" if done else ""
    turn = f"   round {number} of {len(plan.rounds)}" if len(plan.rounds) > 1 else ""
    return f"{plan.cluster}   {_TITLES[plan.product]} {each.version}{turn}   {many}{said}"


def _row(move: Move, index: int, each: Round) -> list[str]:
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


def _images(each: Round) -> list[str]:
    """The installers, each with the machines that get it."""
    by_image: dict[str, list[str]] = {}
    for move in each.moves:
        if not move.is_done:
            by_image.setdefault(move.image, []).append(move.machine.name)
    return table.labelled("image", [f"{image}   {', '.join(names)}" for image, names in by_image.items()])

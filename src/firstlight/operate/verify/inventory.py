"""Talos's inventory: what the next ``talosctl upgrade-k8s`` keeps. An empty one makes it forget what it may prune.

Talos 1.13.0 can write an empty inventory after an error of its connection, so its mere presence proves nothing.
"""

import re
from collections.abc import Collection

from firstlight.document.within import mapping, text
from firstlight.execute.handing import talos_inventory
from firstlight.gates import looking, parts
from firstlight.gates.question import Question
from firstlight.model.component import ObjectId
from firstlight.model.observation import Look, View
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict

NAME = talos_inventory.NAME
INVENTORY = Look(api_version="v1", kind="ConfigMap", namespace="kube-system", name=NAME)
_SINCE = (1, 13)
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


def question(talos: str, *, has_inline: bool, released: Collection[ObjectId] = ()) -> Question:
    """The inventory, as the declared version of Talos and the inline manifests ask for it, and what Git is to own."""

    def judged(view: View) -> Verdict:
        return judge(view, talos=talos, has_inline=has_inline, released=released)

    part = parts.Part((INVENTORY, looking.NODES), judged)
    hint = f"See: kubectl -n kube-system get configmap {NAME} -o yaml; firstlight handover releases what Git owns."
    return parts.question(Gate(Subject.INVENTORY), "Talos inventory", part, hint=hint)


def judge(view: View, *, talos: str, has_inline: bool, released: Collection[ObjectId] = ()) -> Verdict:
    """Whether it is there and holds something, and nothing that Talos has to release."""
    found = view.one(INVENTORY)
    if found is not None:
        count = len(mapping(found, "data"))
        if count == 0:
            return Failed("the inventory is empty: Talos has lost what it applied, and would not prune or keep it")
        if left := _left(mapping(found, "data"), released):
            rest = f" and {len(left) - 1} more" if len(left) > 1 else ""
            return Failed(
                f"it still has {talos_inventory.shown(left[0])}{rest}, which Git is to own: an upgrade-k8s makes it "
                "bootstrap's again, or deletes it if no manifest has it any more"
            )
        return Passed(f"{count} object{'s' if count > 1 else ''}")
    version = _version(talos) or max((_running(view)), default=None)
    if version is None:
        return Skipped("there is none, and nothing says that Talos 1.13 runs here")
    if version < _SINCE:
        return Skipped(f"Talos {version[0]}.{version[1]} keeps none")
    if not has_inline:
        return Skipped("there is none, and no inline manifest is declared")
    return Failed("there is no inventory: Talos has not applied the inline manifests")


def _left(keys: Collection[str], released: Collection[ObjectId]) -> tuple[str, ...]:
    # What was rendered without a namespace is of a kind that has none.
    wide = frozenset((each.group, each.kind) for each in released if not each.namespace)
    return talos_inventory.Inventory(tuple(sorted(keys)), "", wide).of(released)


def _running(view: View) -> list[tuple[int, int]]:
    images = [text(node, "status", "nodeInfo", "osImage") for node in view.all(looking.NODES)]
    return [version for each in images if each.startswith("Talos") and (version := _version(each))]


def _version(written: str) -> tuple[int, int] | None:
    found = _VERSION.search(written)
    return (int(found[1]), int(found[2])) if found else None

"""Which changes are upgrades of the network plugin, and from which version to which."""

from pathlib import Path
from typing import Any, cast

import pytest

from firstlight.commands.change.cni import cni_upgrade
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.decide.decide import Decided
from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.decision import Decision, DecisionItem, Risk, Ruling, Touched
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import DirectorySource

PLACE = Place("a.yaml", 1)
HOME = Cluster(name="home", place=PLACE)


def platform(version: str, *, role: str = "cni", name: str = "cilium", owner: Owner = Owner.GITOPS) -> Platform:
    origin = Origin(
        form=SourceForm.HELM_RELEASE, side=Side.GITOPS, place=PLACE, name=name, source=DirectorySource(path="a")
    )
    component = Component(
        name=name, cluster="home", phase=Phase.CORE, side=Side.HYBRID, owner=owner, role=role, why="",
        version=version, origins=(origin,),
    )  # fmt: skip
    return Platform(name="a", root=Path("/"), engine=None, clusters=(HOME,), components=(component,))


class Half:
    """A platform, as a decision has it."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform


class Known:
    """A change as far as its network plugin is concerned."""

    def __init__(
        self, before: Platform, after: Platform, items: tuple[DecisionItem, ...], *, back: bool = False
    ) -> None:
        decision = Decision(side=Side.HYBRID, risk=Risk.HIGH, items=items)
        self.decided = Decided(
            decision=decision, states=cast(Any, None), before=cast(Any, Half(before)), after=cast(Any, Half(after))
        )
        self.is_reverting = back
        self.before, self.after = (after, before) if back else (before, after)


def item(*, rule: str, role: str, field: tuple[str, str] | None = None) -> DecisionItem:
    changed = None
    if field is not None:
        changed = ChangedField(steps=("image",), verb=ChangeVerb.CHANGED, place=PLACE, before=field[0], after=field[1])
    change = Change(matter=Matter.OBJECT, verb=ChangeVerb.CHANGED, place=PLACE, title="a")
    ruling = Ruling(rule=rule, side=Side.HYBRID, risk=Risk.HIGH, why="", field=changed)
    touched = (Touched(cluster="home", component="cilium", role=role),)
    return DecisionItem(change=change, side=Side.HYBRID, risk=Risk.HIGH, rulings=(ruling,), touched=touched)


CASES: list[tuple[str, Known, str]] = [
    (
        "another version of its chart",
        Known(platform("1.18.4"), platform("1.19.2"), (item(rule="cni-version", role="cni"),)),
        "cilium 1.18.4 › 1.19.2",
    ),
    (
        "the same taken back",
        Known(platform("1.18.4"), platform("1.19.2"), (item(rule="cni-version", role="cni"),), back=True),
        "cilium 1.19.2 › 1.18.4",
    ),
    (
        "another image, where the repo has no version",
        Known(
            platform("", name="flannel"), platform("", name="flannel"),
            (item(rule="cni-version", role="cni", field=("a/flannel:v0.27.3", "a/flannel:v0.27.4")),),
        ),
        "flannel 0.27.3 › 0.27.4",
    ),
    ("its values", Known(platform("1.19.2"), platform("1.19.2"), (item(rule="cni-core", role="cni"),)), ""),
    (
        "a digest besides the version that it had",
        Known(
            platform(""), platform(""),
            (item(rule="cni-version", role="cni", field=("a/cilium", "a/cilium@sha256:ab")),),
        ),
        "",
    ),
    (
        "something else",
        Known(platform("1.0.0", role="dns"), platform("1.1.0", role="dns"), (item(rule="dns", role="dns"),)),
        "",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("known", "expected"), [each[1:] for each in CASES], ids=[each[0] for each in CASES])
def test_choosing(known: Known, expected: str) -> None:
    found = cni_upgrade.of(cast(OngoingChange, known), HOME)

    assert (found.title if found is not None else "") == expected
    assert cni_upgrade.is_cni_upgrade(known.decided) is bool(expected)


def test_who_owns_it_rolls_it_out() -> None:
    for owner, is_git in ((Owner.GITOPS, True), (Owner.BOOTSTRAP, False)):
        both = [platform(each, owner=owner) for each in ("1.18.4", "1.19.2")]
        found = cni_upgrade.of(cast(OngoingChange, Known(both[0], both[1], (item(rule="a", role="cni"),))), HOME)
        assert found is not None
        assert found.is_git is is_git

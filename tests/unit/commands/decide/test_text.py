"""A decision as text."""

import dataclasses
from typing import Any

import pytest

from firstlight.commands.decide import text as decide_text
from firstlight.drawing import decision_words, table
from firstlight.model.change import Change, ChangedField, ChangeVerb, Level, Matter
from firstlight.model.component import ObjectId, Side
from firstlight.model.decision import (
    Approval,
    Approved,
    ChangeCheck,
    CheckState,
    Decision,
    DecisionItem,
    Moment,
    ProcedureStep,
    Risk,
    RiskFactor,
    Ruling,
    Touched,
    TreePath,
    TreeStep,
)
from firstlight.model.place import Place

NETWORK = ChangedField(
    steps=("machine", "network", "interfaces", "[interface=eth0]", "mtu"), verb=ChangeVerb.CHANGED,
    place=Place("talos/infra/patches/network.yaml", 7), before=1500, after=9000,
)  # fmt: skip
FOUNDATION = TreePath(
    tree="operations",
    steps=(
        TreeStep(question="operational", text="Is the cluster operational?", answer=True),
        TreeStep(question="foundation", text="Does it affect the foundation?", answer=True),
        TreeStep(question="os", text="Does it need direct access to the OS?", answer=True),
    ),
    side=Side.BOOTSTRAP,
)
MACHINE = DecisionItem(
    change=Change(
        matter=Matter.MACHINE, verb=ChangeVerb.CHANGED, place=Place("talos/infra/patches/network.yaml"),
        title="machine config", kind="v1alpha1", fields=(NETWORK,),
    ),
    side=Side.BOOTSTRAP,
    risk=Risk.HIGH,
    rulings=(
        Ruling(
            rule="talos-network", side=Side.BOOTSTRAP, risk=Risk.HIGH, why="nodes change their interfaces",
            field=NETWORK, trees=(FOUNDATION,), criteria=("network-foundation", "hardware-os"),
            factors=(RiskFactor(id="every-machine", risk=Risk.HIGH, why="it reaches every machine"),),
        ),
    ),
    clusters=("infra",),
)  # fmt: skip
PEERS = DecisionItem(
    change=Change(
        matter=Matter.OBJECT,
        verb=ChangeVerb.ADDED,
        place=Place("kubernetes/infrastructure/network/cilium/bgp/peers.yaml"),
        title="CiliumBGPPeerConfig tor",
        object=ObjectId("cilium.io", "CiliumBGPPeerConfig", "", "tor"),
        kind="CiliumBGPPeerConfig",
    ),
    side=Side.GITOPS,
    risk=Risk.MEDIUM,
    rulings=(Ruling(rule="bgp", side=Side.GITOPS, risk=Risk.MEDIUM, why="peers are the engine's"),),
    touched=(
        Touched(
            cluster="infra",
            component="cilium-bgp",
            role="network",
            phase="gitops",
            owner="gitops",
            dependents=tuple(f"app-{number}" for number in range(14)),
        ),
    ),
    clusters=("infra",),
)
POD = DecisionItem(
    change=Change(
        matter=Matter.OBJECT, verb=ChangeVerb.CHANGED, place=Place("kubernetes/apps/web/release.yaml"),
        title="Deployment web/web", object=ObjectId("apps", "Deployment", "web", "web"), level=Level.RENDERED,
        component="web", cluster="infra",
    ),
    side=Side.GITOPS, risk=Risk.LOW,
    rulings=(Ruling(rule="workload", side=Side.GITOPS, risk=Risk.LOW, why="its pods are replaced"),),
)  # fmt: skip
COMMAND = "talosctl apply-config -n 10.0.0.1 -f cp-1.yaml"
HYBRID = Decision(
    side=Side.HYBRID,
    risk=Risk.HIGH,
    items=(MACHINE, PEERS, POD),
    title="main...HEAD",
    procedure=(
        ProcedureStep(side=Side.BOOTSTRAP, text="one machine first", command=COMMAND),
        ProcedureStep(side=Side.GITOPS, text="somebody reviews it"),
    ),
    rollback=(ProcedureStep(side=None, text="take it back", command="git revert HEAD"),),
    checks=(
        ChangeCheck(id="syntax", moment=Moment.PRE, title="syntax", state=CheckState.PASSED),
        ChangeCheck(
            id="alert", moment=Moment.PRE, title="an alert", state=CheckState.FAILED,
            says="nothing watches BGP sessions",
        ),
        ChangeCheck(id="health", moment=Moment.POST, title="health"),
    ),
)  # fmt: skip


def test_the_whole_on_a_wide_terminal() -> None:
    beside = " " * 60
    assert decide_text.text(HYBRID, columns=120).splitlines() == [
        "hybrid, high risk: lead approval" + "2 files, 1 component, 14 dependents".rjust(88),
        "  main...HEAD",
        "  riskiest: machine config: machine.network.interfaces[interface=eth0].mtu 1500 › 9000",
        "  talos/infra/patches/network.yaml     bootstrap   high     machine config:",
        f"{beside}machine.network.interfaces[interface=eth0].mtu 1500 › 9000",
        f"{beside}nodes change their interfaces",
        f"{beside}high: it reaches every machine",
        "  kubernetes/…/cilium/bgp/peers.yaml   gitops      medium   CiliumBGPPeerConfig tor: added",
        f"{beside}peers are the engine's",
        "  rendered   1 object changed in the cluster: Deployment web/web (low)",
        "  why        Is the cluster operational? yes › Does it affect the foundation? yes › Does it need direct "
        "access to the",
        "             OS? yes › bootstrap" + "rule talos-network".rjust(88),
        "             criteria: network foundation, hardware os",
        "             gitops" + "rule bgp".rjust(101),
        "  do         1 bootstrap  talosctl apply-config -n 10.0.0.1 -f cp-1.yaml   one machine first",
        "             2 gitops     somebody reviews it",
        "  back       1 git revert HEAD   take it back",
        "  checks     before ✔ syntax  ✘ an alert",
        "               ✘ an alert: nothing watches BGP sessions",
        "             after  ☐ health",
        f"  affected   {', '.join(f'infra/app-{number}' for number in range(8))}, and",
        "             6 more: --everything",
    ]


def test_a_narrow_terminal_has_reasons_below_their_files() -> None:
    lines = decide_text.text(HYBRID, columns=80).splitlines()

    assert lines[4:8] == [
        "  talos/infra/patches/network.yaml                          bootstrap   high",
        "      machine config: machine.network.interfaces[interface=eth0].mtu 1500 › 9000",
        "      nodes change their interfaces",
        "      high: it reaches every machine",
    ]


@pytest.mark.parametrize("columns", [40, 80, 100, 120, 200])
@pytest.mark.parametrize("everything", [True, False])
def test_lines_fit_but_for_commands(columns: int, everything: bool) -> None:
    for line in decide_text.text(HYBRID, columns=columns, everything=everything).splitlines():
        # Of a command one word, or an option with its value, may be wider than all there is.
        assert table.width(line) <= columns or (columns == 40 and (line.endswith("\\") or "talosctl" in line))


def test_nothing_that_differs() -> None:
    nothing = Decision(side=None, risk=Risk.LOW, items=(), title="staged changes")

    assert decide_text.text(nothing, columns=80).splitlines() == [
        "no change: staged changes",
        "side none, no approval needed",
    ]


def test_everything_names_all_that_is_affected() -> None:
    text = decide_text.text(HYBRID, columns=120, everything=True)

    assert "infra/app-13" in text
    assert "more" not in text


def many(count: int) -> Decision:
    items = tuple(
        dataclasses.replace(PEERS, change=dataclasses.replace(PEERS.change, place=Place(f"apps/{number:02}.yaml")))
        for number in range(count)
    )
    return Decision(side=Side.GITOPS, risk=Risk.MEDIUM, items=items)


def test_many_changes_are_counted_and_all_are_shown_on_request() -> None:
    short, whole = (decide_text.text(many(20), columns=120, everything=each) for each in (False, True))

    assert "… and 8 more, at most medium risk: --everything" in short
    assert "apps/19.yaml" not in short
    assert "apps/19.yaml" in whole


def test_what_one_rule_says_of_one_file_is_told_once() -> None:
    """As of the dozens of objects in the file of Flux itself."""
    changes = [dataclasses.replace(PEERS.change, title=f"Peer {number}") for number in range(6)]
    items = tuple(dataclasses.replace(PEERS, change=each) for each in changes)
    decision = dataclasses.replace(HYBRID, items=(MACHINE, *items))

    shown = decide_text.text(decision, columns=80)

    assert shown.count("peers are the engine's") == 1
    assert shown.count("bgp/peers.yaml") == 1
    assert "Peer 3: added" in shown
    assert "Peer 4" not in shown
    assert "… and 2 more of these: --everything" in shown
    assert "Peer 5: added" in decide_text.text(decision, columns=80, everything=True)


def test_what_cannot_be_read_is_said_first() -> None:
    change = dataclasses.replace(PEERS.change, place=Place("a.yaml", 3, 7), broken="a '[' is not closed")
    decision = dataclasses.replace(HYBRID, items=(dataclasses.replace(PEERS, change=change),))

    shown = decide_text.text(decision, columns=80).splitlines()

    assert shown[2].split()[0] == "a.yaml:3:7"
    assert shown[3].strip() == "CiliumBGPPeerConfig tor: it cannot be read: a '[' is not closed"


def test_what_only_the_rendering_shows_stands_among_the_reasons() -> None:
    grave = dataclasses.replace(
        POD, risk=Risk.CRITICAL, rulings=(dataclasses.replace(POD.rulings[0], risk=Risk.CRITICAL, why="privileged"),)
    )
    found = Decision(side=Side.GITOPS, risk=Risk.CRITICAL, items=(grave, PEERS))

    lines = decide_text.text(found, columns=120).splitlines()

    assert lines[1].startswith("  riskiest: Deployment web/web")
    assert lines[2].startswith("  web (rendered)")
    assert "critical" in lines[2]
    assert lines[3].strip() == "privileged"


def secret(field: ChangedField, **more: Any) -> DecisionItem:
    change = Change(
        matter=Matter.OBJECT, verb=ChangeVerb.CHANGED, place=Place("a.yaml"), title="x", fields=(field,), **more
    )
    ruling = Ruling(rule="r", side=Side.GITOPS, risk=Risk.LOW, why="w", field=field)
    return DecisionItem(change=change, side=Side.GITOPS, risk=Risk.LOW, rulings=(ruling,))


TOLD = ChangedField(
    steps=("data", "key"), verb=ChangeVerb.CHANGED, place=Place("a.yaml", 3), before="hunter1", after="hunter2"
)
SECRETS = [
    secret(dataclasses.replace(TOLD, is_secret=True)),
    secret(TOLD, object=ObjectId("", "Secret", "a", "b")),
    dataclasses.replace(secret(TOLD), change=dataclasses.replace(secret(TOLD).change, matter=Matter.SECRET)),
]


@pytest.mark.parametrize("item", SECRETS)
@pytest.mark.parametrize("everything", [True, False])
def test_no_value_of_a_secret_is_shown(item: DecisionItem, everything: bool) -> None:
    found = Decision(side=Side.GITOPS, risk=Risk.LOW, items=(item,))

    text = decide_text.text(found, columns=120, everything=everything)

    assert "data.key" in text
    assert "hunter" not in text


def test_names_and_values_of_strangers_are_shown_and_not_obeyed() -> None:
    field = dataclasses.replace(TOLD, before="a\x1b[2Jb", after="c\td")
    found = Decision(side=Side.GITOPS, risk=Risk.LOW, items=(secret(field),), title="\x1b]0;x\x07")

    text = decide_text.text(found, columns=120)

    assert "\x1b" not in text
    assert "\\x1b" in text
    assert "c d" in text


def test_names_that_are_no_text_are_shown() -> None:
    item = dataclasses.replace(PEERS, change=dataclasses.replace(PEERS.change, place=Place("a\udcff.yaml")))

    assert "a\\udcff.yaml" in decide_text.text(Decision(side=Side.GITOPS, risk=Risk.LOW, items=(item,)), columns=120)


def test_a_table_that_wins_over_the_tree_is_told() -> None:
    path = dataclasses.replace(FOUNDATION, side=Side.GITOPS, is_overruled=True)
    ruling = dataclasses.replace(MACHINE.rulings[0], trees=(path,))
    found = Decision(side=Side.BOOTSTRAP, risk=Risk.HIGH, items=(dataclasses.replace(MACHINE, rulings=(ruling,)),))

    assert "but the tables say bootstrap, and win" in decide_text.text(found, columns=300)


def test_more_fields_are_named_and_told_on_request() -> None:
    other = dataclasses.replace(MACHINE.rulings[0], rule="other", risk=Risk.LOW, why="a word", field=TOLD)
    item = dataclasses.replace(MACHINE, rulings=(*MACHINE.rulings, other))
    found = Decision(side=Side.BOOTSTRAP, risk=Risk.HIGH, items=(item,))

    assert "also data.key hunter1 › hunter2" in decide_text.text(found, columns=80)
    assert "data.key hunter1 › hunter2: bootstrap, low, rule other: a word" in decide_text.text(
        found, columns=120, everything=True
    )


def test_doubts_and_approvals_are_told() -> None:
    approved = Approved(needed=Approval.LEAD, is_given=True, says="a lead agreed", by=("Ada <ada@example.org>",))
    found = dataclasses.replace(HYBRID, doubts=("cilium was not rendered",), approved=approved)

    lines = decide_text.text(found, columns=120).splitlines()

    assert lines[-2] == "  approval   ✔ a lead agreed; Ada <ada@example.org>"
    assert lines[-1] == "  not seen   ! cilium was not rendered"


def test_what_touches_no_cluster() -> None:
    item = dataclasses.replace(PEERS, side=None, touched=(), risk=Risk.LOW)
    found = Decision(side=None, risk=Risk.LOW, items=(item,))

    assert decide_text.text(found, columns=120).startswith("touches no cluster, low risk: self approval")


@pytest.mark.parametrize(
    ("path", "cells", "expected"),
    [
        ("a/b/c.yaml", 20, "a/b/c.yaml"),
        ("kubernetes/apps/default/web/release.yaml", 30, "kubernetes/…/web/release.yaml"),
        ("kubernetes/a-very-long-name-of-a-file-that-is.yaml", 20, "…a-file-that-is.yaml"),
    ],
)
def test_paths_keep_their_beginning_and_their_end(path: str, cells: int, expected: str) -> None:
    assert decide_text.shortened(path, cells) == expected


def up(cluster: str, component: str, *flags: str) -> ProcedureStep:
    command = " ".join(["firstlight up", cluster, "--only", component, *flags])
    return ProcedureStep(side=Side.BOOTSTRAP, text=f"{component} is brought up", command=command)


def test_steps_that_only_differ_in_names_are_told_once() -> None:
    steps = [up("apps", "cilium"), up("apps", "coredns"), up("infra", "cilium"), up("apps", "cilium", "--dry-run")]

    assert decide_text.procedure("do", steps, columns=120) == [
        "  do         1 firstlight up apps --only cilium   cilium is brought up",
        "               the same for apps coredns, infra cilium",
        "             2 firstlight up apps --only cilium --dry-run   cilium is brought up",
    ]
    assert len(decide_text.procedure("do", steps, columns=120, everything=True)) == 4


def test_options_are_no_names() -> None:
    steps = [up("apps", "cilium", "--dry-run"), up("apps", "cilium", "--yes")]

    assert len(decision_words.alike(steps)) == 2


@pytest.mark.parametrize(
    ("state", "is_told"),
    [
        (CheckState.PASSED, False),
        (CheckState.OPEN, False),
        (CheckState.FAILED, True),
        (CheckState.PERSON, True),
        (CheckState.SKIPPED, True),
    ],
)
def test_what_did_not_pass_is_told_with_its_details(state: CheckState, is_told: bool) -> None:
    check = ChangeCheck(id="a", moment=Moment.PRE, title="syntax", state=state, says="why", details=tuple("abcdef"))

    lines = decide_text.checks([check], columns=80)

    assert [each.strip() for each in lines[1:]] == (
        [f"{decide_text.MARKS[state]} syntax: why", "a", "b", "c", "d", "… and 2 more: --everything"] if is_told else []
    )
    assert ("      f" in "\n".join(decide_text.checks([check], columns=80, everything=True))) == is_told


def test_a_check_that_failed_says_where() -> None:
    failed = ChangeCheck(
        id="syntax", moment=Moment.PRE, title="Syntax", state=CheckState.FAILED, says="wrong", place=Place("a.yaml", 3)
    )

    assert "✘ Syntax: a.yaml:3: wrong" in "\n".join(decide_text.checks([failed], columns=100))

"""Every row and example of documents 001 and 002, answered as they say, and the lists that they have besides.

Each YAML file is a table: changes as data and sentences, with the answer that is expected. ``rows.yaml`` lists what
the documents have, so that none is forgotten.
"""

import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstlight.commands.decide import procedures as decide_procedures
from firstlight.commands.decide import rule_book, rule_files, rule_tests, sides
from firstlight.commands.decide.rule_form import PLACEHOLDER, STAGES, StepForm
from firstlight.document import yaml_reader
from firstlight.model.component import Side
from firstlight.model.decision import Approval, Risk
from tests import command_lines
from tests.conftest import agreement

HERE = Path(__file__).parent
TABLES = sorted(each.name for each in HERE.glob("*.yaml") if each.name != "rows.yaml")
BOOK = rule_files.book()


@functools.cache
def answered(table: str) -> tuple[rule_tests.Tested, ...]:
    return rule_tests.run(rule_tests.cases([(table, (HERE / table).read_bytes())]), BOOK)


def everything() -> Iterator[rule_tests.Tested]:
    return itertools.chain.from_iterable(map(answered, TABLES))


@pytest.mark.parametrize("table", TABLES)
def test_answered_as_the_documents_say(table: str) -> None:
    answers = answered(table)

    wrong = {f"{each.place}: {each.case.name}": each.wrong for each in answers if each.wrong}

    agreement(f"documents, {table.removesuffix('.yaml')}", len(answers) - len(wrong), len(answers))
    assert wrong == {}


def test_every_row_has_its_tests() -> None:
    (document,) = yaml_reader.read((HERE / "rows.yaml").read_bytes(), "rows.yaml").documents
    rows = {
        how: {f"{section}: {row}" for section, names in of_how.items() for row in names}
        for how, of_how in document.value.items()
    }
    changed = {each.case.source for each in everything() if not each.case.sentence}
    said = {each.case.source for each in everything() if each.case.sentence}

    shown, spoken = rows["said and changes"] | rows["changes"], rows["said and changes"] | rows["said"]
    missing = (shown - changed) | (spoken - said)
    agreement("documents, rows that have a test", len((shown | spoken) - missing), len(shown | spoken))
    assert missing == set()
    assert {each for each in changed | said if each.startswith(("001 ", "002 "))} == shown | spoken
    assert len(shown | spoken) == 148


def test_every_rule_and_factor_is_met() -> None:
    rulings = [
        ruling for each in everything() if each.decision for item in each.decision.items for ruling in item.rulings
    ]
    met = {each.rule for each in rulings} | {each.case.expect.rule for each in everything() if each.case.sentence}

    assert {each.id for each in BOOK.rules} - met == set()
    assert {each.id for each in BOOK.factors} - {factor.id for each in rulings for factor in each.factors} == set()


def test_rules_speak_to_newcomers() -> None:
    for each in BOOK.rules:
        assert each.why.endswith("."), each.id
        assert len(each.why) < 200, each.id
        assert each.sources, each.id
        assert each.words or each.when, each.id


@pytest.mark.long
def test_every_rule_is_found_by_its_own_words() -> None:
    """The first of the nearest is the rule itself, whatever way of saying it is taken."""
    lost = [
        f"{words!r} of {rule.id} leads to {found[0].rule.id if found else 'nothing'}"
        for rule in BOOK.rules
        for words in rule.words
        if not (found := rule_book.nearest_rules(words, BOOK)) or found[0].rule.id != rule.id
    ]
    assert lost == []


ENDS = {
    "architecture": {
        ("restart",): "bootstrap",
        ("not restart", "kubernetes-resource"): "gitops",
        ("not restart", "not kubernetes-resource", "node-os"): "bootstrap",
        ("not restart", "not kubernetes-resource", "not node-os"): "gitops",
    },
    "framework": {
        ("not operational",): "bootstrap",
        ("operational", "foundation", "os-access"): "bootstrap",
        ("operational", "foundation", "not os-access", "kubernetes-api"): "gitops",
        ("operational", "foundation", "not os-access", "not kubernetes-api"): "bootstrap",
        ("operational", "not foundation"): "gitops",
    },
}
"""Every way through the trees of 001 and 002."""


def test_every_way_through_the_trees() -> None:
    found: dict[str, dict[tuple[str, ...], str]] = {}
    for tree in BOOK.trees:
        names = [each.id for each in tree.questions]
        for answers in itertools.product((True, False), repeat=len(names)):
            path = sides.walk_tree(tree, dict(zip(names, answers, strict=True)))
            way = tuple(each.question if each.answer else f"not {each.question}" for each in path.steps)
            found.setdefault(path.tree, {})[way] = str(path.side)
    assert found == ENDS


def test_every_row_goes_through_both_trees() -> None:
    """To an end of each; where that is another side than the table's, the table wins, and it is said."""
    rulings = [
        ruling
        for each in everything()
        if each.decision and each.case.source.startswith(("001 ", "002 "))
        for item in each.decision.items
        for ruling in item.rulings
        if ruling.side is not None
    ]

    for each in rulings:
        assert [path.tree for path in each.trees] == [tree.id for tree in BOOK.trees], each.rule
        for path in each.trees:
            way = tuple(step.question if step.answer else f"not {step.question}" for step in path.steps)
            assert ENDS[path.tree][way] == path.side, each.rule
            assert path.is_overruled is (path.side is not each.side), each.rule
    for number, tree in enumerate(BOOK.trees):
        # Trees end on one side: of what is done in two halves they can only tell one.
        plain = [each for each in rulings if each.side is not Side.HYBRID]
        agreed = [each for each in plain if not each.trees[number].is_overruled]
        agreement(f"documents, rows that the tree of {tree.id} says too", len(agreed), len(plain))
        assert len(agreed) > len(plain) / 2


def test_every_criterion_is_a_reason_of_some_rule() -> None:
    number = {
        side: [each.id for each in BOOK.criteria.values() if each.side == side] for side in ("bootstrap", "gitops")
    }

    assert [len(each) for each in number.values()] == [10, 10]
    assert set(BOOK.criteria) == {each for rule in BOOK.rules for each in rule.criteria}


def test_each_risk_has_its_approval() -> None:
    assert {each: each.approval for each in Risk} == {
        Risk.LOW: Approval.SELF, Risk.MEDIUM: Approval.PEER, Risk.HIGH: Approval.LEAD, Risk.CRITICAL: Approval.TEAM
    }  # fmt: skip


def test_both_checklists_are_usual() -> None:
    listed = {
        source: (each.id, each.usual)
        for each in reversed(BOOK.checks)
        for source in each.sources
        if source.startswith(("002 Pre-Change", "002 Post-Change"))
    }
    assert listed == {
        "002 Pre-Change Validation 1": ("syntax", True),
        "002 Pre-Change Validation 2": ("resources", True),
        "002 Pre-Change Validation 3": ("dependencies", True),
        "002 Pre-Change Validation 4": ("rollback-plan", True),
        "002 Pre-Change Validation 5": ("monitoring", True),
        "002 Post-Change Validation 1": ("health", True),
        "002 Post-Change Validation 2": ("function", True),
        "002 Post-Change Validation 3": ("baseline", True),
        "002 Post-Change Validation 4": ("security-posture", True),
        "002 Post-Change Validation 5": ("documentation", True),
    }
    assert "performance" in {each.id for each in BOOK.checks if each.usual and each.moment == "post"}


# The workflows


def steps(name: str) -> list[StepForm]:
    """What a procedure has, with what it takes from others, in order."""
    return sorted(
        decide_procedures.filled_steps(BOOK.procedures[name], BOOK, "steps"), key=lambda each: STAGES.index(each.stage)
    )


def at(found: list[StepForm], words: str) -> int:
    """The first step whose command begins with these words, or whose text has them."""
    return next(at for at, each in enumerate(found) if each.command.startswith(words) or words in each.text)


def test_the_standard_workflow_of_gitops() -> None:
    """Branch, local test, pull request with review, merge, deployment, validation."""
    found = steps("gitops")
    order = ("firstlight render", "git switch -c", "git push", "merged into", "flux reconcile", "firstlight drift")
    places = [at(found, each) for each in order]
    assert places == sorted(places)


def test_the_standard_workflow_of_bootstrap() -> None:
    """Health, execution, validation at once."""
    found = steps("bootstrap")
    order = ("is well before", "git add --", "brought up to date", "are tried")
    places = [at(found, each) for each in order]
    assert places == sorted(places)


def test_the_emergency_workflow() -> None:
    """Not accessible: recovery. Engine broken: override. Engine works: the usual way, faster."""
    by_rule = {each.id: each.procedure for each in BOOK.rules if each.id.startswith("emergency-")}
    assert by_rule == {
        "emergency-cluster-down": "emergency-cluster",
        "emergency-security-incident": "emergency-override",
        "emergency-data-loss": "emergency-override",
        "emergency-outage": "emergency-expedited",
    }
    assert BOOK.procedures["emergency-expedited"].like == ("gitops",)
    assert "emergency-engine" in BOOK.procedures
    for name in {*by_rule.values(), "emergency-engine"}:
        assert at(steps(name), "written down") == len(steps(name)) - 1


def test_git_is_aligned_before_the_engine_resumes() -> None:
    """002 resumes first, and Flux reverts the fix."""
    found = steps("emergency-override")
    order = ("override begin", "override apply", "override align", "push", "override end")
    places = [at(found, "git push" if each == "push" else f"firstlight {each}") for each in order]
    assert places == sorted(places)


def test_a_joining_node_is_never_bootstrapped() -> None:
    """002's first example does."""
    assert "talosctl bootstrap" not in "".join(each.command + each.text for each in steps("node-add"))


def test_a_cluster_range_is_a_rebuild() -> None:
    """001 edits and applies it."""
    rule = BOOK.rule("cluster-cidr")
    assert rule is not None
    assert (rule.risk, rule.procedure) == ("critical", "cluster-rebuild")


def test_a_drain_respects_what_is_on_the_node() -> None:
    """DaemonSets do not stop it; budgets do, and so does scratch data that nobody said may go."""
    for name in ("node-maintenance", "node-remove"):
        (drain,) = (each for each in steps(name) if each.each in ("machine", "leaving") and each.stage == "bootstrap")
        assert drain.command.startswith(("firstlight node maintain ", "firstlight node remove "))
        assert not {"--force", "--delete-emptydir-data"} & set(drain.command.split())
        assert "budgets respected (scratch data only with --delete-emptydir-data)" in drain.text


def commands() -> list[str]:
    found = {each.command for one in BOOK.procedures.values() for each in (*one.steps, *one.rollback) if each.command}
    return sorted(found)


def test_no_command_that_does_not_exist() -> None:
    """And none that takes in more than was meant."""
    known = {
        "git": {"switch", "add", "apply", "commit", "pull", "push", "revert"},
        "flux": {"reconcile kustomization", "reconcile helmrelease", "suspend kustomization", "resume kustomization",
                 "get kustomizations", "get helmreleases"},
        "argocd": {"app wait", "app set", "app list"},
        "kubectl": {"patch"},
        "talosctl": {"upgrade", "rollback"},
        "omnictl": {"cluster delete"},
    }  # fmt: skip
    for command in commands():
        program, *words = command.split()
        if program == "firstlight":
            continue
        assert words[0] in known[program] or " ".join(words[:2]) in known[program], command
        assert not {"-A", "--all", "--force"} & set(words), command


@pytest.mark.parametrize("command", [each for each in commands() if each.startswith("firstlight ")])
def test_our_own_commands_exist(command: str) -> None:
    command_lines.understand(PLACEHOLDER.sub(_filled, command))


def _filled(match: re.Match[str]) -> str:
    """Something that a placeholder may stand for; those of whole options have options."""
    words = {"asked": "--staged", "carried": "--staged", "which": "--machine cp-1", "to": "v1.36.1"}
    return " ".join(filter(None, (match["option"], words.get(match["name"], match["name"]))))


def test_texts_name_commands_that_exist() -> None:
    procedures = [step for one in BOOK.procedures.values() for step in (*one.steps, *one.rollback)]
    texts = [*(each.text for each in procedures), *(each.says for each in BOOK.checks)]

    assert [line for each in texts for line in command_lines.mentioned(each)] == []
    assert command_lines.mentioned("see firstlight node drop, and firstlight nod") == [
        "firstlight node drop",
        "firstlight nod",
    ]


def test_words_that_mean_two_things_are_asked_about() -> None:
    """Both rules of each pair are among the nearest, and ask which is meant."""
    pairs = {
        "change DNS settings": {"node-dns", "cluster-dns"},
        "certificates": {"certificate", "talos-certificates"},
        "security policy": {"os-security-policy", "namespace-pod-security"},
        "scale": {"node-added", "replicas"},
    }
    for name in (each for pair in pairs.values() for each in pair):
        rule = BOOK.rule(name)
        assert rule is not None
        assert rule.asks, name
    for sentence in ("change DNS settings", "security policy"):
        near = {each.rule.id for each in rule_book.nearest_rules(sentence, BOOK)}
        assert pairs[sentence] <= near, near


def test_machines_are_never_gitops() -> None:
    for rule in BOOK.rules:
        if any("machine" in when.matter for when in rule.when):
            assert rule.side in ("bootstrap", "owner"), rule.id

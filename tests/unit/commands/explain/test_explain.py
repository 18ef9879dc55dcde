"""What a name means: every meaning, the repo's own first."""

import pytest

from firstlight.commands.decide import graph_factors, rule_files
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.rule_form import DecisionRule, FactorForm, When
from firstlight.commands.explain import explain, glossary
from firstlight.commands.explain.explanation import ExplainInput, Explanation, ExplanationKind
from firstlight.model.component import Phase
from tests.unit.commands.explain import repos


def sorts(name: str, scene: ExplainInput) -> list[tuple[str, str]]:
    return [(str(each.sort), each.name) for each in explain.explain(name, scene)]


def said(found: Explanation, part: str) -> list[str]:
    return [each.text for one in found.parts if one.name == part for each in one.sentences]


def test_a_name_that_means_several_things() -> None:
    assert sorts("gitops", repos.scene(repos.HOME)) == [("phase", "gitops"), ("side", "gitops"), ("word", "GitOps")]
    assert sorts("machine", ExplainInput()) == [("phase", "machine"), ("word", "machine")]
    assert sorts("cni", repos.scene(repos.HOME)) == [("word", "CNI"), ("rule", "cni")]


def test_the_repos_own_comes_first_and_a_word_is_not_told_twice() -> None:
    found = sorts("external-secrets", repos.scene(repos.HOME))

    assert found[0] == ("component", "external-secrets")
    assert ("word", "External Secrets") not in found
    assert ("word", "External Secrets") in sorts("external-secrets", ExplainInput())


def test_a_component_is_found_by_its_last_part_and_by_its_declaration() -> None:
    scene = repos.scene(repos.HOME)

    assert sorts("kustomization/cilium", scene) == [("component", "kustomization/cilium")]
    assert sorts("Cilium", scene)[0] == ("component", "cilium")
    assert sorts("helmrelease/kube-system/cilium", scene) == [("component", "cilium")]


def test_clusters_and_machines() -> None:
    scene = repos.scene(repos.HOME)

    (cluster,) = explain.explain("home", scene)
    (machine,) = explain.explain("cp-1", scene)

    assert cluster.sort == ExplanationKind.CLUSTER
    assert "pods have 10.42.0.0/16" in said(cluster, "here")
    assert machine.sort == ExplanationKind.MACHINE
    assert explain.explain("10.20.0.11", scene) == (machine,)
    assert "Talos is installed on /dev/nvme0n1" in said(machine, "here")


@pytest.mark.parametrize("phase", Phase)
def test_phases_say_what_is_in_them(phase: Phase) -> None:
    here = " ".join(said(explain.explain(phase, repos.scene(repos.HOME))[0], "here"))

    expected = {
        Phase.MACHINE: "4 machines",
        Phase.INLINE: "nothing",
        Phase.CRDS: "nothing",
        Phase.CORE: "cilium: nodes are NotReady without it",
        Phase.ENGINE: "flux: it brings everything that Git owns",
        Phase.HANDOVER: "bootstrap brings and Git takes over: flux, cert-manager, cilium, external-secrets",
        Phase.GITOPS: "whoami",
    }
    assert expected[phase] in here


def test_a_side_has_criteria_what_is_there_and_how_a_change_is_done() -> None:
    found = next(
        each for each in explain.explain("hybrid", repos.scene(repos.FLEET)) if each.sort == ExplanationKind.SIDE
    )

    assert len(said(found, "when")) >= 2
    assert "apps: cert-manager: Git takes it over" in said(found, "here")
    assert "infra: cilium: bootstrap keeps the core" in said(found, "here")
    assert said(found, "change")


@pytest.mark.parametrize(
    ("word", "here"),
    [
        ("BGP peer", "cilium-bgp brings CiliumBGPClusterConfig: peers"),
        ("load-balancer pool", "CiliumLoadBalancerIPPool"),
        ("CNI", "cilium (core, hybrid, 1.18.2)"),
        ("pod network", "apps: pods have 10.242.0.0/16"),
        ("podSubnets", "apps: pods have 10.242.0.0/16"),
        ("Kustomization", "cilium-bgp (gitops)"),
        ("helmfile", "coredns (core, bootstrap, 1.44.3)"),
        ("OCI", "oci://"),
        ("engine", "apps: Flux follows https://git.example.org/me/fleet"),
    ],
)
def test_a_word_says_what_of_it_is_in_the_repo(word: str, here: str) -> None:
    found = next(each for each in explain.explain(word, repos.scene(repos.FLEET)) if each.sort == ExplanationKind.WORD)

    assert here in "\n".join(said(found, "here"))
    assert not said(
        next(each for each in explain.explain(word, ExplainInput()) if each.sort == ExplanationKind.WORD), "here"
    )


def test_every_word_can_be_explained_in_every_repo() -> None:
    for root in (*repos.EXAMPLES, *repos.SCENARIOS):
        for word in glossary.words():
            assert explain.explain(word.word, repos.scene(root))


def test_quorum_is_counted() -> None:
    (found,) = explain.explain("quorum", repos.scene(repos.HOME))

    assert said(found, "here") == ["3 control planes: 2 must be up, 1 may be down"]


def test_every_rule_and_factor_can_be_explained() -> None:
    scene = ExplainInput(book=rule_files.book())

    assert scene.book.rules
    for rule in scene.book.rules:
        found = next(each for each in explain.explain(rule.id, scene) if each.sort == ExplanationKind.RULE)
        assert {"what", "side", "risk", "why", "when"} <= {part.name for part in found.parts}
        assert all(explain.explain(see, scene) for see in found.see)
    for factor in scene.book.factors:
        assert any(each.sort == ExplanationKind.FACTOR for each in explain.explain(factor.id, scene))


def test_a_rule_says_what_it_fits_its_side_its_risk_and_its_reason() -> None:
    rule = DecisionRule(
        id="node-names", title="The name of a machine", side="owner", risk="high", why="Certificates carry it.",
        when=(When(matter=("machine",), paths=("machine.network.hostname",), whole=False), When(bump=("major",))),
        asks=("Is it a new machine?",), words=("rename a node",), sources=("the team",),
    )  # fmt: skip
    factor = FactorForm(id="at-night", risk="medium", why="Nobody is there.", when=(When(grows=True),))
    book = RuleBook(rules=(rule,), factors=(factor,), own=frozenset({"node-names"}))

    (found,) = explain.explain("Node names", ExplainInput(book=book))
    (raised,) = explain.explain("at-night", ExplainInput(book=book))

    assert said(found, "what") == ["The name of a machine", "Your team wrote it"]
    assert said(found, "when") == [
        "it is machine configuration; the field is machine.network.hostname; single fields differ",
        "or the version changes by major",
    ]
    assert "bootstrap where bootstrap keeps it" in said(found, "side")[0]
    assert said(found, "risk") == ["high: the lead must agree"]
    assert said(found, "why") == ["Certificates carry it."]
    assert said(found, "asked") == ["Is it a new machine?"]
    assert said(found, "sources") == ["the team"]
    assert said(raised, "when") == ["a number grows"]
    assert said(raised, "risk") == ["at least medium: a colleague must agree"]


@pytest.mark.parametrize("name", graph_factors.KNOWN)
def test_a_factor_that_no_condition_tells(name: str) -> None:
    (found,) = explain.explain(name, ExplainInput())

    assert (found.sort, found.name) == (ExplanationKind.FACTOR, name)
    assert said(found, "why") == [graph_factors.KNOWN[name].why]
    assert name in explain.known_names(ExplainInput())


def test_a_rule_without_conditions_is_only_found_by_its_words() -> None:
    rule = DecisionRule(id="x-y", title="t", side="none", risk="low", why="w")

    (found,) = explain.explain("x-y", ExplainInput(book=RuleBook(rules=(rule,))))

    assert said(found, "when") == ["never by itself: it is only found by its words"]
    assert said(found, "side") == ["none: it touches no cluster"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ciliun", "cilium"),
        ("qorum", "quorum"),
        ("reconsile", "reconcile"),
        ("kustomise", "kustomize"),
        ("handver", "handover"),
    ],
)
def test_near_names_are_offered(typed: str, meant: str) -> None:
    scene = repos.scene(repos.HOME)

    assert explain.explain(typed, scene) == ()
    assert explain.near(typed, scene)[0] == meant


def test_nothing_is_near_to_nonsense() -> None:
    assert explain.near("qqqqqqqq", ExplainInput()) == ()
    assert explain.explain("", ExplainInput()) == ()

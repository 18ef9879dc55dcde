"""A team's tests of its rules."""

import pytest

from firstlight.commands.decide import rule_tests
from firstlight.document.mistakes import FormMistakes
from firstlight.model.place import Place
from tests.unit.commands.decide import books

GOOD = """
tests:
  - name: a chart of Git
    change: {kind: helm.toolkit.fluxcd.io/HelmRelease, name: web, before: 1.2.3, after: 1.3.0,
             path: spec.chart.spec.version, component: {name: web, chart: web}}
    expect: {side: gitops, risk: medium, approval: peer, rule: chart, trees: {architecture: gitops}, overruled: false}
  - name: a chart of bootstrap
    change: {path: spec.chart.spec.version, before: 1.2.3, after: 2.0.0,
             component: {name: cilium, phase: core, owner: bootstrap}}
    expect: {side: bootstrap, risk: high, rule: chart-major, overruled: true}
  - name: node labels
    change: {matter: machine, kind: talos/v1alpha1, verb: added, path: machine.nodeLabels.zone, after: a}
    expect: {side: bootstrap, rule: node-label, trees: {architecture: gitops, framework: gitops}, overruled: true}
  - name: node networking
    change: {matter: machine, path: machine.network.hostname, before: a, after: b}
    expect: {criteria: [network-foundation]}
  - name: a privileged pod comes
    change: {verb: added, kind: /Pod, name: a,
             object: {spec: {containers: [{name: a, securityContext: {privileged: true}}]}}}
    expect: {risk: critical, approval: team, factors: [privileged]}
  - name: what others need goes
    change: {verb: removed, kind: helm.toolkit.fluxcd.io/HelmRelease, name: db,
             component: {name: db, dependents: [web]}}
    expect: {risk: high, factors: [needed-by-others]}
  - name: both
    changes:
      - {matter: documentation, verb: added, file: README.md}
      - {matter: machine, path: machine.network.hostname, before: a, after: b}
    expect: {side: bootstrap, risk: high}
  - name: words
    changes: [{matter: documentation, verb: added, file: README.md}]
    expect: {side: none, risk: low, approval: self}
  - name: in words
    sentence: add node labels
    expect: {rule: node-label, side: bootstrap, risk: medium}
  - name: nothing works
    operational: false
    change: {path: spec.chart.spec.version, before: 1.2.3, after: 1.3.0, component: {name: web}}
    expect: {side: gitops, trees: {framework: bootstrap}}
"""


def ran(text: str) -> dict[str, tuple[str, ...]]:
    found = rule_tests.run(rule_tests.cases([("firstlight-rules/a.test.yaml", text.encode())]), books.book())
    return {each.case.name: each.wrong for each in found}


def test_what_is_expected_is_fine() -> None:
    found = ran(GOOD)

    assert len(found) == 10
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_what_is_not_expected_is_told() -> None:
    found = ran("""
tests:
  - name: everything
    change: {path: spec.chart.spec.version, before: 1.2.3, after: 1.3.0, component: {name: web}}
    expect: {side: hybrid, risk: low, approval: team, rule: rest, factors: [crd], criteria: [network-foundation],
             trees: {architecture: bootstrap, unknown: gitops}, overruled: true}
  - {name: words, sentence: add node labels, expect: {rule: chart, side: gitops, risk: low}}
  - {name: no words, sentence: quokka, expect: {rule: chart}}
""")

    assert found["everything"] == (
        "side: expected hybrid, is gitops (rule chart)",
        "risk: expected low, is medium (rule chart)",
        "approval: expected team, is peer (rule chart)",
        "rule: expected rest, is chart (rule chart)",
        "factor: crd is not among them",
        "criterion: network-foundation is not among them",
        "tree architecture: expected bootstrap, ends at gitops",
        "tree unknown: expected gitops, ends at none",
        "overruled: expected true, is false",
    )
    assert found["words"] == (
        "rule: expected chart, is node-label",
        "side: expected gitops, is bootstrap",
        "risk: expected low, is medium",
    )
    assert found["no words"] == ("rule: expected chart, is none",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tests: [{name: a, expect: {}}]", "a.yaml:1:9: a must have one of change, changes and sentence"),
        ("tests: [{name: a, expect: {}, change: {matter: thing}}]", "a.yaml:1:9: a: there is no 'thing'"),
        ("tests: [{name: a, expect: {}, change: {kind: Pod}}]", "a.yaml:1:9: a: 'Pod' is no kind"),
        ("tests: [{name: a, expect: {}, change: {path: a..b}}]", "a.yaml:1:9: a: 'a..b' is no way to a field"),
        (
            "tests: [{name: a, expect: {}, change: {component: {name: x, phase: late}}}]",
            "a.yaml:1:9: a: there is no phase 'late'",
        ),
        ("tests: [{name: a, expect: {risks: low}, sentence: x}]", r"a.yaml:1:28: tests\[0\].expect.risks is no field"),
        (
            "tests: [{name: a, expect: {}, change: {component: {name: x, phase: y}}}]",
            r"a.yaml:1:61: tests\[0\].change.component.phase must be a text",
        ),
        ("tests: 1", r"a.yaml:1:1: tests must be a list"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(FormMistakes, match=said):
        rule_tests.cases([("a.yaml", text.encode())])


def test_tests_have_places() -> None:
    (_, place), *_ = rule_tests.cases([("a.yaml", GOOD.encode())])

    assert place == Place("a.yaml", 3, 5)

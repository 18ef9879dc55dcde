"""The glossary holds every word that people meet, and nothing in it leads nowhere."""

import re

import pytest

from firstlight.commands.explain import explain, glossary, repo_facts
from firstlight.commands.explain.explanation import ExplainInput
from firstlight.model.component import Phase, Side, SourceForm
from firstlight.model.plan import Subject

DESIGN = (
    "platform, cluster, machine, component, phase, side, hybrid, object, step, gate, plan, run, owner, handover, "
    "certificate, boundary, decision, finding, override, rehearsal, lab"
)
MET = (
    "Kubernetes API, etcd, control plane, node, pod, Deployment, DaemonSet, StatefulSet, CRD, operator, controller, "
    "CNI, kube-proxy replacement, Cilium, BGP peer, load-balancer pool, VIP, Talos, machine config, talosctl, "
    "maintenance mode, inline manifest, extension, schematic, Omni, Helm chart, values, release, kustomize, "
    "Kustomization, HelmRelease, source, Argo CD, Application, sync wave, GitOps, reconcile, drift, prune, finalizer, "
    "server-side apply, field manager, admission webhook, External Secrets, 1Password Connect, SOPS, age, Longhorn, "
    "Rook, storage class, PVC, cert-manager, issuer, Ingress, Gateway API, external-dns, LLDP, taint, drain, "
    "disruption budget, readiness, quorum"
)


@pytest.mark.parametrize("word", [*DESIGN.split(", "), *MET.split(", "), *Phase, *Side, "none"])
def test_everything_that_people_meet_is_explained_without_a_repo(word: str) -> None:
    found = explain.explain(word, ExplainInput())

    assert found
    assert all(each.parts[0].name == "what" and each.parts[0].sentences[0].text for each in found)


def test_what_a_word_refers_to_can_be_asked_for() -> None:
    texts = glossary.texts()
    named = {(each.word, see) for each in glossary.words() for see in each.see}
    named |= {(name, see) for name, each in texts.phases.items() for see in each.see}
    named |= {(name, see) for name, each in texts.sides.items() for see in each.see}
    named |= {(role, each.word) for role, each in texts.roles.items()}

    assert {(word, see) for word, see in named if not explain.explain(see, ExplainInput())} == set()


def test_no_name_means_two_words() -> None:
    names = [glossary.plain(name) for each in glossary.words() for name in (each.word, *each.aka)]

    assert [each for each in sorted(set(names)) if names.count(each) > 1] == []


def test_words_are_found_by_what_exists() -> None:
    for each in glossary.words():
        assert set(each.here.facts) <= set(repo_facts.FACTS), each.word
        assert set(each.here.forms) <= set(SourceForm), each.word
        assert all(re.fullmatch(r"[a-z0-9.-]*/[A-Za-z0-9*]+", kind) for kind in each.here.kinds), each.word


def test_every_phase_side_and_gate_has_its_text() -> None:
    texts = glossary.texts()

    assert set(texts.phases) == set(Phase)
    assert set(texts.sides) == {*Side, "none"}
    assert set(texts.gates) == set(Subject)


def test_sentences_are_short_and_end() -> None:
    for each in glossary.words():
        assert each.says.endswith("."), each.word
        assert len(re.findall(r"[.;:](?:\s|$)", each.says)) <= 5, each.word
        assert max(len(part.split()) for part in re.split(r"[.;:]\s", each.says)) <= 35, each.word


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ("cni", "CNI"),
        ("BGP peers", "BGP peer"),
        ("bgp-peer", "BGP peer"),
        ("Network_Policies", "network policy"),
        ("nodes", "node"),
        ("DNS", "DNS"),
        ("k8s", "Kubernetes"),
        ("argocd", "Argo CD"),
        ("storageclass", "storage class"),
        ("storage classes", "storage class"),
    ],
)
def test_words_are_found_however_they_are_written(asked: str, word: str) -> None:
    found = glossary.find(asked)

    assert found is not None
    assert found.word == word


def test_what_nobody_knows_is_no_word() -> None:
    assert glossary.find("zzz") is None
    assert glossary.find("") is None
    assert glossary.find("s") is None

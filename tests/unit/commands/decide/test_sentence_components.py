"""Whose a change is that a sentence speaks of: of what it names, of nobody where it is new, else a question."""

from pathlib import Path

import pytest

from firstlight.commands.decide import rule_card, rule_files
from firstlight.commands.decide.rule_card import Suggestion
from firstlight.model.component import ObjectId, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import DirectorySource
from tests.unit.commands.decide import books

BOOTSTRAP = {"owner": Owner.BOOTSTRAP, "side": Side.BOOTSTRAP, "phase": Phase.CORE}
FOUNDATION = {"phase": Phase.CORE, "side": Side.HYBRID}


def bringing(kind: str, name: str) -> Origin:
    group, _, called = kind.rpartition("/")
    return Origin(
        form=SourceForm.KUSTOMIZATION, side=Side.GITOPS, place=Place(f"apps/{name}.yaml", 1), name=name,
        source=DirectorySource(path="apps"), objects=(ObjectId(group, called, "default", name),),
    )  # fmt: skip


COMPONENTS = (
    books.component("cilium", role="cni", **BOOTSTRAP),
    books.component("network", origins=(bringing("cilium.io/CiliumBGPPeerConfig", "router"),)),
    books.component(
        "longhorn", role="storage", origins=(bringing("storage.k8s.io/StorageClass", "slow"),), **FOUNDATION
    ),
    books.component("home", origins=(bringing("apps/Deployment", "home-assistant"),)),
    books.component("ingress", origins=(bringing("networking.k8s.io/Ingress", "web"),), **BOOTSTRAP),
    books.component("ingress-nginx"),
    books.component("flux", role="engine", origins=(bringing("apps/Deployment", "source"),), **BOOTSTRAP),
)
PLATFORM = Platform(name="x", root=Path("/nowhere"), engine=None, clusters=(), components=COMPONENTS)


def nearest(sentence: str) -> Suggestion:
    return rule_card.suggested_rules(sentence, rule_files.book(), PLATFORM)[0]


@pytest.mark.parametrize(
    ("sentence", "rule", "side"),
    [
        ("add a new application", "application-added", "gitops"),
        ("add a storage class", "storage-class", "gitops"),
        ("update the Cilium BGP config", "bgp", "gitops"),
        ("upgrade Cilium", "cni-version", "bootstrap"),
        ("change the configuration of Home Assistant", "application-configuration", "gitops"),
        ("update the ingress controller", "infrastructure-version", "gitops"),
    ],
    ids=["new", "new-beside-others", "custom-resource", "named", "named-by-what-runs", "a-plain-word-is-no-name"],
)
def test_whose_it_is(sentence: str, rule: str, side: str) -> None:
    found = nearest(sentence)

    assert (found.card.id, found.card.side) == (rule, side)


def test_where_it_may_be_anybodys_it_is_asked() -> None:
    """Both sides would be a lie where only one of them is meant."""
    found = nearest("change the configuration of an application")

    assert found.card.side == "owner"
    assert found.open_questions[0].startswith("Which component is it: ")
    assert "bootstrap for flux" in found.open_questions[0]
    assert "gitops for home" in found.open_questions[0]


def test_a_known_side_has_its_procedures_alone() -> None:
    assert nearest("upgrade Cilium").card.ways == ("The usual change of what bootstrap brings",)
    assert len(nearest("change the configuration of an application").card.ways) > 1


@pytest.mark.parametrize(
    ("scores", "is_sure"), [((0.9, 0.88), True), ((0.6, 0.5), True), ((0.6, 0.55), False), ((0.4,), False)]
)
def test_what_is_nearly_as_near_makes_it_a_question(scores: tuple[float, ...], is_sure: bool) -> None:
    card = nearest("upgrade Cilium").card

    assert rule_card.is_sure([Suggestion(card=card, score=each) for each in scores]) is is_sure

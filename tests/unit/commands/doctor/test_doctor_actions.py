"""What ``firstlight doctor`` is asked about, and what of the answer is shown."""

import dataclasses
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli import main
from firstlight.commands.doctor import actions
from firstlight.commands.doctor.symptoms import Diagnosis, RootCause, Symptom, SymptomLayer
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Owner, Phase, Side
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.model.platform import Platform

PLACE = Place("firstlight.yaml")


def component(name: str, cluster: str) -> Component:
    return Component(
        name=name, cluster=cluster, phase=Phase.GITOPS, side=Side.GITOPS, owner=Owner.GITOPS, why="", origins=()
    )


def platform(*clusters: str, components: tuple[Component, ...] = ()) -> Platform:
    found = tuple(Cluster(name=each, place=PLACE) for each in clusters)
    return Platform(name="p", root=Path("/nowhere"), engine=None, clusters=found, components=components)


@pytest.mark.parametrize(
    ("clusters", "typed", "meant"),
    [
        (("home",), ("", ""), ("home", "")),
        (("home",), ("home", ""), ("home", "")),
        (("home",), ("cert-manager", ""), ("home", "cert-manager")),
        (("home",), ("shop/web", ""), ("home", "shop/web")),
        (("home", "edge"), ("edge", "shop/web"), ("edge", "shop/web")),
        (("home", "edge"), ("shop", ""), ("edge", "shop")),
    ],
)
def test_one_word_is_a_cluster_or_something_in_it(
    clusters: tuple[str, ...], typed: tuple[str, str], meant: tuple[str, str]
) -> None:
    one = platform(*clusters, components=(component("shop", "edge"), component("cert-manager", clusters[0])))

    cluster, what = actions._meant(one, *typed)

    assert (cluster.name, what) == meant


def test_a_component_of_several_clusters_needs_one_named() -> None:
    one = platform("home", "edge", components=(component("shop", "home"), component("shop", "edge")))

    with pytest.raises(errors.UsageError, match="shop is in home, edge") as caught:
        actions._meant(one, "shop", "")
    assert caught.value.hint == "Name the cluster first: firstlight doctor home shop"
    with pytest.raises(errors.UsageError, match="there is no cluster hmoe"):
        actions._meant(one, "hmoe", "")


def test_without_a_repo_there_is_only_the_kubeconfigs_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main.run(["doctor", "home", "shop"]) == 64
    assert "there is no cluster home here" in capsys.readouterr().err
    assert main.run(["doctor", "--since", "soon"]) == 64
    assert "'soon' is no duration" in capsys.readouterr().err


def test_only_what_began_since_then_or_nobody_knows_when() -> None:
    one = Symptom(code="r", severity=Severity.ERROR, layer=SymptomLayer.API, subject="a", message="x", since=100.0)
    causes = tuple(RootCause(symptom=dataclasses.replace(one, since=at)) for at in (100.0, 200.0, 0.0))

    found = actions._recent(Diagnosis(cluster="home", causes=causes), 150.0)

    assert [each.symptom.since for each in found.causes] == [200.0, 0.0]
    assert len(actions._recent(Diagnosis(cluster="home", causes=causes), 0.0).causes) == 3

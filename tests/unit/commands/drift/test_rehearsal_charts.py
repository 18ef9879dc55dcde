"""Charts at hand: given as files, or empty where they cannot be had."""

import dataclasses
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.commands.rehearse import chart_copies
from firstlight.commands.rehearse.chart_copies import GivenChart, GivenChartStore
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, DirectorySource, RemoteSource, SeveralSources
from firstlight.render import chart_packages
from firstlight.render.chart_fetch import FetchClients
from firstlight.render.chart_packages import FetchKind, FetchRequest


def chart(name: str, version: str) -> GivenChart:
    text = f"apiVersion: v2\nname: {name}\nversion: {version}\n".encode()
    return chart_copies.of_files({"Chart.yaml": text}, "here")


GIVEN = (chart("web", "1.9.0"), chart("web", "1.10.0"), chart("cert-manager", "v1.19.0"))


def oci(name: str, version: str = "") -> FetchRequest:
    return FetchRequest(kind=FetchKind.OCI, url=f"oci://registry.example.org/charts/{name}", version=version)


@pytest.mark.parametrize(
    ("wanted", "version"),
    [
        (oci("web", "1.9.0"), "1.9.0"),
        (oci("web"), "1.10.0"),
        (oci("web", "*"), "1.10.0"),
        (oci("web", "2.0.0"), None),
        (oci("cert-manager", "1.19.0"), "v1.19.0"),
        (oci("other"), None),
        (
            FetchRequest(kind=FetchKind.REPOSITORY, url="https://charts.example.org", name="web", version="v1.9.0"),
            "1.9.0",
        ),
        (FetchRequest(kind=FetchKind.GIT, url="https://git.example.org/me/web"), None),
    ],
)
def test_a_given_chart_is_found_by_name_and_version(wanted: FetchRequest, version: str | None) -> None:
    found = chart_copies.find(GIVEN, wanted)
    assert (found.version if found else None) == version


def test_archives_and_directories_are_read(tmp_path: Path) -> None:
    (tmp_path / "web-1.0.0.tgz").write_bytes(chart("web", "1.0.0").archive)
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "Chart.yaml").write_text("name: api\nversion: 2.0.0\n")
    (tmp_path / "README.md").write_text("hello")

    found = chart_copies.read(tmp_path)

    assert [(each.name, each.version) for each in found] == [("api", "2.0.0"), ("web", "1.0.0")]
    assert "Chart.yaml" in chart_packages.unpack_chart(found[0].archive)


def test_what_is_no_chart_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.tgz").write_bytes(b"nothing")
    with pytest.raises(errors.ConfigError) as wrong:
        chart_copies.read(tmp_path)
    assert wrong.value.path == str(tmp_path / "bad.tgz")
    with pytest.raises(errors.UsageError, match="is no directory"):
        chart_copies.read(tmp_path / "gone")


def test_a_directory_without_a_chart_is_not_taken_for_one_with_charts(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("charts are elsewhere")
    with pytest.raises(errors.UsageError, match=r"there is no chart in .*test_a_directory"):
        chart_copies.read(tmp_path)


@pytest.mark.parametrize(
    ("text", "version"),
    [("1.2.3", "1.2.3"), ("v1.2.3-rc.1", "v1.2.3-rc.1"), (">=0.32.0 <1.0.0", "0.32.0"), ("~1.2", "1.2.0"),
     ("1.x", "1.0.0"), ("", "1.0.0"), ("*", "1.0.0")],
)  # fmt: skip
def test_an_empty_chart_has_a_version_that_is_asked_for(text: str, version: str) -> None:
    made = chart_copies.empty(oci("web", text))
    assert (made.name, made.version, made.is_empty) == ("web", version, True)
    assert f"version: {version}\n" in chart_packages.unpack_chart(made.archive)["Chart.yaml"].decode()


async def test_the_hand_comes_before_the_store(tmp_path: Path) -> None:
    instead = {oci("gone", "1.0.0"): chart_copies.empty(oci("gone", "1.0.0"))}
    store = GivenChartStore(tmp_path, FetchClients(Path("/nowhere/helm")), given=GIVEN, instead=instead, offline=True)

    stored = await store.get(oci("web", "1.9.0"))
    empty = await store.get(oci("gone", "1.0.0"))

    assert (stored.name, stored.version) == ("web", "1.9.0")
    assert (await store.files(stored))["Chart.yaml"].startswith(b"apiVersion: v2\nname: web")
    assert (await store.files(empty)).keys() == {"Chart.yaml", "values.yaml"}
    with pytest.raises(errors.ClientError, match="offline"):
        await store.get(oci("web", "3.0.0"))


async def test_charts_have_the_digests_that_the_engine_will_see(tmp_path: Path) -> None:
    """helm-controller puts them into versions, and so charts into labels: others would be a difference."""
    wanted = oci("web", "1.9.0")
    store = GivenChartStore(
        tmp_path, FetchClients(Path("/nowhere/helm")), given=GIVEN, digests={wanted: "sha256:there"}, offline=True
    )

    stored = await store.get(wanted)

    assert stored.digest == "sha256:there"
    assert (await store.files(stored)).keys() == {"Chart.yaml"}


def component(name: str, source: object, role: str = "", form: SourceForm = SourceForm.HELM_RELEASE) -> Component:
    place = Place(f"{name}.yaml", 1)
    origin = Origin(form=form, side=Side.GITOPS, place=place, name=name, source=source)  # type: ignore[arg-type]
    return Component(
        name=name, cluster="home", phase=Phase.CORE, side=Side.GITOPS, owner=Owner.GITOPS, role=role, why="",
        origins=(origin,),
    )  # fmt: skip


def platform(*components: Component) -> Platform:
    return Platform(name="home", root=Path("/x"), engine=None, clusters=(), components=components)


REGISTRY = "oci://registry.example.org/charts"


def test_what_a_cluster_uses_from_elsewhere() -> None:
    several = SeveralSources(
        each=(ChartSource(name="web", repository=REGISTRY, version="1.9.0"), DirectorySource(path="values"))
    )
    other = RemoteSource(url="https://git.example.org/me/other", revision="v2")
    one = platform(
        component("web", several, form=SourceForm.APPLICATION),
        component("other", other, form=SourceForm.KUSTOMIZATION),
        component("own", ChartSource(name="charts/own")),
        component("here", DirectorySource(path="apps")),
    )

    assert [each.wanted for each in chart_copies.uses(one, "home")] == [
        oci("web", "1.9.0"),
        FetchRequest(kind=FetchKind.GIT, url="https://git.example.org/me/other", version="v2"),
    ]


async def test_what_cannot_be_had_is_told_and_an_empty_chart_stands_for_it(tmp_path: Path) -> None:
    store = GivenChartStore(tmp_path, FetchClients(Path("/nowhere/helm")), given=GIVEN, offline=True)
    one = platform(
        component("web", ChartSource(name="web", repository=REGISTRY, version="1.9.0")),
        component("gone", ChartSource(name="gone", repository=REGISTRY, version="~3.1")),
    )

    fetched = await chart_copies.fetch(chart_copies.uses(one, "home"), store)

    assert list(fetched.stored) == [oci("web", "1.9.0")]
    assert [each.version for each in fetched.instead.values()] == ["3.1.0"]
    assert [each.component for each in fetched.untried] == ["gone"]
    assert "an empty chart stands for it" in fetched.untried[0].why


@pytest.mark.parametrize("role", chart_copies.VITAL)
async def test_without_a_network_or_an_engine_nothing_is_rehearsed(tmp_path: Path, role: str) -> None:
    store = GivenChartStore(tmp_path, FetchClients(Path("/nowhere/helm")), offline=True)
    one = platform(component("cilium", ChartSource(name="cilium", repository=REGISTRY, version="1.19.0"), role))

    with pytest.raises(errors.Refused, match="cilium cannot be rehearsed") as refused:
        await chart_copies.fetch(chart_copies.uses(one, "home"), store)
    assert "--charts" in refused.value.hint


async def test_an_engine_that_only_git_brings_is_not_vital(tmp_path: Path) -> None:
    store = GivenChartStore(tmp_path, FetchClients(Path("/nowhere/helm")), offline=True)
    later = component("argocd", ChartSource(name="argo-cd", repository=REGISTRY, version="9.0.0"), "engine")
    one = platform(dataclasses.replace(later, phase=Phase.GITOPS))

    assert (await chart_copies.fetch(chart_copies.uses(one, "home"), store)).untried


@pytest.mark.parametrize(("phase", "is_offered"), [(Phase.ENGINE, True), (Phase.CORE, False), (Phase.INLINE, False)])
async def test_what_comes_before_the_engine_can_be_rehearsed_without_it(
    tmp_path: Path, phase: Phase, is_offered: bool
) -> None:
    store = GivenChartStore(tmp_path, FetchClients(Path("/nowhere/helm")), offline=True)
    one = component("argocd", ChartSource(name="argo-cd", repository=REGISTRY, version="9.0.0"), "engine")

    with pytest.raises(errors.Refused) as refused:
        await chart_copies.fetch(chart_copies.uses(platform(dataclasses.replace(one, phase=phase)), "home"), store)

    assert ("--until core" in refused.value.hint) is is_offered


def test_what_is_not_rehearsed_is_not_vital() -> None:
    one = component("flux-operator", ChartSource(name="flux-operator", repository=REGISTRY, version="1.0.0"), "engine")
    engine = platform(dataclasses.replace(one, phase=Phase.ENGINE))

    assert [each.is_vital for each in chart_copies.uses(engine, "home")] == [True]
    assert [each.is_vital for each in chart_copies.uses(engine, "home", until=Phase.CORE)] == [False]


def test_names_on_the_servers_of_the_lab() -> None:
    assert (
        chart_copies.registry_name("oci://Registry.example.org:5000/My_charts") == "registry-example-org-5000/my-charts"
    )
    assert chart_copies.slug("https://charts.example.org/stable/") == "charts-example-org-stable"
    assert chart_copies.slug("git@git.example.org:me/x.git") == "git-git-example-org-me-x-git"

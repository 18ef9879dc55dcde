"""Which components files belong to, by hand and in repos that were read."""

from pathlib import Path

import pytest

from firstlight.commands.decide.file_components import Belonging, belonging
from firstlight.model.component import Component, ObjectId
from firstlight.repo import platform_reader
from tests.unit.commands.decide import books, repos

ROOT = Path(__file__).parents[4]


def names(components: tuple[Component, ...]) -> list[str]:
    return sorted(f"{each.cluster}/{each.name}" for each in components)


@pytest.fixture(scope="module")
def home() -> Belonging:
    return belonging(platform_reader.read(ROOT / "examples/home"))


@pytest.mark.parametrize(
    ("path", "kind", "name", "expected"),
    [
        ("kubernetes/infrastructure/cilium/release.yaml", "HelmRelease", "cilium", ["home/cilium"]),
        ("kubernetes/infrastructure/cilium/release.yaml", "", "", ["home/cilium"]),
        ("kubernetes/clusters/home/apps.yaml", "Kustomization", "notes", ["home/notes"]),
        ("kubernetes/clusters/home/apps.yaml", "", "", ["home/notes", "home/whoami"]),
        ("kubernetes/apps/whoami/whoami.yaml", "Deployment", "whoami", ["home/whoami"]),
        ("kubernetes/apps/whoami/anything/else.yaml", "ConfigMap", "new", ["home/whoami"]),
        ("kubernetes/clusters/home/new.yaml", "ConfigMap", "new", ["home/flux-system"]),
        ("kubernetes/elsewhere/new.yaml", "ConfigMap", "new", []),
        ("README.md", "", "", []),
    ],
)
def test_a_repo(home: Belonging, path: str, kind: str, name: str, expected: list[str]) -> None:
    found = home.of(path, ObjectId("", kind, "", name) if kind and name != "whoami" else None)

    assert names(found) == expected


def test_files_of_machines_belong_to_clusters(home: Belonging) -> None:
    assert home.clusters("talos/home/all.yaml") == ("home",)
    assert home.clusters("firstlight.yaml") == ("home",)
    assert home.clusters("README.md") == ()
    assert home.clusters("kubernetes/apps/whoami/whoami.yaml") == ("home",)


def test_the_file_that_declares_everything_belongs_to_no_component(home: Belonging) -> None:
    assert home.of("firstlight.yaml") == ()


def test_the_deepest_directory_wins() -> None:
    outer, inner = books.kustomization("all", "apps"), books.kustomization("web", "apps/web")
    found = belonging(books.platform(outer, inner))

    assert names(found.of("apps/web/a.yaml")) == ["home/kustomization/web"]
    assert names(found.of("apps/other/a.yaml")) == ["home/kustomization/all"]
    assert names(found.of("apps-other/a.yaml")) == []


def test_a_base_belongs_to_all_that_take_it_in() -> None:
    first = books.kustomization("one", "overlays/one")
    second = books.kustomization("two", "overlays/two", cluster="away")
    taken = {"overlays/one": ["base"], "overlays/two": ["middle"], "middle": ["base", "middle/a.yaml", "overlays/two"]}
    found = belonging(books.platform(first, second, names=("home", "away")), taken=taken)

    assert names(found.of("base/deep/a.yaml")) == ["away/kustomization/two", "home/kustomization/one"]
    assert names(found.of("middle/a.yaml")) == ["away/kustomization/two"]
    assert found.clusters("base/a.yaml") == ("home", "away")


def test_an_object_belongs_to_whoever_applies_it_also_from_elsewhere() -> None:
    applied = ObjectId("apps", "Deployment", "web", "front")
    found = belonging(books.platform(books.kustomization("web", "apps/web", objects=(applied,))))

    assert names(found.of("base/front.yaml", ObjectId("apps", "Deployment", "", "front"))) == ["home/kustomization/web"]
    assert names(found.of("base/front.yaml", ObjectId("apps", "Deployment", "other", "front"))) == []
    assert names(found.of("base/front.yaml", ObjectId("", "Deployment", "", "front"))) == []


def test_where_several_apply_an_object_of_that_name_the_file_decides() -> None:
    applied = (ObjectId("", "ConfigMap", "web", "settings"),)
    first = books.kustomization("one", "apps/one", objects=applied)
    second = books.kustomization("two", "apps/two", cluster="away", objects=applied)
    found = belonging(books.platform(first, second))

    assert names(found.of("apps/two/a.yaml", applied[0])) == ["away/kustomization/two"]


def test_an_object_beside_a_release_belongs_to_who_applies_it() -> None:
    found = belonging(
        books.platform(books.component("web", parent="kustomization/web"), books.kustomization("web", "apps/web"))
    )
    path = "apps/web/release.yaml"

    assert names(found.of(path, ObjectId("helm.toolkit.fluxcd.io", "HelmRelease", "web", "web"))) == ["home/web"]
    assert "home/kustomization/web" in names(found.of(path, ObjectId("", "ConfigMap", "web", "more")))
    assert names(found.of(path)) == ["home/web"]


def test_a_stranger_beside_a_declaration_belongs_to_it_unless_there_is_a_crowd() -> None:
    few = [books.component(f"c{number}", path="base/all/release.yaml") for number in range(2)]
    many = [books.component(f"c{number}", path="base/all/release.yaml") for number in range(4)]

    assert names(belonging(books.platform(*few)).of("base/all/deep/values.yaml")) == ["home/c0", "home/c1"]
    assert names(belonging(books.platform(*many)).of("base/all/deep/values.yaml")) == []


def test_sources_of_charts_belong_to_their_releases() -> None:
    found = belonging(platform_reader.read(ROOT / "tests/scenarios/flux/charts/repo"))
    sources = [key for key in found.declared if key[0] in ("HelmRepository", "OCIRepository", "GitRepository")]

    assert sources
    for kind, name in sources:
        assert found.of("anywhere.yaml", ObjectId("source.toolkit.fluxcd.io", kind, "", name))


APPS = "clusters/home/apps.yaml"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: web}\ndata: {a: b}\n"
LISTED = {
    repos.FLUX: repos.SYNC,
    APPS: repos.kustomization("web", "apps/web") + "---\n" + repos.kustomization("api", "apps/api"),
    "apps/web/kustomization.yaml": "resources: [a.yaml, more]\n",
    "apps/web/a.yaml": CONFIG.replace("NAME", "a"),
    "apps/web/old.yaml": CONFIG.replace("NAME", "old"),
    "apps/web/more/b.yaml": CONFIG.replace("NAME", "b"),
    "apps/web/more/kustomization.yaml": "resources: [b.yaml]\n",
    "apps/web/more/old.yaml": CONFIG.replace("NAME", "a"),
    "apps/api/c.yaml": CONFIG.replace("NAME", "c"),
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("apps/web/a.yaml", {"web"}),
        ("apps/web/more/b.yaml", {"web"}),
        ("apps/web/old.yaml", set()),
        ("apps/web/more/old.yaml", set()),
        ("apps/api/c.yaml", {"api"}),
    ],
)
def test_what_a_kustomization_leaves_out_belongs_to_nobody(path: str, expected: set[str]) -> None:
    found = repos.judged(LISTED, {path: LISTED[path].replace("a: b", "a: c")})

    assert repos.touched(found) == expected
    assert any("leaves it out" in each for each in found.doubts) == (not expected)


def test_what_is_listed_from_now_on_belongs_to_who_lists_it() -> None:
    after = {"apps/web/kustomization.yaml": "resources: [a.yaml, more, old.yaml]\n"}
    found = repos.judged(LISTED, {**after, "apps/web/old.yaml": LISTED["apps/web/old.yaml"].replace("a: b", "a: c")})

    assert repos.touched(found) == {"web"}
    assert found.doubts == ()


def test_a_declaration_touches_what_it_declares_and_not_its_parent() -> None:
    changed = repos.judged(LISTED, {APPS: LISTED[APPS].replace("interval: 10m", "interval: 5m", 1)})
    added = repos.judged(LISTED, {"clusters/home/new.yaml": repos.kustomization("new", "apps/api")})
    gone = repos.judged(LISTED, {APPS: repos.kustomization("api", "apps/api")})

    assert [repos.touched(each) for each in (changed, added, gone)] == [{"web"}, {"new"}, {"web"}]
    assert [each.affected for each in (changed, added, gone)] == [(), (), ()]


def test_a_plain_object_of_the_root_does_not_affect_all_that_the_root_brings() -> None:
    quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: all, namespace: web}\nspec: {hard: {pods: 10}}\n"
    found = repos.judged({**LISTED, "clusters/home/quota.yaml": quota}, {"clusters/home/quota.yaml": quota + "\n"})
    assert found.items == ()

    found = repos.judged(
        {**LISTED, "clusters/home/quota.yaml": quota}, {"clusters/home/quota.yaml": quota.replace("10", "5")}
    )
    assert repos.touched(found) == {"flux-system"}
    assert found.affected == ()
    found = repos.judged(LISTED, {repos.FLUX: repos.SYNC.replace("interval: 10m", "interval: 5m")})
    assert found.affected == ()
    assert set(found.brought) == {"home/web", "home/api"}

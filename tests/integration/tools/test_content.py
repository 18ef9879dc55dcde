"""Content out of a module that a directory of the test publishes, fetched by a real Go."""

import dataclasses
import re
import stat
import tarfile
from pathlib import Path

import msgspec
import pytest

from firstlight import errors
from firstlight.clients import command
from firstlight.tools import (
    binary_cache,
    catalogue,
    content,
    content_cache,
    go_toolchain,
    install,
    tool_progress,
    workshop,
)
from tests.unit.tools import tiny, tiny_module

KEPT = {
    "bin/run.sh",
    f"licences/{tiny_module.ROOT}/LICENSE",
    f"licences/{tiny_module.ROOT}/NOTICE.txt",
    "tiny-v1.0.0.tgz",
    "tiny/Chart.yaml",
    "tiny/templates/crds/big.yaml",
    "tiny/templates/crds/small.yaml",
    "tiny/templates/one.yaml",
    "tiny/values.yaml",
}


def workshop_with(root: Path, environ: dict[str, str], known: str = tiny_module.CONTENT) -> workshop.Workshop:
    return tiny.shop(root, environ, known=tiny.CATALOGUE + known)


@pytest.fixture
def shop(tmp_path: Path, environ: dict[str, str]) -> workshop.Workshop:
    """A workshop where nothing is to be had but the tiny module."""
    return workshop_with(tmp_path, {**environ, "GOPROXY": tiny_module.publish(tmp_path / "proxy")})


def nothing_is_left(shop: workshop.Workshop) -> bool:
    return not list((shop.cache.root / "tmp").iterdir()) and not content_cache.of(shop.cache).names()


async def test_fetches_verifies_finishes_and_keeps_content(shop: workshop.Workshop) -> None:
    heard: list[tool_progress.ToolEvent] = []

    path = (await content.ensure(["tiny-chart"], heard.append, shop=shop))["tiny-chart"]

    assert path.parent == shop.cache.root / "content/tiny-chart"
    files = {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}
    assert files == KEPT | {binary_cache.PROVENANCE}
    assert stat.S_IMODE((path / "bin/run.sh").stat().st_mode) == 0o755
    with tarfile.open(path / "tiny-v1.0.0.tgz") as package:
        assert set(package.getnames()) == {name for name in KEPT if name.startswith("tiny/")}
    (entry,) = content_cache.of(shop.cache).entries("tiny-chart")
    assert isinstance(entry, content_cache.CachedContent)
    assert set(entry.provenance.files) == KEPT
    assert isinstance(heard[-1], tool_progress.ToolReady)
    assert (heard[-1].path, heard[-1].how) == (path, "modules")
    assert any(isinstance(event, tool_progress.FetchingModules) for event in heard)
    assert list((shop.cache.root / "tmp").iterdir()) == []
    assert not (shop.cache.go / "modules").exists(), "modules are not left unpacked"


async def test_what_is_there_is_not_fetched_again(shop: workshop.Workshop) -> None:
    first = await content.ensure(["tiny-chart"], shop=shop)
    nowhere = dataclasses.replace(shop, environ={**shop.environ, "GOPROXY": "off", "FIRSTLIGHT_GO": "/nowhere"})
    heard: list[tool_progress.ToolEvent] = []

    assert await content.ensure(["tiny-chart"], heard.append, shop=nowhere) == first
    assert heard == [tool_progress.ToolReady("tiny-chart", "1.0.0", first["tiny-chart"], "cache", 0.0)]


async def test_it_is_made_again_on_demand_and_comes_out_the_same(shop: workshop.Workshop) -> None:
    path = (await content.ensure(["tiny-chart"], shop=shop))["tiny-chart"]
    (before,) = content_cache.of(shop.cache).entries("tiny-chart")

    assert (await content.ensure(["tiny-chart"], shop=shop, again=True))["tiny-chart"] == path

    (after,) = content_cache.of(shop.cache).entries("tiny-chart")
    assert isinstance(before, content_cache.CachedContent)
    assert isinstance(after, content_cache.CachedContent)
    assert after.provenance.when > before.provenance.when
    assert after.provenance.files == before.provenance.files


async def test_a_module_that_is_not_the_pinned_one_is_refused(shop: workshop.Workshop, tmp_path: Path) -> None:
    tiny_module.publish(tmp_path / "proxy", tiny_module.FILES | {"deploy/chart/values.yaml": "evil: true\n"})

    with pytest.raises(errors.ToolError, match=f"is refused: its hash is h1:.*{re.escape(tiny_module.SUM)} is pinned"):
        await content.ensure(["tiny-chart"], shop=shop)

    assert nothing_is_left(shop)


async def test_an_archive_that_reaches_outside_is_refused(shop: workshop.Workshop, tmp_path: Path) -> None:
    tiny_module.publish(tmp_path / "proxy", tiny_module.FILES | {"../../../evil": "evil"})

    with pytest.raises(errors.ToolError):
        await content.ensure(["tiny-chart"], shop=shop)

    assert nothing_is_left(shop)
    assert not list(tmp_path.rglob("evil"))


async def test_a_path_that_the_module_does_not_have_is_said(shop: workshop.Workshop, tmp_path: Path) -> None:
    known = tiny_module.CONTENT.replace("hack/run.sh", "hack/walk.sh")

    with pytest.raises(errors.ToolError, match=r"example\.test/tiny@v1\.0\.0 has no hack/walk\.sh"):
        await content.ensure(["tiny-chart"], shop=workshop_with(tmp_path, dict(shop.environ), known))

    assert nothing_is_left(shop)


async def test_without_the_network_it_says_what_is_missing(shop: workshop.Workshop) -> None:
    offline = dataclasses.replace(shop, environ={**shop.environ, "GOPROXY": "off"})

    with pytest.raises(errors.ToolError, match=r"example\.test/tiny@v1\.0\.0 cannot be fetched") as caught:
        await content.ensure(["tiny-chart"], shop=offline)

    assert "GOPROXY" in caught.value.hint
    assert nothing_is_left(shop)


async def test_what_a_build_has_fetched_is_not_fetched_again(environ: dict[str, str], go: Path, tmp_path: Path) -> None:
    shop = workshop_with(tmp_path, {**environ, "GOPROXY": tiny_module.publish(tmp_path / "proxy")})
    await command.run(
        [str(go), "mod", "download", tiny_module.ROOT], env={**go_toolchain.environment(shop), "GOSUMDB": "off"}
    )
    offline = dataclasses.replace(shop, environ={**shop.environ, "GOPROXY": "off"})

    assert (await content.ensure(["tiny-chart"], shop=offline))["tiny-chart"].is_dir()


async def test_a_module_that_wants_a_newer_go_is_taken_all_the_same(
    shop: workshop.Workshop, go: Path, tmp_path: Path
) -> None:
    files = tiny_module.FILES | {"go.mod": f"module {tiny_module.PATH}\n\ngo 1.99\n"}
    tiny_module.publish(tmp_path / "proxy", files)
    with pytest.raises(errors.ToolError) as caught:
        await content.ensure(["tiny-chart"], shop=shop)
    actual = re.search(r"its hash is (h1:\S+),", caught.value.message)
    assert actual is not None, "it came as far as the comparison"
    known = tiny_module.CONTENT.replace(tiny_module.SUM, actual[1])

    made = await content.ensure(["tiny-chart"], shop=workshop_with(tmp_path, dict(shop.environ), known))

    assert (made["tiny-chart"] / "tiny-v1.0.0.tgz").is_file()


async def test_another_entry_is_another_content_and_the_old_one_stays_for_other_clones(
    shop: workshop.Workshop, tmp_path: Path
) -> None:
    before = await content.ensure(["tiny-chart"], shop=shop)
    known = tiny_module.CONTENT.replace('"bin/run.sh"', '"run.sh"')

    after = await content.ensure(["tiny-chart"], shop=workshop_with(tmp_path, dict(shop.environ), known))

    assert (after["tiny-chart"] / "run.sh").is_file()
    assert (before["tiny-chart"] / "bin/run.sh").is_file()


async def test_a_change_of_the_same_size_is_noticed_at_the_next_use_and_mended(shop: workshop.Workshop) -> None:
    path = (await content.ensure(["tiny-chart"], shop=shop))["tiny-chart"]
    values = path / "tiny/values.yaml"
    values.write_text(tiny_module.FILES["deploy/chart/values.yaml"].replace("true", "evil"))
    heard: list[tool_progress.ToolEvent] = []

    await content.ensure(["tiny-chart"], heard.append, shop=shop)

    assert values.read_text() == tiny_module.FILES["deploy/chart/values.yaml"]
    assert any(
        isinstance(event, tool_progress.CandidateSkipped) and "values.yaml has changed" in event.why for event in heard
    )


async def test_a_go_mod_further_up_has_no_say(shop: workshop.Workshop) -> None:
    shop.cache.root.mkdir(parents=True)
    above = shop.cache.root / "go.mod"
    above.write_text("this is not a go.mod\n")

    await content.ensure(["tiny-chart"], shop=shop)

    assert above.read_text() == "this is not a go.mod\n"
    assert not above.with_name("go.sum").exists()


async def test_a_name_that_is_no_content_is_a_usage_error(shop: workshop.Workshop) -> None:
    with pytest.raises(errors.UsageError, match="no content 'tiny-chrat'") as caught:
        await content.ensure(["tiny-chrat"], shop=shop)

    assert "tiny-chart" in caught.value.hint


MANIFESTS = f"""
[[content]]
name = "manifests"
summary = "manifests"
version = "1.0.0"
used_by = ["lab"]
recipe = "manifests"
manifests = {{ "install.yaml" = "scratch/install" }}
[[content.module]]
path = "{tiny_module.PATH}"
version = "{tiny_module.VERSION}"
sum = "{tiny_module.SUM}"
take = {{ "deploy/chart/templates" = "scratch/parts" }}

[[tool]]
name = "kustomize"
kind = "program"
summary = "renders kustomizations"
version = "5.8.1"
used_by = ["lab"]
by_hand = "It is given."
"""


@pytest.fixture
async def kustomizing(shop: workshop.Workshop, tmp_path: Path) -> workshop.Workshop:
    """A workshop with a recipe for manifests and the real kustomize."""
    kustomize = (await install.ensure(["kustomize"]))["kustomize"]
    recipe = tmp_path / "lab/content/manifests/install"
    recipe.mkdir(parents=True)
    (recipe / "kustomization.yaml").write_text("namePrefix: from-\nresources: [../parts/one.yaml]\n")
    return workshop_with(tmp_path, {**shop.environ, "FIRSTLIGHT_KUSTOMIZE": str(kustomize)}, MANIFESTS)


async def test_manifests_are_built_by_a_recipe_from_what_was_taken(kustomizing: workshop.Workshop) -> None:
    path = (await content.ensure(["manifests"], shop=kustomizing))["manifests"]

    assert {file.name for file in path.iterdir()} == {"install.yaml", "licences", binary_cache.PROVENANCE}
    assert "name: from-one" in (path / "install.yaml").read_text()


async def test_a_change_of_the_recipe_is_another_content(kustomizing: workshop.Workshop) -> None:
    before = (await content.ensure(["manifests"], shop=kustomizing))["manifests"]
    kustomization = kustomizing.lab / "content/manifests/install/kustomization.yaml"
    kustomization.write_text(kustomization.read_text().replace("from-", "of-"))

    after = (await content.ensure(["manifests"], shop=kustomizing))["manifests"]

    assert after != before
    assert "name: of-one" in (after / "install.yaml").read_text()


@pytest.mark.parametrize("elsewhere", ["../missing.yaml", "https://example.invalid/evil.yaml"])
async def test_a_recipe_does_not_fetch(kustomizing: workshop.Workshop, elsewhere: str) -> None:
    kustomization = kustomizing.lab / "content/manifests/install/kustomization.yaml"
    kustomization.write_text(f"resources: [{elsewhere}]\n")

    with pytest.raises(errors.ToolError, match=r"install\.yaml could not be built"):
        await content.ensure(["manifests"], shop=kustomizing)

    assert nothing_is_left(kustomizing)


EMBEDDING = {
    "go.mod": "module example.test/page\n\ngo 1.21\n",
    "page.go": 'package page\n\nimport _ "embed"\n\n//go:embed dist/index.html\nvar Page string\n',
    "cmd/page/main.go": 'package main\n\nimport "example.test/page"\n\nfunc main() { print(page.Page) }\n',
}


async def test_a_module_that_lacks_a_file_is_built_from_a_copy_with_it(
    environ: dict[str, str], go: Path, tmp_path: Path
) -> None:
    """As Flux Operator, whose web interface is made at its release and is not in its module."""
    proxy = tiny_module.publish(tmp_path / "proxy", EMBEDDING, path="example.test/page")
    said = await command.run(
        [str(go), "mod", "download", "-json", "example.test/page@v1.0.0"],
        env={**go_toolchain.environment(tiny.shop(tmp_path, environ)), "GOPROXY": proxy, "GOSUMDB": "off"},
    )
    pinned = msgspec.json.decode(said.stdout)["Sum"]
    pin = tmp_path / "lab/pins/page"
    (pin / "copy/dist").mkdir(parents=True)
    (pin / "copy/dist/index.html").write_text("our own page")
    (pin / "go.mod").write_text(
        "module pin\n\ngo 1.21\n\nrequire example.test/page v1.0.0\n\nreplace example.test/page => ./copy\n"
    )
    (pin / "go.sum").write_text("")
    known = f"""
[[tool]]
name = "page"
kind = "component"
summary = "prints a page"
version = "1.0.0"
used_by = ["lab"]
by_hand = "It is built."
[tool.build]
pin = "page"
package = "example.test/page/cmd/page"
seconds = 1
[tool.build.copy]
path = "example.test/page"
version = "v1.0.0"
sum = "{pinned}"
to = "copy"
"""
    shop = tiny.shop(tmp_path, {**environ, "GOPROXY": proxy}, known=known)

    path = (await install.ensure(["page"], shop=shop))["page"]

    assert (await command.run([str(path)])).stderr == "our own page"
    changed = dataclasses.replace(
        shop, catalogue=catalogue.parse(known.replace(pinned, tiny_module.SUM), path="changed")
    )
    with pytest.raises(errors.ToolError, match="is refused: its hash"):
        await install.ensure(["page"], shop=changed)

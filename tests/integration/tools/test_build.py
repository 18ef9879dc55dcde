import dataclasses
import os
import re
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import command
from firstlight.tools import binary_cache, go_toolchain, install, tool_progress, tool_version, workshop
from tests.unit.tools import tiny


def go_that(directory: Path, go: Path, *, log: Path, version: str = "") -> Path:
    """A ``go`` that notes its commands, and may lie about its version."""
    lie = f'[ "$1" = version ] && {{ echo "go version go{version} linux/amd64"; exit; }}\n' if version else ""
    path = directory / f"go{version}"
    path.write_text(f'#!/bin/sh\necho "$1" >> {log}\n{lie}exec {go} "$@"\n')
    path.chmod(0o755)
    return path


async def test_builds_checks_and_keeps_a_tool(shop: workshop.Workshop) -> None:
    heard: list[tool_progress.ToolEvent] = []

    paths = await install.ensure(["tiny"], heard.append, shop=shop)

    said = await command.run([str(paths["tiny"])])
    assert said.stderr.strip() == "tiny v1.2.3"
    (entry,) = shop.cache.entries("tiny")
    assert isinstance(entry, binary_cache.CachedBinary)
    assert entry.path == paths["tiny"]
    assert entry.provenance.how == "build"
    assert entry.provenance.sha256 == binary_cache.hash_file(entry.path)
    assert re.fullmatch(r"1\.\d+\.\d+\S*", entry.provenance.go)
    assert isinstance(heard[-1], tool_progress.ToolReady)
    assert heard[-1].how == "build"
    assert list((shop.cache.root / "tmp").iterdir()) == []


async def test_what_is_in_the_cache_is_not_built_again(shop: workshop.Workshop) -> None:
    first = await install.ensure(["tiny"], shop=shop)
    heard: list[tool_progress.ToolEvent] = []

    second = await install.ensure(["tiny"], heard.append, shop=shop)

    assert first == second
    assert heard == [tool_progress.ToolReady("tiny", "1.2.3", first["tiny"], "cache", 0.0)]


async def test_a_change_of_the_sources_is_built_and_the_old_binary_stays_for_other_clones(
    shop: workshop.Workshop,
) -> None:
    before = await install.ensure(["tiny"], shop=shop)
    main = shop.lab / "pins/tiny/main.go"

    main.write_text(main.read_text() + "\n// changed\n")
    after = await install.ensure(["tiny"], shop=shop)

    assert after != before
    assert before["tiny"].exists()


async def test_a_newer_go_alone_is_no_reason_to_build_again(shop: workshop.Workshop, go: Path, tmp_path: Path) -> None:
    before = await install.ensure(["tiny"], shop=shop)
    log = tmp_path / "log"
    newer = go_that(tmp_path, go, log=log, version="1.99.0")
    later = dataclasses.replace(shop, environ={**shop.environ, "FIRSTLIGHT_GO": str(newer)})

    assert await install.ensure(["tiny"], shop=later) == before
    assert not log.exists()
    again = await install.ensure(["tiny"], shop=later, again=True)
    assert again != before, "the key has the version of Go in it"


async def test_counts_packages_upwards_to_the_total(shop: workshop.Workshop) -> None:
    heard: list[tool_progress.ToolEvent] = []

    await install.ensure(["tiny"], heard.append, shop=shop)

    compiling = [event for event in heard if isinstance(event, tool_progress.Compiling)]
    assert {event.total for event in compiling} == {5}, "main, words and three more; Go's own are in the build cache"
    counts = [event.done for event in compiling]
    assert counts == sorted(counts)
    assert counts[-1] == 5
    assert isinstance(heard[0], tool_progress.FetchingModules), "modules come first"


async def test_a_failing_build_names_the_log_and_its_telling_lines(shop: workshop.Workshop) -> None:
    (shop.lab / "pins/tiny/words/words.go").write_text("package words\n\nvar Nothing string = 1\n")

    with pytest.raises(errors.ToolError) as caught:
        await install.ensure(["tiny"], shop=shop)

    log = shop.cache.logs / "tiny.log"
    assert str(log) in caught.value.message
    assert re.search(r"words\.go:3:\d+: cannot use 1", caught.value.message)
    assert "cannot use 1" in log.read_text()
    assert shop.cache.look_up("tiny", shop.recipes(shop.catalogue.get("tiny"))) == (None, ())


async def test_a_module_that_cannot_be_fetched_is_said(shop: workshop.Workshop) -> None:
    (shop.lab / "pins/tiny/more.go").write_text('package main\n\nimport _ "example.invalid/nothing"\n')
    offline = dataclasses.replace(shop, environ={**shop.environ, "GOPROXY": "off"})

    with pytest.raises(errors.ToolError, match=r"example\.invalid/nothing"):
        await install.ensure(["tiny"], shop=offline)


async def test_a_binary_of_another_version_does_not_get_into_the_cache(shop: workshop.Workshop) -> None:
    main = shop.lab / "pins/tiny/main.go"
    main.write_text(main.read_text().replace('"tiny v" + version', '"tiny v9.9.9"'))

    with pytest.raises(errors.ToolError, match=r"says that it is 9\.9\.9"):
        await install.ensure(["tiny"], shop=shop)

    assert list(shop.cache.entries("tiny")) == []


async def test_the_users_settings_of_go_do_not_leak_in(shop: workshop.Workshop) -> None:
    leaky = {
        **shop.environ, "GOFLAGS": "-mod=vendor -tags=nonsense", "GOWORK": "/nowhere/go.work", "GOAMD64": "v9",
        "GOEXPERIMENT": "nonsense", "CGO_ENABLED": "1", "GOTOOLCHAIN": "go9.99",
    }  # fmt: skip

    await install.ensure(["tiny"], shop=dataclasses.replace(shop, environ=leaky))


async def test_only_what_reaches_the_network_is_taken_over(shop: workshop.Workshop) -> None:
    given = {"GOPROXY": "https://proxy.example", "https_proxy": "http://p:1", "SSL_CERT_FILE": "/c", "TOKEN": "secret"}

    seen = go_toolchain.environment(dataclasses.replace(shop, environ={**shop.environ, **given}))

    assert {name: seen.get(name) for name in given} == {**given, "TOKEN": None}


async def test_nothing_is_written_into_the_pin(shop: workshop.Workshop) -> None:
    pin = shop.lab / "pins/tiny"
    before = {path: path.stat().st_mtime_ns for path in pin.rglob("*")}
    for path in (*before, pin):
        path.chmod(0o555 if path.is_dir() else 0o444)

    await install.ensure(["tiny"], shop=shop)

    assert {path: path.stat().st_mtime_ns for path in pin.rglob("*")} == before
    for path in (pin, *before):
        path.chmod(0o755 if path.is_dir() else 0o644)


async def test_what_was_read_is_built_even_if_somebody_saves_in_between(
    shop: workshop.Workshop, go: Path, tmp_path: Path
) -> None:
    """Else the key of one content would name the binary of another."""
    main = shop.lab / "pins/tiny/main.go"
    original = main.read_text()
    editor = tmp_path / "go-and-editor"
    editor.write_text(f'#!/bin/sh\n[ "$1" = list ] && echo "package broken" > {main}\nexec {go} "$@"\n')
    editor.chmod(0o755)
    edited = dataclasses.replace(shop, environ={**shop.environ, "FIRSTLIGHT_GO": str(editor)})

    made = await install.ensure(["tiny"], shop=edited)

    assert main.read_text() == "package broken\n"
    main.write_text(original)
    assert await install.ensure(["tiny"], shop=shop) == made


async def test_a_truncated_binary_is_noticed_and_made_anew(shop: workshop.Workshop) -> None:
    path = (await install.ensure(["tiny"], shop=shop))["tiny"]
    os.truncate(path, 1000)
    heard: list[tool_progress.ToolEvent] = []

    again = await install.ensure(["tiny"], heard.append, shop=shop)

    assert (await command.run([str(again["tiny"])])).stderr.strip() == "tiny v1.2.3"
    assert any(isinstance(event, tool_progress.CandidateSkipped) and "damaged" in event.why for event in heard)


async def test_a_given_go_that_is_too_old_is_said(shop: workshop.Workshop, go: Path, tmp_path: Path) -> None:
    old = go_that(tmp_path, go, log=tmp_path / "log", version="1.20.3")
    given = dataclasses.replace(shop, environ={**shop.environ, "FIRSTLIGHT_GO": str(old)})

    with pytest.raises(errors.ToolError, match=r"FIRSTLIGHT_GO is .*, but it is Go 1\.20\.3, and tiny needs Go 1\.21"):
        await install.ensure(["tiny"], shop=given)


async def test_the_go_on_path_is_taken_if_it_is_new_enough(shop: workshop.Workshop, go: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    go_that(tmp_path / "bin", go, log=tmp_path / "log").rename(tmp_path / "bin/go")
    environ = {**shop.environ, "PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    del environ["FIRSTLIGHT_GO"]

    found = await go_toolchain.obtain(
        tool_version.parse("1.21"), dataclasses.replace(shop, environ=environ), name="tiny", report=tool_progress.ignore
    )

    assert found.go == tmp_path / "bin/go"


async def test_two_tools_come_in_the_order_asked_for(shop: workshop.Workshop, tmp_path: Path) -> None:
    twin = tiny.program(tmp_path / "bin/twin", "twin", "1.3.0")
    path = f"{tmp_path}/bin:{shop.environ['PATH']}"
    both = dataclasses.replace(shop, environ={**shop.environ, "PATH": path})

    paths = await install.ensure(["twin", "tiny", "twin"], shop=both)

    assert list(paths) == ["twin", "tiny"]
    assert paths["twin"] == twin


async def test_a_cache_that_cannot_be_written_is_said(shop: workshop.Workshop, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    nowhere = dataclasses.replace(shop, cache=binary_cache.BinaryCache(tmp_path / "file" / "cache"))

    with pytest.raises(errors.ToolError, match="could not be installed in") as caught:
        await install.ensure(["tiny"], shop=nowhere)

    assert "FIRSTLIGHT_CACHE" in caught.value.hint

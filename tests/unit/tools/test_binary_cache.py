import asyncio
import os
import time
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.tools import binary_cache, workshop


def nobody(holder: str) -> None:
    pytest.fail(f"waited for {holder}")


async def put(
    store: binary_cache.BinaryCache, *, key: str = "k", recipe: str = "r", content: bytes = b"content"
) -> binary_cache.CachedBinary:
    async with store.locked("tiny", on_wait=nobody):
        with store.stage("tiny") as stage:
            binary = stage / "tiny"
            binary.write_bytes(content)
            return store.publish(
                binary,
                binary_cache.describe(
                    binary, name="tiny", version="1", recipe=recipe, key=key, how="build", origin="here", go="1.26",
                    system="linux", machine="amd64", seconds=1,
                ),
            )  # fmt: skip


def test_the_place_of_the_cache() -> None:
    assert binary_cache.locate({"FIRSTLIGHT_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}).root == Path("/a")
    assert binary_cache.locate({"XDG_CACHE_HOME": "/b", "HOME": "/c"}).root == Path("/b/firstlight")
    assert binary_cache.locate({"XDG_CACHE_HOME": "relative", "HOME": "/c"}).root == Path("/c/.cache/firstlight")
    assert binary_cache.locate({"HOME": "/c"}).root == Path("/c/.cache/firstlight")


async def test_what_was_published_is_found_by_its_recipe_and_no_other(tmp_path: Path) -> None:
    store = binary_cache.BinaryCache(tmp_path)
    entry = await put(store)

    assert store.look_up("tiny", {"r"}) == (entry, ())
    assert store.look_up("tiny", {"other"}) == (None, ())
    assert entry.path == tmp_path / "bin/tiny/1-k/tiny"
    assert os.access(entry.path, os.X_OK)


async def test_nothing_is_left_in_the_staging_directory(tmp_path: Path) -> None:
    store = binary_cache.BinaryCache(tmp_path)

    await put(store)
    await put(store, content=b"again")

    assert list((tmp_path / "tmp").iterdir()) == []
    assert [e.path.read_bytes() for e in store.entries("tiny") if isinstance(e, binary_cache.CachedBinary)] == [
        b"again"
    ]


@pytest.mark.parametrize("damage", ["truncate", "remove", "provenance", "mode"])
async def test_damage_is_noticed_at_every_use(tmp_path: Path, damage: str) -> None:
    store = binary_cache.BinaryCache(tmp_path)
    entry = await put(store)

    match damage:
        case "truncate":
            os.truncate(entry.path, 3)
        case "remove":
            entry.path.unlink()
        case "provenance":
            entry.path.with_name(binary_cache.PROVENANCE).write_text("{")
        case "mode":
            entry.path.chmod(0o644)
    found, damaged = store.look_up("tiny", {"r"})

    assert found is None
    assert [ruin.path for ruin in damaged] == [entry.path.parent]


async def test_changed_content_of_the_same_size_is_noticed_by_verify(tmp_path: Path) -> None:
    store = binary_cache.BinaryCache(tmp_path)
    entry = await put(store)
    assert binary_cache.verify(entry) is None

    entry.path.write_bytes(b"CONTENT")

    assert store.look_up("tiny", {"r"})[0] == entry
    assert binary_cache.verify(entry) is not None


async def test_what_a_killed_process_left_is_swept_for_this_name_only(tmp_path: Path) -> None:
    store = binary_cache.BinaryCache(tmp_path)
    mine, other = tmp_path / "tmp/tiny@dead", tmp_path / "tmp/tinybig@alive"
    for directory in (mine, other):
        directory.mkdir(parents=True)
        (directory / "half").write_bytes(b"half")

    async with store.locked("tiny", on_wait=nobody):
        pass

    assert not mine.exists()
    assert other.exists()


async def test_the_second_waits_and_is_told_for_whom(tmp_path: Path) -> None:
    store = binary_cache.BinaryCache(tmp_path)
    told = asyncio.Event()
    holders: list[str] = []
    order: list[str] = []

    def tell(holder: str) -> None:
        holders.append(holder)
        told.set()

    async def second() -> None:
        async with store.locked("tiny", on_wait=tell):
            order.append("second")

    async with asyncio.timeout(30), asyncio.TaskGroup() as group, store.locked("tiny", on_wait=nobody):
        group.create_task(second())
        await told.wait()
        order.append("first")

    assert order == ["first", "second"]
    assert holders == [f"process {os.getpid()}, which installs tiny"]


async def test_what_nobody_used_for_a_month_goes_with_the_next_installation(tmp_path: Path) -> None:
    store = binary_cache.BinaryCache(tmp_path)
    old, recent = await put(store, key="old"), await put(store, key="recent")
    long_ago = time.time() - 31 * 86400
    os.utime(old.path.with_name(binary_cache.PROVENANCE), (long_ago, long_ago))

    new = await put(store, key="new")

    assert {e.path for e in store.entries("tiny") if isinstance(e, binary_cache.CachedBinary)} == {
        recent.path,
        new.path,
    }


async def test_a_use_keeps_a_binary(tmp_path: Path) -> None:
    store = binary_cache.BinaryCache(tmp_path)
    old = await put(store, key="old", recipe="old")
    long_ago = time.time() - 31 * 86400
    os.utime(old.path.with_name(binary_cache.PROVENANCE), (long_ago, long_ago))

    store.look_up("tiny", {"old"})
    await put(store, key="new")

    assert old.path.exists()


def test_an_unknown_way_is_a_usage_error() -> None:
    with pytest.raises(errors.UsageError, match="'teleport'"):
        workshop.here({"FIRSTLIGHT_ACQUIRE": "build,teleport", "HOME": "/nowhere"})


def test_ways_are_tried_in_the_order_given() -> None:
    assert workshop.here({"HOME": "/nowhere"}).ways == ("download", "build")
    assert workshop.here({"FIRSTLIGHT_ACQUIRE": "build, download", "HOME": "/nowhere"}).ways == ("build", "download")

"""What is kept of renderings, and what must not be."""

import os
from pathlib import Path
from typing import Any

import pytest

from firstlight.model import rendition
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.rendition import Object, VersionPin
from firstlight.render import cache_files
from firstlight.render.render_cache import RenderCache
from firstlight.render.render_questions import RecordedAnswer
from firstlight.render.rendered_objects import RawObjects

CONFIG = Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"n": "1", "f": 1.0}})
ANSWERS = (RecordedAnswer("file", ("a.yaml",), "aa"), RecordedAnswer("stored", ("oci", "oci://x", "", "1", ""), "bb"))
PINS = (VersionPin(source="oci://x 1", version="1.0.0", digest="sha256:00"),)


def secret(**fields: Any) -> Object:
    return Object({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields})


class TestKeeping:
    def test_what_is_kept_comes_back_whole(self, tmp_path: Path) -> None:
        diagnostic = Diagnostic.warning("?", "hm", at=Place("a.yaml", 3, 1), fix="do it")
        raw = RawObjects((CONFIG,), (diagnostic,), "apps", "release", (ObjectId("g", "K", "", "n"),))
        assert RenderCache(tmp_path / "c").keep("k", raw, ANSWERS, PINS)
        entry = RenderCache(tmp_path / "c").find("k")

        assert entry is not None
        assert entry.raw == raw
        assert entry.answers == ANSWERS
        assert entry.pins == PINS

    def test_what_is_not_whole_is_not_kept_and_replaces_what_was(self, tmp_path: Path) -> None:
        store = RenderCache(tmp_path)
        store.keep("k", RawObjects((CONFIG,)), ANSWERS, ())
        broken = RawObjects((CONFIG,), (Diagnostic.error("?", "no", at=Place("a")),))

        assert not store.keep("k", broken, ANSWERS, ())
        assert store.find("k") is None

    @pytest.mark.parametrize(
        "url",
        [
            "https://me:hunter2@charts.example.org", "https://hunter2@git.example.org/a", "ssh://me:hunter2@example.org",
            "oci://me:hunter2@ghcr.io/a", "http://:hunter2@example.org", "postgres://me:hunter2@db/shop",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("place", ["object", "answer", "pin", "diagnostic"])
    def test_no_password_of_a_url_is_written(self, tmp_path: Path, url: str, place: str) -> None:
        value = {**CONFIG.value, "data": {"url": f"see {url}/x"}} if place == "object" else CONFIG.value
        answers = (RecordedAnswer("stored", ("repository", url, "a", "1", ""), "bb"),) if place == "answer" else ANSWERS
        pins = (VersionPin(source=f"{url} 1", version="1", digest="sha256:00"),) if place == "pin" else PINS
        diagnostics = (Diagnostic.warning("?", f"{url} is slow", at=Place("a.yaml")),) if place == "diagnostic" else ()
        store = RenderCache(tmp_path)
        store.keep("k", RawObjects((CONFIG,)), ANSWERS, PINS)

        assert not store.keep("k", RawObjects((Object(value),), diagnostics), answers, pins)

        assert not [each for each in tmp_path.rglob("*") if each.is_file() and b"hunter2" in each.read_bytes()]
        assert store.find("k") is None

    @pytest.mark.parametrize(
        "text", ["ssh://git@github.com/me/home", "git@github.com:me/home", "https://a.b/c@v1", "ann@example.org"]
    )
    def test_an_account_is_not_a_password(self, tmp_path: Path, text: str) -> None:
        value = {**CONFIG.value, "data": {"url": text, "other": "https://example.org", "mail": "ann@example.org"}}

        assert RenderCache(tmp_path).keep("k", RawObjects((Object(value),)), ANSWERS, PINS)

    def test_without_a_home_nothing_is_kept(self) -> None:
        assert not RenderCache(None).keep("k", RawObjects((CONFIG,)), ANSWERS, ())
        assert RenderCache(None).find("k") is None

    @pytest.mark.parametrize("content", [b"", b"{", b'{"answers": 1}', b"[]"])
    def test_damaged_entries_are_none(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "k.json").write_bytes(content)
        assert RenderCache(tmp_path).find("k") is None

    def test_it_is_for_the_user_alone(self, tmp_path: Path) -> None:
        RenderCache(tmp_path / "c").keep("k", RawObjects((CONFIG,)), ANSWERS, ())
        assert (tmp_path / "c" / "k.json").stat().st_mode & 0o077 == 0
        assert (tmp_path / "c").stat().st_mode & 0o077 == 0


class TestSecrets:
    @pytest.mark.parametrize(
        "obj",
        [
            secret(data={"a": "c2VjcmV0"}),
            secret(stringData={"a": "secret"}),
            secret(data={"a": ""}, stringData={"b": "x"}),
            secret(stringData={"a": "plain", "b": "ENC[x]"}, sops={"mac": "y"}),
            secret(stringData={"a": "ENC[not by sops]"}),
        ],
    )  # fmt: skip
    def test_readable_ones_are_not_kept(self, tmp_path: Path, obj: Object) -> None:
        assert rendition.has_secrets(obj)
        assert not RenderCache(tmp_path).keep("k", RawObjects((CONFIG, obj)), (), ())
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "obj",
        [
            CONFIG,
            secret(),
            secret(data=None),
            secret(data={"a": ""}),
            secret(stringData={"a": "ENC[x]"}, sops={"mac": "y"}),
            Object({"apiVersion": "example.org/v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "b"}}),
        ],
    )  # fmt: skip
    def test_others_are(self, obj: Object) -> None:
        assert not rendition.has_secrets(obj)


class TestFiles:
    def test_writing_leaves_nothing_behind_and_replaces(self, tmp_path: Path) -> None:
        place = tmp_path / "a" / "b"
        cache_files.write_kept(place, b"one")
        cache_files.write_kept(place, b"two", durable=True)
        assert cache_files.read_kept(place) == b"two"
        assert [each.name for each in place.parent.iterdir()] == ["b"]

    def test_a_failure_leaves_the_old_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        place = tmp_path / "b"
        cache_files.write_kept(place, b"one")

        def replace(*_: object) -> None:
            raise OSError("no space left")

        monkeypatch.setattr("firstlight.render.cache_files.os.replace", replace)
        with pytest.raises(OSError, match="no space"):
            cache_files.write_kept(place, b"two")
        assert cache_files.read_kept(place) == b"one"
        assert [each.name for each in tmp_path.iterdir()] == ["b"]

    def test_what_nobody_used_for_long_goes(self, tmp_path: Path) -> None:
        cache_files.write_kept(tmp_path / "old", b"1")
        cache_files.write_kept(tmp_path / "new", b"1")
        long_ago = (tmp_path / "old").stat().st_mtime - 40 * 86400
        os.utime(tmp_path / "old", (long_ago, long_ago))
        assert cache_files.forget_unused(tmp_path) == 1
        assert [each.name for each in tmp_path.iterdir()] == ["new"]

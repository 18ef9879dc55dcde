"""What is kept in ConfigMaps, as far as no API is needed for it."""

import gzip
import hashlib

import pytest

from firstlight.execute import durable_store
from firstlight.execute.durable_store import StoredContent


def stowed(content: bytes, *, digest: str = "") -> StoredContent:
    """As it was read."""

    packed = durable_store.packed(content)
    return StoredContent(cluster="u", digest=digest or hashlib.sha256(packed).hexdigest(), packed=packed)


def test_the_same_content_is_packed_alike() -> None:
    assert durable_store.packed(b"a" * 1000) == durable_store.packed(b"a" * 1000)
    assert stowed(b"hello").content() == b"hello"
    assert stowed(b"hello").is_whole


def test_what_was_changed_or_is_missing_a_part_is_not_whole() -> None:
    assert not stowed(b"hello", digest="0" * 64).is_whole
    whole = stowed(b"hello")
    assert not StoredContent(cluster="u", digest=whole.digest, packed=whole.packed[:-3]).is_whole


def test_what_is_not_packed_is_no_content() -> None:
    with pytest.raises(ValueError, match="header"):
        StoredContent(cluster="u", digest="", packed=b"hello").content()


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_store, "LARGEST", 1 << 20)
    bomb = gzip.compress(b"\0" * (4 << 20))
    with pytest.raises(ValueError, match="more than 1 MiB"):
        StoredContent(cluster="u", digest="", packed=bomb).content()

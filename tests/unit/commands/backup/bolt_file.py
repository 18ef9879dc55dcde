"""A small database of etcd, as bbolt lays it out: two meta pages, a root, and one leaf or two below a branch."""

import hashlib
import struct
from collections.abc import Sequence

PAGE = 4096
Entry = tuple[int, bytes, bytes | None]
"""Revision, key, and value; None where it is deleted."""


def snapshot(entries: Sequence[Entry], *, branches: bool = False) -> bytes:
    """A snapshot of etcd: the database, and its digest at the end."""
    content = database(entries, branches=branches)
    return content + hashlib.sha256(content).digest()


def database(entries: Sequence[Entry], *, branches: bool = False) -> bytes:
    """The database alone."""
    pairs = [(_revision(number, value is None), _message(key, value or b"")) for number, key, value in entries]
    half = len(pairs) // 2
    pages = [_meta(1), _meta(2), _page(2, 0x10, b"", 0)]
    if branches:
        pages += [
            _root(6),
            _leaf(4, pairs[:half]),
            _leaf(5, pairs[half:]),
            _branch(6, [(pairs[0][0], 4), (pairs[half][0], 5)]),
        ]
    else:
        pages += [_root(4), _leaf(4, pairs)]
    return b"".join(pages)


def ladder(steps: int, times: int) -> bytes:
    """A database whose branches name the next one many times."""
    key = _revision(1, False)
    pages = [_branch(4 + each, [(b"", 5 + each)] * times) for each in range(steps)]
    leaf = _leaf(4 + steps, [(key, _message(b"/a", b"one"))])
    return b"".join([_meta(1), _meta(2), _page(2, 0x10, b"", 0), _root(4), *pages, leaf])


def overlapping(times: int) -> bytes:
    """A database with a leaf whose entries all have the same bytes, as many as there are."""
    key, size = _revision(1, False), 3000
    elements = b"".join(
        struct.pack("<IIII", 0, (times - index) * 16, len(key), min(size, PAGE - 16 - times * 16 - len(key)))
        for index in range(times)
    )
    leaf = _page(4, 0x02, elements + key + _message(b"/a", b"one"), times)
    return b"".join([_meta(1), _meta(2), _page(2, 0x10, b"", 0), _root(4), leaf])


def endless(size: int) -> bytes:
    """A database with an entry that is one number, so many bytes long."""
    leaf = _leaf(4, [(_revision(1, False), b"\x80" * size + b"\x01")])
    return b"".join([_meta(1), _meta(2), _page(2, 0x10, b"", 0), _root(4), leaf])


def _revision(number: int, is_gone: bool) -> bytes:
    return struct.pack(">Q", number) + b"_" + struct.pack(">Q", 0) + (b"t" if is_gone else b"")


def _message(key: bytes, value: bytes) -> bytes:
    found = b"\x0a" + bytes([len(key)]) + key + b"\x10\x02\x18\x03\x20\x01"
    size = len(value)
    return found + b"\x2a" + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + value


def _meta(transaction: int) -> bytes:
    fields = struct.pack("<IIIIQQQQQ", 0xED0CDAED, 2, PAGE, 0, 3, 0, 2, 7, transaction)
    return _page(transaction - 1, 0x04, fields + struct.pack("<Q", _fnv(fields)), 0)


def _root(bucket: int) -> bytes:
    return _leaf(3, [(b"key", struct.pack("<QQ", bucket, 0))], flags=1)


def _leaf(number: int, pairs: Sequence[tuple[bytes, bytes]], *, flags: int = 0) -> bytes:
    elements, data = b"", b""
    for index, (key, value) in enumerate(pairs):
        offset = (len(pairs) - index) * 16 + len(data)
        elements += struct.pack("<IIII", flags, offset, len(key), len(value))
        data += key + value
    return _page(number, 0x02, elements + data, len(pairs))


def _branch(number: int, children: Sequence[tuple[bytes, int]]) -> bytes:
    elements, data = b"", b""
    for index, (key, child) in enumerate(children):
        elements += struct.pack("<IIQ", (len(children) - index) * 16 + len(data), len(key), child)
        data += key
    return _page(number, 0x01, elements + data, len(children))


def _page(number: int, flags: int, content: bytes, count: int) -> bytes:
    whole = struct.pack("<QHHI", number, flags, count, 0) + content
    assert len(whole) <= PAGE
    return whole.ljust(PAGE, b"\0")


def _fnv(content: bytes) -> int:
    found = 14695981039346656037
    for byte in content:
        found = (found ^ byte) * 1099511628211 % (1 << 64)
    return found

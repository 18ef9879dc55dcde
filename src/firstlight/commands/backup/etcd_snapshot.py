"""A snapshot of etcd, taken through Talos from a member that is well, and read as etcd itself would find its keys.

It holds every Secret, so that it is encrypted: see ``encryption``. A snapshot is a file of bbolt with its SHA-256 at
the end. etcd keeps every revision of every key in the bucket ``key``, in the order of revisions, so that the last one
of a key is what it holds now.
"""

import dataclasses
import gzip
import hashlib
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from firstlight import errors
from firstlight.commands.backup import backup_manifest, encryption
from firstlight.commands.backup.encryption import BackupEncryption
from firstlight.execute import cluster_access, durable_store, gate_wait
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import etcd
from firstlight.model import machine as model_machine
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.secret import Secret
from firstlight.observe import machine_survey
from firstlight.render import private_directory

ID = "etcd:snapshot"
SUFFIX = ".snapshot.gz.sops"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TakenSnapshot:
    """A snapshot, and whose it is."""

    machine: Machine
    snapshot: model_machine.EtcdSnapshot


async def refusal(cluster: Cluster, world: World, *, root: Path, without: str) -> Diagnostic | None:
    """Why no snapshot could be kept; None where one can.

    Args:
        cluster: Of which cluster.
        world: Its programs.
        root: The repo.
        without: How to go on without one: ``--no-snapshot``.
    """
    found = await encryption.encryption_refusal(cluster, world.programs, root=root)
    if found is None:
        return None
    fix = f"{found.fix} Or go on without one: {without}".strip()
    return dataclasses.replace(found, message=f"a snapshot of etcd: {found.message}", fix=fix)


def stage(cluster: Cluster, *, root: Path, now: float) -> WalkStage:
    """A snapshot, taken from a member that is well, and kept beside the journal."""

    async def look(world: World) -> PendingChange | None:
        path = place(world.state, cluster.name, now)
        return PendingChange(
            writes=(f"keep a snapshot of etcd: {path.name}",), perform=lambda: _keep(path, cluster, world, root)
        )

    return WalkStage(id=ID, name="snapshot of etcd", look=look)


def place(state: Path, cluster: str, now: float) -> Path:
    """Where the snapshot of a moment is kept."""
    return state / cluster / "etcd" / f"{backup_manifest.stamp(now)}{SUFFIX}"


async def take(world: World, into: Path) -> TakenSnapshot:
    """Take one, in the clear, into a private place.

    Raises:
        errors.Refused: No member is well.
        errors.ClientError: The machine does not give it.
    """
    way = await cluster_access.ensure(world)
    reports = await machine_survey.look_at_all(gate_wait.control_planes(world), way, with_etcd=True)
    well = [each.machine for each in reports if etcd.is_well(each)]
    if not well:
        raise errors.Refused(
            f"no member of etcd of {world.cluster.name} is well: no snapshot can be taken",
            hint=f"What is wrong: firstlight doctor {world.cluster.name}",
        )
    return TakenSnapshot(machine=well[0], snapshot=await way.admin.etcd_snapshot(way.at(well[0]), into))


async def seal(snapshot: Path, into: Path, by: BackupEncryption) -> None:
    """Pack a snapshot and encrypt it."""
    packed = Secret(gzip.compress(snapshot.read_bytes(), compresslevel=6))
    await by.encrypt(packed, into, about="the snapshot of etcd")


async def _keep(path: Path, cluster: Cluster, world: World, root: Path) -> None:
    by = encryption.encryption_of(cluster, world.programs, root=root)
    with private_directory.create("etcd") as home:
        taken = (await take(world, home / "snapshot")).snapshot
        await seal(taken.path, home / "encrypted", by)
        durable_store.write_beside_journal((home / "encrypted").read_bytes(), path)
    world.tell(ID, f"{taken.keys} keys at revision {taken.revision}: sops decrypt {path} | gunzip > etcd.snapshot")


_BLOCK = 512
_SUM = hashlib.sha256().digest_size
_MAGIC = 0xED0CDAED
_META = struct.Struct("<IIIIQQQQQQ")
"""Magic, version, page size, flags, root page, its sequence, free list, pages, transaction, checksum."""
_PAGE = struct.Struct("<QHHI")
"""Its number, flags, how many elements, pages that overflow."""
_BRANCH, _LEAF = struct.Struct("<IIQ"), struct.Struct("<IIII")
_IS_BRANCH, _IS_LEAF, _IS_BUCKET = 0x01, 0x02, 0x01
_DEPTH = 64
"""Pages on the way to a key; a file that is damaged may lead in a circle."""
_REVISION = struct.Struct(">Q")
_SHIFT = 63
"""Bits of a number of protobuf; a longer one is made to be slow."""


@dataclass(frozen=True)
class EtcdContent:
    """What etcd holds."""

    revision: int
    keys: dict[bytes, bytes] = field(repr=False)
    """Every key that is there, with the digest of its last revision."""


@dataclass
class _Walk:
    """What was read so far: a real database has every page on one way only, and no two entries in one place.

    Else a few pages would stand for more keys than can be counted.
    """

    left: int
    """Bytes that entries may still have: all together they have less than the file."""
    seen: set[int] = field(default_factory=set)
    """Pages, by number."""


class DamagedDatabase(ValueError):
    """It is no database of etcd, or not a whole one."""


def check_sum(path: Path) -> None:
    """See that a snapshot is what etcd wrote, by the digest at its end.

    Raises:
        Damaged: It is not.
    """
    size = path.stat().st_size
    if size % _BLOCK != _SUM:
        raise DamagedDatabase(f"it has no checksum at its end ({size} bytes)")
    found = hashlib.sha256()
    with path.open("rb") as file:
        left = size - _SUM
        while left and (chunk := file.read(min(left, 1 << 20))):
            found.update(chunk)
            left -= len(chunk)
        if file.read() != found.digest():
            raise DamagedDatabase("its checksum is another one: it was changed after etcd wrote it")


def read(path: Path, *, until: int | None = None) -> EtcdContent:
    """What etcd holds in a file.

    Args:
        path: A snapshot, or a member's ``db``.
        until: The last revision that counts; all if it is not given.

    Raises:
        Damaged: It cannot be read.
    """
    with path.open("rb") as file:
        if not path.stat().st_size:
            raise DamagedDatabase("it is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _store(data, until)
            except (struct.error, IndexError) as error:
                raise DamagedDatabase(f"it is no whole database of etcd: {error}") from None


def value_of(path: Path, key: bytes) -> bytes:
    """The last value of a key; empty if it is not there.

    Raises:
        Damaged: It cannot be read.
    """
    found = b""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            for _, name, value in _revisions(data):
                if name == key:
                    found = value or b""
        except (struct.error, IndexError) as error:
            raise DamagedDatabase(f"it is no whole database of etcd: {error}") from None
    return found


def _store(data: mmap.mmap, until: int | None) -> EtcdContent:
    keys: dict[bytes, bytes] = {}
    revision = 0
    for main, key, value in _revisions(data):
        if until is not None and main > until:
            break
        revision = main
        if value is None:
            keys.pop(key, None)
        else:
            keys[key] = hashlib.blake2b(value, digest_size=16).digest()
    return EtcdContent(revision, keys)


def _revisions(data: mmap.mmap) -> Iterator[tuple[int, bytes, bytes | None]]:
    """The main revision, the key and what it held then, in their order; None where it was deleted."""
    found = dict(_buckets(data)).get(b"key")
    if found is None:
        raise DamagedDatabase("it has no keys of etcd")
    for _, revision, entry in found:
        is_gone = len(revision) == 18 and revision[17:] == b"t"
        fields = _fields(entry)
        yield _REVISION.unpack_from(revision)[0], fields.get(1, b""), None if is_gone else fields.get(5, b"")


def _buckets(data: mmap.mmap) -> Iterator[tuple[bytes, Iterator[tuple[int, bytes, bytes]]]]:
    """The names of buckets, and what is in each."""
    size, root = _meta(data)
    walk = _Walk(left=len(data))
    for flags, name, value in _elements(data, size, root, walk):
        if flags & _IS_BUCKET:
            (page,) = struct.unpack_from("<Q", value)
            yield name, _elements(data, size, page, walk) if page else _inline(value[16:], walk)


def _meta(data: mmap.mmap) -> tuple[int, int]:
    """The page size, and the page of the root bucket, by the newer of the two meta pages that is whole."""
    found = []
    for start in (0, *(1 << power for power in range(10, 17))):
        if len(data) < start + _PAGE.size + _META.size:
            break
        meta = _META.unpack_from(data, start + _PAGE.size)
        is_whole = meta[0] == _MAGIC and _fnv(data[start + _PAGE.size : start + _PAGE.size + 56]) == meta[9]
        if is_whole and start in (0, meta[2]):
            found.append((meta[8], meta[2], meta[4]))
    if not found:
        raise DamagedDatabase("it is no database of etcd")
    _, size, root = max(found)
    return size, root


def _elements(
    data: mmap.mmap, size: int, page: int, walk: _Walk, depth: int = 0
) -> Iterator[tuple[int, bytes, bytes]]:  # fmt: skip
    if depth > _DEPTH or page in walk.seen:
        raise DamagedDatabase("its pages lead in a circle")
    walk.seen.add(page)
    start = page * size
    _, flags, count, _ = _PAGE.unpack_from(data, start)
    if flags & _IS_BRANCH:
        for index in range(count):
            _, _, child = _BRANCH.unpack_from(data, start + _PAGE.size + index * _BRANCH.size)
            yield from _elements(data, size, child, walk, depth + 1)
    elif flags & _IS_LEAF:
        yield from _leaf(data, start, count, walk)
    else:
        raise DamagedDatabase(f"its page {page} is of no known kind")


def _inline(content: bytes, walk: _Walk) -> Iterator[tuple[int, bytes, bytes]]:
    """A small bucket, which lies where its page would be named."""
    _, _, count, _ = _PAGE.unpack_from(content)
    yield from _leaf(content, 0, count, walk)


def _leaf(
    data: mmap.mmap | bytes, start: int, count: int, walk: _Walk
) -> Iterator[tuple[int, bytes, bytes]]:  # fmt: skip
    for index in range(count):
        at = start + _PAGE.size + index * _LEAF.size
        flags, offset, key, value = _LEAF.unpack_from(data, at)
        begin = at + offset
        if begin + key + value > len(data):
            raise DamagedDatabase("it ends too early")
        walk.left -= key + value
        if walk.left < 0:
            raise DamagedDatabase("its entries overlap")
        yield flags, data[begin : begin + key], data[begin + key : begin + key + value]


def _fields(entry: bytes) -> dict[int, bytes]:
    """The fields of bytes of a protobuf message: 1 is the key, 5 its value."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(entry):
        tag, at = _number(entry, at)
        if tag & 7 == 2:
            length, at = _number(entry, at)
            found[tag >> 3] = entry[at : at + length]
            at += length
        elif tag & 7 == 0:
            _, at = _number(entry, at)
        else:
            raise DamagedDatabase("one of its entries is no key of etcd")
    return found


def _number(entry: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = entry[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _SHIFT:
            raise DamagedDatabase("one of its entries has a number that is too long")


def _fnv(content: bytes) -> int:
    """FNV-1a of 64 bits, by which bbolt knows whether a meta page is whole."""
    found = 0xCBF29CE484222325
    for byte in content:
        found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return found

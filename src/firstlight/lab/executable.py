"""Which files the kernel executes besides a program itself: the loader that its ELF header names."""

import struct
from collections.abc import Iterable
from pathlib import Path

_PT_INTERP = 3


def interpreter(program: Path) -> Path | None:
    """The loader of a program that is linked dynamically; None for one that is not, and for what is not ELF."""
    with program.open("rb") as file:
        start = file.read(64)
        if start[:5] != b"\x7fELF\x02" or len(start) < 64:
            return None
        offset = struct.unpack_from("<Q", start, 32)[0]
        size, count = struct.unpack_from("<HH", start, 54)
        file.seek(offset)
        headers = file.read(size * count)
        for number in range(count):
            kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", headers, number * size)
            if kind == _PT_INTERP:
                file.seek(at)
                return Path(file.read(length).rstrip(b"\0").decode())
    return None


def with_interpreters(programs: Iterable[Path]) -> tuple[Path, ...]:
    """Programs, links followed, and their loaders, each once."""
    found: dict[Path, None] = {}
    for program in programs:
        real = program.resolve()
        found[real] = None
        if real.is_file() and (loader := interpreter(real)) is not None:
            found[loader.resolve()] = None
    return tuple(found)

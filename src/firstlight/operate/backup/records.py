"""What this computer knows of a cluster, packed: access, identity, certificates, overrides, journals of runs."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from firstlight import errors
from firstlight.journal import directory, reading
from firstlight.model.secret import Secret

_ELSEWHERE = frozenset({"backups", "etcd", "machine-configs"})
"""What is a backup itself."""
_LOCK = "lock"
_RUNS = "runs"
_BLOCK = 512
_MOST = 200_000
"""Files in it: journals of years."""
_HEADER = 64 << 10
"""Bytes of a long name and its like; tarfile reads them into memory."""
_EXTRAS = (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME)
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE)


def packed(state: Path, cluster: str) -> Secret:
    """A tar of the files of a cluster and of its runs; the kubeconfig among them opens it.

    Args:
        state: ``.firstlight`` of the repo.
        cluster: Its name.

    Raises:
        errors.FirstlightError: One of them cannot be read.
    """
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz", compresslevel=6) as archive:
        for path in files(state, cluster):
            try:
                archive.add(path, arcname=str(path.relative_to(state)), recursive=False)
            except OSError as error:
                raise errors.FirstlightError(f"{path} cannot be read: {error.strerror or error}") from error
    return Secret(content.getvalue())


def names(path: Path, cluster: str) -> tuple[str, ...]:
    """The files in a tar of records, unpacked but for itself; each is one that ``packed`` could have put there.

    Raises:
        errors.FirstlightError: It has something else: a link, a way out, a device, too many of them.
    """
    try:
        _refuse_strange(path)
        with tarfile.open(path, mode="r:") as archive:
            found = []
            for member in archive:
                parts = Path(member.name).parts
                is_inside = ".." not in parts and parts[:1] in ((cluster,), (_RUNS,)) and len(parts) > 1
                if not member.isfile() or member.issparse() or not is_inside:
                    raise errors.FirstlightError(f"they have {member.name[:200]!r}, which is not a record")
                found.append(member.name)
    except (tarfile.TarError, OSError, ValueError) as error:
        raise errors.FirstlightError(f"they cannot be unpacked: {error}") from error
    return tuple(found)


def _refuse_strange(path: Path) -> None:
    """Look at the bare headers first: tarfile follows what they say before anybody is asked."""
    size = path.stat().st_size
    count = at = 0
    with path.open("rb") as file:
        while at < size and (block := file.read(_BLOCK)).strip(b"\0"):
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            count += 1
            if header.type not in (*_FILES, *_EXTRAS):
                raise errors.FirstlightError(f"they have {header.name[:200]!r}, which is not a file")
            if count > 2 * _MOST:
                raise errors.FirstlightError(f"they have more than {_MOST} files")
            if header.type in _EXTRAS and header.size > _HEADER:
                raise errors.FirstlightError(f"they have a header of {header.size} bytes")
            at += _BLOCK + -(-header.size // _BLOCK) * _BLOCK
            if header.size < 0 or at > size:
                raise errors.FirstlightError("they end too early")
            file.seek(at)


def files(state: Path, cluster: str) -> Iterator[Path]:
    """What is packed; a link is passed over, since it may lead anywhere."""
    own = state / cluster
    directory.check(own)
    for path in sorted(own.rglob("*")) if not own.is_symlink() else ():
        within = path.relative_to(own)
        if within.parts[0] in _ELSEWHERE or within.name == _LOCK or path.is_symlink() or not path.is_file():
            continue
        if not any(each.is_symlink() for each in path.parents if own in each.parents):
            yield path
    for path in reading.paths(state):
        run = reading.brief(path)
        if run is not None and run.cluster == cluster and not path.is_symlink():
            yield path

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

"""A key for one drill: what a recovery keeps of etcd is encrypted, and a rehearsal has nobody's keys."""

import contextlib
import dataclasses
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from firstlight.clients.sops import CONFIG
from firstlight.operate.backup import sealing
from firstlight.operate.recover.fault import Ground
from firstlight.secrets import age

OPTIONS = ("etcd-quorum", "etcd-restore")
"""Those that keep what is left of etcd."""
_KEY = "SOPS_AGE_KEY"
_OTHERS = ("SOPS_AGE_KEY_FILE", "SOPS_AGE_KEY_CMD")


@contextlib.contextmanager
def sealed(ground: Ground, *, sops: Path) -> Iterator[Ground]:
    """A ground on which things are encrypted for a key that is forgotten afterwards.

    Args:
        ground: The lab, with a copy of the repo: a rule is written into it.
        sops: The program.
    """
    seed = secrets.token_bytes(32)
    config = sealing.rule_of(ground.cluster, ground.prepared.platform.root).parent / CONFIG
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"creation_rules:\n  - age: {age.recipient(seed)}\n")
    before = {name: os.environ.pop(name) for name in (_KEY, *_OTHERS) if name in os.environ}
    os.environ[_KEY] = age.identity(seed).reveal().decode()
    programs = dataclasses.replace(ground.means.programs, sops=sops)
    try:
        yield dataclasses.replace(ground, means=dataclasses.replace(ground.means, programs=programs))
    finally:
        del os.environ[_KEY]
        os.environ.update(before)

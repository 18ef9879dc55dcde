"""The kubeconfig and talosconfig that ``up`` has left: the one place where they are read.

They lie in the directory of a repo. So they are ours by the rules of ``journal.trust``, and nothing in them leads out
of the file: no file, program or proxy, no server in the clear.
"""

from pathlib import Path
from typing import Any

import yaml

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.talosctl import target
from firstlight.journal import directory
from firstlight.model.secret import Secret

_INLINE = ("target", "endpoints", "nodes", "ca", "crt", "key", "cluster")
_SCHEME = "https://"
_HINT = "Delete it: the next run, or firstlight recover CLUSTER --talosconfig, makes it again."


def kubeconfig(path: Path) -> kube.Config:
    """The way to a cluster's API.

    Raises:
        errors.Refused: It may be somebody else's work, or leads out of the file.
        errors.ConfigError: There is none, or it is wrong.
    """
    directory.check(path)
    return kube.load(path, is_kept=True)


def talosconfig(path: Path) -> Secret:
    """The way to a cluster's machines.

    Raises:
        errors.Refused: It may be somebody else's work, or leads out of the file.
        OSError: It cannot be read.
    """
    content = directory.read(path)
    try:
        value = yaml.load(content, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        # There are keys in it, so that the parser's message is not passed on.
        raise errors.Refused(f"{path} is not YAML", hint=_HINT) from None
    contexts = value.get("contexts") if isinstance(value, dict) else None
    for name, context in contexts.items() if isinstance(contexts, dict) else ():
        check_context(context, f"{path}: context {name}")
    return Secret(content)


def check_context(context: Any, what: str) -> None:
    """See that a context of a talosconfig has everything in itself, and its endpoints are machines.

    Raises:
        errors.Refused: It does not.
    """
    if not isinstance(context, dict):
        raise errors.Refused(f"{what} is not a mapping", hint=_HINT)
    strange = [str(key) for key, value in context.items() if key not in _INLINE and value not in (None, "", [], {})]
    if strange:
        raise errors.Refused(f"{what} has {strange[0]}, which firstlight does not keep", hint=_HINT)
    for key in ("endpoints", "nodes"):
        found = context.get(key) or []
        for each in found if isinstance(found, list) else [found]:
            if not isinstance(each, str) or not target.is_host(each.removeprefix(_SCHEME)):
                raise errors.Refused(f"{what}: {key} has {str(each)!r:.80}, which is not a host", hint=_HINT)

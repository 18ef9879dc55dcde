"""What a kubeconfig may say that lies where others could have put it: everything in the file itself, nothing elsewhere.

It names no file, whose content would be sent to the server as a token or a key; no program; no proxy; and no server
that is not known by its certificate.
"""

import urllib.parse
from pathlib import Path

from firstlight import errors
from firstlight.clients.kube import kubeconfig

_ALLOWED = {
    "cluster": ("server", "certificate-authority-data", "tls-server-name", "disable-compression", "extensions"),
    "user": ("client-certificate-data", "client-key-data", "token", "username", "password"),
    "context": ("cluster", "user", "namespace", "extensions"),
}
_HINT = "Delete it, and let firstlight make it again; or name your own: --kubeconfig FILE"


def check(path: Path) -> None:
    """See that a kubeconfig has everything in itself.

    Raises:
        errors.Refused: It names a file, a program, a proxy or a server that cannot be known.
        errors.ConfigError: It is not a kubeconfig.
    """
    document = kubeconfig.document(path)
    if document is None:
        return
    # Every entry, used or not: programs that are given the file may choose others, and read keys in other ways.
    for kind, allowed in _ALLOWED.items():
        for item in document.entries(f"{kind}s"):
            inside = item.entry(kind)
            for key in inside.keys if inside is not None else ():
                if key not in allowed:
                    what = _program(inside, key) if inside is not None else ""
                    raise errors.Refused(
                        f"{path}:{item.line}: the {kind} {item.text('name')} has {key}{what}, which is not allowed in "
                        "a kubeconfig that firstlight keeps",
                        hint=_HINT,
                    )
            if kind == "cluster" and inside is not None:
                _check_server(path, inside)


def _check_server(path: Path, cluster: kubeconfig.Entry) -> None:
    server = cluster.text("server")
    if server and urllib.parse.urlsplit(server).scheme != "https":
        raise errors.Refused(
            f"{path}:{cluster.line}: the server {server} is not an https:// address, and credentials would be sent in "
            "the clear",
            hint=_HINT,
        )


def _program(user: kubeconfig.Entry, key: str) -> str:
    plugin = user.entry("exec") if key == "exec" else None
    return f" (runs {plugin.text('command')})" if plugin is not None else ""

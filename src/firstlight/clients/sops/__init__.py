"""Files that sops encrypted: ``await Sops(path).decrypt(file)``. Failures are drawn in ``secret_errors``."""

from firstlight.clients.sops.sops import CONFIG, Sops

__all__ = ["CONFIG", "Sops"]

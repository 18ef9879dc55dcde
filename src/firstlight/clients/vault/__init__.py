"""HashiCorp's Vault, read only: ``await Vault(environ).read(reference)``. Failures are drawn in ``secret_errors``."""

from firstlight.clients.vault.vault import Vault

__all__ = ["Vault"]

"""1Password, by its command line (``Op``) or a server (``Connect``). Failures are drawn in ``secret_errors``."""

from firstlight.clients.onepassword.connect import Connect, is_set
from firstlight.clients.onepassword.op import Op

__all__ = ["Connect", "Op", "is_set"]

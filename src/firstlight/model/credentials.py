"""What is shown to a server of repositories or charts to be let in."""

import dataclasses

from firstlight.model.secret import Secret


@dataclasses.dataclass(frozen=True)
class Login:
    """A name and a password, or a token in its place."""

    username: str
    password: Secret


@dataclasses.dataclass(frozen=True)
class SshKey:
    """A private key without a passphrase, and the keys of the hosts that may be trusted."""

    key: Secret
    known_hosts: str
    """Lines of a known_hosts file; hosts that are not in it are not trusted."""


@dataclasses.dataclass(frozen=True)
class OwnSsh:
    """Whatever the user's own ssh does: their agent, keys, known hosts and config."""

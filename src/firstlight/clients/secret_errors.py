"""What those who keep secrets can answer instead of a value, as types: sops, 1Password and Vault have them in common.

    errors.ClientError
      SecretError               has provider and about
        SecretStoreUnreachable  nothing answers there; is errors.Unreachable, too
        SecretStoreTimedOut     it took too long; is errors.TimedOut, too
        SecretStoreUntrusted    the server's certificate does not verify
        SecretStoreNotSignedIn  nobody is signed in, or the token is not valid
        SecretForbidden         who is signed in may not read this
        SecretNotFound          there is no such vault, item, field, path or key
          SecretFileNotFound    there is no such file
        SecretNotUnique         more than one item has that name
        SecretEmpty             it is there, and has no value
        VaultSealed             Vault is sealed, or not initialised
        SecretUndecryptable     none of the keys that are here decrypts it; has the recipients
        SecretNotEncrypted      a file of sops: is plain
        SecretDamaged           it was changed after it was encrypted
        NoCreationRule          .sops.yaml does not say for whom such a file is encrypted
        SecretUnreadable        it answered in a form that is not known here

Programs and servers may repeat values in what they say. So nothing of it is in these messages but names that were
asked for, and what is known to be harmless.
"""

from collections.abc import Mapping

from firstlight import errors


class SecretError(errors.ClientError):
    """A secret cannot be had."""

    def __init__(self, provider: str, about: str, what: str, *, hint: str = "") -> None:
        super().__init__(f"{about}: {what}", target=provider, hint=hint or _HINTS.get(type(self), ""))
        self.provider = provider
        """``op``, ``1Password Connect``, ``sops``, ``Vault``, ``file`` or ``environment``."""
        self.about = about
        """The reference, or the file."""
        self.what = what
        """The message without what it is about."""


class SecretStoreUnreachable(SecretError, errors.Unreachable):
    """Nothing answers there."""


class SecretStoreTimedOut(SecretError, errors.TimedOut):
    """It took too long."""


class SecretStoreUntrusted(SecretError):
    """The server's certificate does not verify, so nothing was sent to it."""


class SecretStoreNotSignedIn(SecretError):
    """Nobody is signed in, or the token is not valid."""


class SecretForbidden(SecretError):
    """Who is signed in may not read this."""


class SecretNotFound(SecretError):
    """There is no such vault, item, field, path or key."""


class SecretFileNotFound(SecretNotFound):
    """There is no such file."""


class SecretNotUnique(SecretError):
    """More than one item has that name."""


class SecretEmpty(SecretError):
    """It is there, and has no value."""


class VaultSealed(SecretError):
    """Vault is sealed, or not initialised."""


class SecretUndecryptable(SecretError):
    """None of the keys that are here decrypts it."""


class SecretNotEncrypted(SecretError):
    """A file that sops is to decrypt is plain."""


class SecretDamaged(SecretError):
    """It was changed after it was encrypted."""


class NoCreationRule(SecretError):
    """Nothing says for whom such a file is encrypted."""


class SecretUnreadable(SecretError):
    """It answered in a form that is not known here."""


_HINTS: Mapping[type[SecretError], str] = {
    SecretNotUnique: "name the item by its id, or rename one of them",
    SecretEmpty: "give it a value where it is kept",
    SecretDamaged: "take the last version from Git that decrypts, and change it with sops edit",
    SecretStoreTimedOut: "try again; does it wait for somebody to confirm?",
}

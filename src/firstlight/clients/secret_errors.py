"""What those who keep secrets can answer instead of a value, as types: sops, 1Password and Vault have them in common.

    errors.ClientError
      SecretError           has provider and about
        Unreachable         nothing answers there; is errors.Unreachable, too
        TimedOut            it took too long; is errors.TimedOut, too
        Untrusted           the server's certificate does not verify
        NotSignedIn         nobody is signed in, or the token is not valid
        Forbidden           who is signed in may not read this
        NotFound            there is no such vault, item, field, path or key
          NoSuchFile        there is no such file
        Several             more than one item has that name
        Empty               it is there, and has no value
        Sealed              Vault is sealed, or not initialised
        Undecryptable       none of the keys that are here decrypts it; has the recipients
        NotEncrypted        a file of sops: is plain
        Damaged             it was changed after it was encrypted
        NoRule              .sops.yaml does not say for whom such a file is encrypted
        Unreadable          it answered in a form that is not known here

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


class Unreachable(SecretError, errors.Unreachable):
    """Nothing answers there."""


class TimedOut(SecretError, errors.TimedOut):
    """It took too long."""


class Untrusted(SecretError):
    """The server's certificate does not verify, so nothing was sent to it."""


class NotSignedIn(SecretError):
    """Nobody is signed in, or the token is not valid."""


class Forbidden(SecretError):
    """Who is signed in may not read this."""


class NotFound(SecretError):
    """There is no such vault, item, field, path or key."""


class NoSuchFile(NotFound):
    """There is no such file."""


class Several(SecretError):
    """More than one item has that name."""


class Empty(SecretError):
    """It is there, and has no value."""


class Sealed(SecretError):
    """Vault is sealed, or not initialised."""


class Undecryptable(SecretError):
    """None of the keys that are here decrypts it."""


class NotEncrypted(SecretError):
    """A file that sops is to decrypt is plain."""


class Damaged(SecretError):
    """It was changed after it was encrypted."""


class NoRule(SecretError):
    """Nothing says for whom such a file is encrypted."""


class Unreadable(SecretError):
    """It answered in a form that is not known here."""


_HINTS: Mapping[type[SecretError], str] = {
    Several: "name the item by its id, or rename one of them",
    Empty: "give it a value where it is kept",
    Damaged: "take the last version from Git that decrypts, and change it with sops edit",
    TimedOut: "try again; does it wait for somebody to confirm?",
}

"""Values for the Secrets of the foundation that only look like ones; nobody is asked for the real ones."""

import dataclasses
import secrets
from collections.abc import Awaitable, Callable

from firstlight.model.platform import FoundationSecret, Platform
from firstlight.model.rehearsal import Mapped
from firstlight.model.secret import Secret
from firstlight.secrets import age
from firstlight.secrets.dummies import Dummies

AGE = ".agekey"
"""How keys are called in which Flux looks for an age identity."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DummySecrets:
    """What stands for the secrets of a cluster."""

    resolve: Callable[[str], Awaitable[Secret]]
    mapped: tuple[Mapped, ...]


def of(platform: Platform, cluster: str) -> DummySecrets:
    """Dummies for everything that a cluster's foundation refers to; keys of encrypted files must be there."""
    foundation = [each for each in platform.secrets if each.cluster in ("", cluster)]
    # Flux reads this key even where nothing is encrypted, so it must be one.
    ages = {
        reference: age.identity(secrets.token_bytes(32))
        for each in foundation
        for key, reference in each.data.items()
        if key.endswith(AGE)
    }
    dummies = Dummies(platform.root)

    async def resolve(reference: str) -> Secret:
        return ages.get(reference) or await dummies.resolve(reference)

    return DummySecrets(resolve=resolve, mapped=tuple(map(_mapped, foundation)))


def _mapped(secret: FoundationSecret) -> Mapped:
    keys = ", ".join(f"{key} ({reference or 'not declared'})" for key, reference in secret.data.items())
    return Mapped("secret", f"{secret.namespace}/{secret.name}: {keys}", "made-up values")

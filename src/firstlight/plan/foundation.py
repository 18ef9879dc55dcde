"""Secrets of the foundation for which nobody has said where their content is."""

from collections.abc import Iterator

from firstlight.model.plan import Link, Problem, Severity
from firstlight.plan.facts import Facts


def problems(known: Facts) -> Iterator[Problem]:
    """Secrets without a reference: bootstrap could not create them."""
    for secret in known.secrets:
        empty = sorted(key for key, reference in secret.data.items() if not reference)
        if secret.data and not empty:
            continue
        keys = f" ({', '.join(empty)})" if empty else ""
        name = f"{secret.namespace}/{secret.name}"
        yield Problem(
            rule="secret-without-reference",
            # What is only inferred is created today by somebody's script or hand.
            severity=Severity.ERROR if known.is_declared else Severity.WARNING,
            message=f"nothing says where the Secret {name}{keys} comes from",
            chain=(Link(name, secret.why or "is needed before an operator can fetch the rest", secret.place),),
            way_out="Name its source in firstlight.yaml: secrets, data, with op://, sops:, vault:, env: or file:.",
        )

"""A handover as text: who is left alone, what Talos has of it, and in a few lines what was proven."""

from collections import Counter
from collections.abc import Iterable, Sequence

from firstlight.model.certificate import Certificate, ObjectProof
from firstlight.model.handover import Offer
from firstlight.report import certificate as certificates
from firstlight.report import safe, table

_SHOWN = 6
"""Of what is left, or what failed, that is told one by one."""
_DIGITS = 4


def certificate(made: Certificate, *, lost: int = 0, columns: int = 0) -> list[str]:
    """The certificate in a line, owners below it where there are several, and what does not hold.

    Args:
        made: The certificate.
        lost: How many fields have disappeared, as somebody agreed.
        columns: How wide the terminal is.
    """
    ways = Counter(_way(each) for each in made.objects)
    word = "complete" if made.is_complete else "not complete"
    stage = f", {told}" if (told := certificates.stage(made)) else ""
    objects = _count(len(made.objects), "object") + (f": {next(iter(ways))}" if len(ways) == 1 else "")
    parts = [
        f"certificate {made.digest[:_DIGITS]}…  {word}{stage}",
        objects,
        _pods(made),
        f"{_count(lost, 'field')} lost",
    ]
    rows = [[_count(number, "object"), way] for way, number in ways.most_common()] if len(ways) > 1 else []
    bad = certificates.failures(made)
    lines = ["   ".join(parts), *table.render(rows, indent="  ", columns=columns)]
    lines += [f"  ✘ {each}" for each in bad[:_SHOWN]]
    lines += [f"    and {len(bad) - _SHOWN} more, all on the page"] if len(bad) > _SHOWN else []
    return [safe.text(each) for each in lines]


def talos(left: Sequence[str], upgrade: str) -> list[str]:
    """What Talos has of what it would release, and what its next upgrade would do to it."""
    found = [f"  talos    {each}" for each in left[:_SHOWN]]
    found += [f"           and {len(left) - _SHOWN} more"] if len(left) > _SHOWN else []
    return [safe.text(each) for each in [*found, *([f"  now      {upgrade}"] if upgrade else [])]]


def offers(found: Iterable[Offer]) -> list[str]:
    """Changes of files, each with its reasons and a diff that ``git apply`` takes."""
    lines: list[str] = []
    for each in found:
        lines += ["", f"offered for {each.component}, to be reviewed and committed:"]
        lines += [f"  {why}" for why in each.why]
        lines += each.diff.splitlines()
    return [safe.text(each) for each in lines]


def kept(names: Iterable[str]) -> list[str]:
    """The components that bootstrap keeps, in a line."""
    shown = ", ".join(names)
    return [f"  kept     {safe.text(shown)}: the owner is bootstrap, so it is left alone"] if shown else []


def _way(proof: ObjectProof) -> str:
    """From whom to whom: ``talos › flux (Kustomization flux-system/cilium)``."""
    return f"{certificates.givers([proof])} › {proof.owner}"


def _pods(made: Certificate) -> str:
    return certificates.moved(made) or "0 pods restarted"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")

"""A handover as text: who is left alone, what Talos has of it, and in a few lines what was proven."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from firstlight.drawing import certificate_text, safe, table
from firstlight.model import helm_names
from firstlight.model.certificate import Certificate, ObjectProof
from firstlight.model.handover import Offer, Prediction
from firstlight.model.owner import ObjectOwner

_SHOWN = 6
"""Of what is left, or what failed, that is told one by one."""
_DIGITS = 4


def certificate_lines(made: Certificate, *, lost: int = 0, columns: int = 0) -> list[str]:
    """The certificate in a line, owners below it where there are several, and what does not hold.

    Args:
        made: The certificate.
        lost: How many fields have disappeared, as somebody agreed.
        columns: How wide the terminal is.
    """
    ways = Counter(_way(each) for each in made.objects)
    word = "complete" if made.is_complete else "not complete"
    stage = f", {told}" if (told := certificate_text.stage(made)) else ""
    objects = _count(len(made.objects), "object") + (f": {next(iter(ways))}" if len(ways) == 1 else "")
    parts = [
        f"certificate {made.digest[:_DIGITS]}…  {word}{stage}",
        objects,
        _pods(made),
        f"{_count(lost, 'field')} lost",
    ]
    rows = [[_count(number, "object"), way] for way, number in ways.most_common()] if len(ways) > 1 else []
    bad = certificate_text.failures(made)
    lines = ["   ".join(parts), *table.render(rows, indent="  ", columns=columns)]
    lines += [f"  ✘ {each}" for each in bad[:_SHOWN]]
    lines += [f"    and {len(bad) - _SHOWN} more, all on the page"] if len(bad) > _SHOWN else []
    return [safe.text(each) for each in lines]


def talos_lines(left: Sequence[str], upgrade: str) -> list[str]:
    """What Talos has of what it would release, and what its next upgrade would do to it."""
    found = [f"  talos    {each}" for each in left[:_SHOWN]]
    found += [f"           and {len(left) - _SHOWN} more"] if len(left) > _SHOWN else []
    return [safe.text(each) for each in [*found, *([f"  now      {upgrade}"] if upgrade else [])]]


def offer_lines(found: Iterable[Offer]) -> list[str]:
    """Changes of files, each with its reasons and a diff that ``git apply`` takes."""
    lines: list[str] = []
    for each in found:
        lines += ["", f"offered for {each.component}, to be reviewed and committed:"]
        lines += [f"  {why}" for why in each.why]
        lines += each.diff.splitlines()
    return [safe.text(each) for each in lines]


def kept_lines(names: Iterable[str]) -> list[str]:
    """The components that bootstrap keeps, in a line."""
    shown = ", ".join(names)
    return [f"  kept     {safe.text(shown)}: the owner is bootstrap, so it is left alone"] if shown else []


def _way(proof: ObjectProof) -> str:
    """From whom to whom: ``talos › flux (Kustomization flux-system/cilium)``."""
    return f"{certificate_text.givers([proof])} › {proof.owner}"


def _pods(made: Certificate) -> str:
    return certificate_text.moved(made) or "0 pods restarted"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


# What becomes of objects when their engine takes them over, for people and as data. No value of a field is in it.


_PREDICTIONS_SHOWN = 3
_RELEASE = f"metadata.annotations[{helm_names.RELEASE_NAME_ANNOTATION}]"
_KUSTOMIZATION, _HELM_RELEASE, _APPLICATION = "Kustomization ", "HelmRelease ", "Application "


def prediction_text(predictions: Sequence[Prediction], *, columns: int = 0, everything: bool = False) -> str:
    """A line for each owner of the engine, and below it each object of which more changes than marks."""
    lines: list[str] = []
    for those in _by_owner(predictions):
        lines.append(_sentence(those))
        shown = those if everything else [each for each in those if _effects(each)]
        rows = [[str(each.id), effect] for each in shown for effect in _effects(each) or ["nothing but marks"]]
        lines += table.render([[safe.text(cell) for cell in row] for row in rows], indent="  ", columns=columns)
    return "\n".join(lines)


def prediction_sentences(predictions: Iterable[Prediction]) -> list[str]:
    """What each owner of the engine does at first, and whether pods are replaced."""
    return [_sentence(those) for those in _by_owner(predictions)]


def prediction_data(predictions: Iterable[Prediction]) -> list[dict[str, Any]]:
    """The same for programs."""
    return [
        {
            "group": each.id.group,
            "kind": each.id.kind,
            "namespace": each.id.namespace,
            "name": each.id.name,
            "component": each.component,
            "owner": {"party": each.owner.party.value, "name": each.owner.name},
            "marks": [*each.marks],
            "changed": [*each.changed],
            "lost": [*each.lost],
            "replacesPods": each.rolls,
            "refused": safe.text(each.refused),
        }
        for each in predictions
    ]


def _by_owner(predictions: Iterable[Prediction]) -> list[list[Prediction]]:
    found: dict[ObjectOwner, list[Prediction]] = {}
    for each in predictions:
        found.setdefault(each.owner, []).append(each)
    return [found[each] for each in sorted(found)]


def _sentence(those: Sequence[Prediction]) -> str:
    owner = those[0].owner
    parts = [*_marks(those)]
    changed = sum(bool(each.changed) for each in those)
    lost = sum(len(each.lost) for each in those)
    refused = [str(each.id) for each in those if each.refused]
    rolling = [str(each.id) for each in those if each.rolls]
    if changed:
        parts.append(f"{_predictions_count(changed, 'object')} {'changes' if changed == 1 else 'change'}")
    if lost:
        parts.append(f"{_predictions_count(lost, 'field')} {'disappears' if lost == 1 else 'disappear'}")
    if refused:
        parts.append(f"the server would not take {_some(refused)}")
    parts = parts or [f"nothing of {_predictions_count(len(those), 'object')} changes"]
    parts.append(f"the pods of {_some(rolling)} are replaced" if rolling else "no pod is replaced")
    return safe.text(f"{owner.name or owner}: {_deed(those)}: {', '.join(parts)}")


def _deed(those: Sequence[Prediction]) -> str:
    name = those[0].owner.name
    if name.startswith(_HELM_RELEASE):
        # Where Helm has left no mark there is no release yet.
        is_new = any(_RELEASE in each.marks for each in those)
        return f"helm-controller {'installs the release over what is there' if is_new else 'upgrades the release once'}"
    if name.startswith(_APPLICATION):
        return "Argo CD applies it"
    return "kustomize-controller applies it" if name.startswith(_KUSTOMIZATION) else "the engine applies it"


def _marks(those: Sequence[Prediction]) -> list[str]:
    """How many objects get how many labels and annotations: at most so many, where some have them already."""
    marked = [each for each in those if each.marks]
    if not marked:
        return []
    counts = []
    for sort in ("label", "annotation"):
        most = max(sum(mark.startswith(f"metadata.{sort}s[") for mark in each.marks) for each in marked)
        counts += [_predictions_count(most, sort)] if most else []
    return [
        f"{_predictions_count(len(marked), 'object')} {'gets' if len(marked) == 1 else 'get'} {' and '.join(counts)}"
    ]


def _effects(prediction: Prediction) -> list[str]:
    found = []
    if prediction.refused:
        found.append(f"refused: {prediction.refused}")
    if prediction.changed:
        found.append(f"changes {_some(prediction.changed)}")
    if prediction.lost:
        found.append(f"loses {', '.join(prediction.lost)}")
    if prediction.rolls:
        found.append("its pods are replaced")
    return found


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _PREDICTIONS_SHOWN} more" if len(names) > _PREDICTIONS_SHOWN else ""
    return ", ".join(names[:_PREDICTIONS_SHOWN]) + more


def _predictions_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

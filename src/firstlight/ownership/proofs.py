"""What was seen of an object after a handover, made proofs: every claim held against the evidence.

Comes in: the object as Git has it, as it is live, what the server answered to dry runs as the engine, what the engine's
object says, and the baseline. Goes out: an ObjectProof. Only paths of fields are told, never values.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.engines import engine_marks
from firstlight.model.certificate import CertificateClaim, ClaimProof
from firstlight.model.handover import ObjectSeen
from firstlight.model.owner import Party
from firstlight.ownership import field_set, ignored_fields, migration
from firstlight.ownership.evidence import HandoverEvidence
from firstlight.ownership.field_set import ITSELF, FieldSet, Path, path_text, plain

INVENTORY = ("f:metadata", "f:annotations", "f:config.k8s.io/owning-inventory")
"""What Talos owns until it has released an object."""
_SHOWN = 3
_CONTROLLERS = (("f:caBundle", ""), ("f:replicas", "autoscaler"), ("f:replicas", "keda"))
"""Fields that controllers are meant to write, and a part of the names of those who may; an autoscaler mostly writes the
scale of an object, which counts as its subresource."""


def prove(
    evidence: HandoverEvidence, before: ObjectSeen | None, *, is_final: bool, is_repeated: bool
) -> tuple[ClaimProof, ...]:
    """Every claim about one object.

    Args:
        evidence: What was seen.
        before: The same object in the baseline; None if that does not name it.
        is_final: Whether Talos has released its manifests.
        is_repeated: Whether real applies were wanted.
    """
    same = same_object(evidence, before)
    if evidence.live is None:
        return (same,)
    found = [same, marked(evidence), owned(evidence), alone(evidence, is_final=is_final), no_op(evidence)]
    if is_repeated:
        found.append(repeated(evidence))
    return (*found, vanishes(evidence))


def same_object(evidence: HandoverEvidence, before: ObjectSeen | None) -> ClaimProof:
    """Whether it is the object of the baseline, and nobody deletes it."""
    claim = CertificateClaim.SAME_OBJECT
    metadata = mapping(evidence.live, "metadata")
    if evidence.live is None:
        return ClaimProof(claim=claim, holds=False, says="it is not there")
    if since := text(metadata, "deletionTimestamp"):
        return ClaimProof(claim=claim, holds=False, says=f"it is being deleted since {since}")
    if before is None:
        return ClaimProof(claim=claim, holds=True, is_tried=False, says="the baseline does not name it")
    if not before.uid:
        return ClaimProof(claim=claim, holds=True, is_tried=False, says="it was not there when the baseline was saved")
    if before.uid != text(metadata, "uid"):
        says = f"it was deleted and made anew: its uid is {text(metadata, 'uid')}, and was {before.uid}"
        return ClaimProof(claim=claim, holds=False, says=says)
    late = f"; {before.holder} had it already when the baseline was saved" if before.holder else ""
    return ClaimProof(claim=claim, holds=True, says=f"uid {before.uid}{late}")


def marked(evidence: HandoverEvidence) -> ClaimProof:
    """Whether it carries the engine's marks, the engine's own list has it, and the engine works on that."""
    claim, owner = CertificateClaim.MARKED, evidence.passing.owner
    if not evidence.has_holder:
        return ClaimProof(claim=claim, holds=False, says=f"{owner.name or owner} is not there")
    if evidence.fault:
        return ClaimProof(claim=claim, holds=False, says=evidence.fault)
    kind = owner.name.partition(" ")[0]
    if paused := ignored_fields.pauses(evidence.passing.object.value, evidence.live or {}, kind=kind):
        told = ", ".join(path_text(each) for each in paused)
        says = f"{told} keeps the engine away from it, which Git does not have"
        return ClaimProof(claim=claim, holds=False, says=says)
    if evidence.is_listed is False:
        return ClaimProof(claim=claim, holds=False, says=f"{owner.name} does not list it")
    mark = engine_marks.of(evidence.live or {})
    name = mark.owner if mark is not None else ""
    if mark is None and evidence.is_listed and _is_unmarked_crd(evidence):
        return ClaimProof(claim=claim, holds=True, says=f"{owner.name} lists it; such CRDs get no marks")
    if name != owner.name:
        says = f"its marks say {name or 'nobody'}, not {owner.name}"
        return ClaimProof(claim=claim, holds=False, says=says)
    if evidence.is_listed is None:
        return ClaimProof(claim=claim, holds=True, says=f"marks of {owner.name}, which keeps no list")
    return ClaimProof(claim=claim, holds=True, says=f"{owner.name} lists it")


def owned(evidence: HandoverEvidence) -> ClaimProof:
    """Whether the engine's manager owns every field that Git has."""
    claim = CertificateClaim.OWNED
    if evidence.restless or not evidence.fields:
        return _nothing(claim) if _has_name_alone(evidence) else _untold(claim, evidence)
    operation = "Update" if evidence.is_client_side else "Apply"
    mine = _fields_of(evidence.live, evidence.passing.manager, operation)
    left = evidence.fields - mine
    if not left:
        return ClaimProof(claim=claim, holds=True, says=_count(len(evidence.fields)))
    others = _holders(evidence.live, left, apart=evidence.passing.manager)
    told = [
        f"{path_text(path)}: {', '.join(others.get(plain(path), ())) or 'nobody'} owns it"
        for path in left.leaves()[:_SHOWN]
    ]
    return ClaimProof(claim=claim, holds=False, says=_listed(told, len(left)))


def alone(evidence: HandoverEvidence, *, is_final: bool) -> ClaimProof:
    """Whether nobody else owns a field that Git has, and no owner of old owns anything."""
    claim = CertificateClaim.ALONE
    bad: list[str] = []
    others: list[str] = []
    for entry in sequence(evidence.live, "metadata", "managedFields"):
        manager = text(entry, "manager")
        if manager == evidence.passing.manager and _operation(evidence) == text(entry, "operation"):
            continue
        if text(entry, "subresource"):
            continue
        meant_here = _meant(entry)
        held = [path for path in _held(entry) if path not in meant_here]
        stale = _is_stale(manager, evidence) and not manager.startswith("kubectl")
        if stale and not is_final:
            held = [path for path in held if path != INVENTORY]
        for path in held:
            if evidence.fields.has(path) or stale:
                bad.append(f"{manager} ({text(entry, 'operation')}) owns {path_text(path)}")
            else:
                others.append(manager)
    if bad:
        return ClaimProof(claim=claim, holds=False, says=_listed(bad[:_SHOWN], len(bad)))
    if evidence.restless or not evidence.fields:
        return _nothing(claim) if _has_name_alone(evidence) else _untold(claim, evidence)
    told = f"beside Git: {', '.join(sorted(set(others)))}" if others else ""
    return ClaimProof(claim=claim, holds=True, says="; ".join(each for each in (told, _left(evidence)) if each))


def no_op(evidence: HandoverEvidence) -> ClaimProof:
    """Whether an unforced apply as the engine would change nothing."""
    claim, attempt = CertificateClaim.NO_OP, evidence.attempt
    if evidence.restless or attempt is None:
        return _untold(claim, evidence)
    if not attempt.is_possible:
        return ClaimProof(claim=claim, holds=True, is_tried=False, says=attempt.refusal)
    if attempt.refusal:
        return ClaimProof(claim=claim, holds=False, says=attempt.refusal)
    if attempt.is_same or (evidence.is_client_side and not attempt.changed):
        says = "its fields; it was written without server-side apply" if evidence.is_client_side else ""
        return ClaimProof(claim=claim, holds=True, says=says or _left(evidence) or _extra(evidence))
    if attempt.changed:
        told = _listed(list(attempt.changed[:_SHOWN]), len(attempt.changed))
        return ClaimProof(claim=claim, holds=False, says=f"it would change {told}")
    return ClaimProof(claim=claim, holds=False, says="it would change who owns its fields")


def repeated(evidence: HandoverEvidence) -> ClaimProof:
    """Whether a real apply left the version alone."""
    claim, done = CertificateClaim.REPEATED, evidence.repetition
    if evidence.restless:
        return _untold(claim, evidence)
    if done is None:
        why = "the dry run was not a no-op, so nothing was applied"
        if evidence.is_client_side:
            why = "it was written without server-side apply: one would change its owners"
        return ClaimProof(claim=claim, holds=True, is_tried=False, says=why)
    if done.before != done.after:
        return ClaimProof(claim=claim, holds=False, says=f"its version went from {done.before} to {done.after}")
    return ClaimProof(claim=claim, holds=True, says=f"version {done.after}")


def vanishes(evidence: HandoverEvidence) -> ClaimProof:
    """Whether a field that Git does not have any more would go."""
    claim, omission = CertificateClaim.VANISHES, evidence.omission
    if evidence.restless:
        return _untold(claim, evidence)
    if omission is None:
        why = "no field of it can be left out"
        if evidence.is_client_side:
            why = "it was written without server-side apply, and fields are removed by comparing manifests"
        elif evidence.attempt is None or evidence.attempt.after is None:
            why = "nothing could be tried as the engine"
        return ClaimProof(claim=claim, holds=True, is_tried=False, says=why)
    name = path_text(omission.path)
    if omission.is_gone:
        return ClaimProof(claim=claim, holds=True, says=name)
    others = _holders(evidence.live, FieldSet.made([omission.path]), apart=evidence.passing.manager)
    whose = ", ".join(others.get(plain(omission.path), ()))
    return ClaimProof(
        claim=claim, holds=False, says=f"{name} would stay" + (f": {whose} owns it as well" if whose else "")
    )


def meant(live: Mapping[str, Any], *, apart: str) -> tuple[Path, ...]:
    """Fields of an object that a controller is meant to write and owns, unless the engine's manager does."""
    mine = fields_of(live, apart)
    found = []
    for entry in sequence(live, "metadata", "managedFields"):
        manager = text(entry, "manager")
        if manager != apart and not text(entry, "subresource"):
            found += [path for path in _held(entry) if _is_meant(path, manager) and not mine.has(path)]
    return tuple(dict.fromkeys(found))


def fields_of(live: Mapping[str, Any] | None, manager: str) -> FieldSet:
    """What a manager has applied of an object."""
    return _fields_of(live, manager, "Apply")


def counted(body: Mapping[str, Any], live: Mapping[str, Any]) -> FieldSet:
    """The fields of what is applied, told without the server: by how everybody's fields of the live object count."""
    found = field_set.fields_of_object(_present(body), field_set.FieldShape(live))
    # What only leads to others is not owned by itself.
    return FieldSet.made(path for path in found.leaves() if path[-1] != ITSELF)


def _present(value: Any) -> Any:
    """A value without what is null, which nobody can own."""
    if isinstance(value, Mapping):
        return {name: _present(each) for name, each in value.items() if each is not None}
    return [_present(each) for each in value] if isinstance(value, list) else value


def is_client_side(live: Mapping[str, Any], manager: str) -> bool:
    """Whether a manager wrote an object, and never by server-side apply."""
    return not _fields_of(live, manager, "Apply") and bool(_fields_of(live, manager, "Update"))


def _fields_of(live: Mapping[str, Any] | None, manager: str, operation: str) -> FieldSet:
    found = FieldSet()
    for entry in sequence(live, "metadata", "managedFields"):
        if (
            text(entry, "manager") == manager
            and text(entry, "operation") == operation
            and not text(entry, "subresource")
        ):
            found |= FieldSet.of(mapping(entry, "fieldsV1"))
    return found


def _held(entry: Mapping[str, Any]) -> list[Path]:
    """What an entry owns, without maps and structs that only hold what it owns."""
    leaves = FieldSet.of(mapping(entry, "fieldsV1")).leaves()
    return [plain(path) for path in leaves if path[-1] != "." or not path[-2].startswith("f:")]


def _holders(live: Mapping[str, Any] | None, fields: FieldSet, *, apart: str) -> dict[Path, tuple[str, ...]]:
    """Who else owns some fields."""
    found: dict[Path, tuple[str, ...]] = {}
    for entry in sequence(live, "metadata", "managedFields"):
        manager = text(entry, "manager")
        for path in _held(entry) if manager != apart else ():
            if fields.has(path) and manager not in found.get(path, ()):
                found[path] = (*found.get(path, ()), manager)
    return found


def _operation(evidence: HandoverEvidence) -> str:
    return "Update" if evidence.is_client_side else "Apply"


def _is_stale(manager: str, evidence: HandoverEvidence) -> bool:
    return manager != evidence.passing.manager and migration.is_old(manager)


def _is_meant(path: Path, manager: str) -> bool:
    return any(path[-1] == field and part in manager for field, part in _CONTROLLERS) and not migration.is_old(manager)


def _meant(entry: Mapping[str, Any]) -> set[Path]:
    """What a controller owns of an entry because it is meant to; who applies it also owns the items that it is in."""
    manager, found = text(entry, "manager"), set[Path]()
    held = _held(entry)
    for path in held:
        if _is_meant(path, manager):
            found.add(path)
            items = [path[:length] for length in range(1, len(path)) if path[length - 1].startswith("k:")]
            found |= {other for item in items for other in held if other == item or _is_key(other, item)}
    return found


def _is_key(path: Path, item: Path) -> bool:
    """Whether a field is a part of an item's key: ``f:name`` in ``k:{"name":"web"}``."""
    return path[:-1] == item and f'"{path[-1][2:]}":' in item[-1]


def _is_unmarked_crd(evidence: HandoverEvidence) -> bool:
    """Whether it is one of a chart, or one of Argo CD's, which marks none."""
    name = evidence.passing.owner.name
    return evidence.id.kind == "CustomResourceDefinition" and name.startswith(("HelmRelease ", "Application "))


def _has_name_alone(evidence: HandoverEvidence) -> bool:
    """Whether Git says nothing of an object but that it is there, as of a Namespace, and the server has taken it so.

    Of bootstrap alone: what an engine applies has its marks at least.
    """
    value, attempt = evidence.passing.object.value, evidence.attempt
    said = {name for name, each in value.items() if each} - {"apiVersion", "kind", "metadata"}
    said |= {name for name, each in mapping(value, "metadata").items() if each} - {"name", "namespace"}
    is_taken = attempt is not None and attempt.is_possible and not attempt.refusal
    is_marked = evidence.passing.owner.party != Party.BOOTSTRAP
    return is_taken and not said and not is_marked and not evidence.restless


def _nothing(claim: CertificateClaim) -> ClaimProof:
    return ClaimProof(claim=claim, holds=True, says="Git has no field of it but its name")


def _untold(claim: CertificateClaim, evidence: HandoverEvidence) -> ClaimProof:
    attempt = evidence.attempt
    refusal = attempt.refusal if attempt is not None else ""
    why = evidence.restless or refusal or "the server does not say which fields Git has"
    is_tried = bool(evidence.restless) or attempt is None or attempt.is_possible
    return ClaimProof(claim=claim, holds=not is_tried, is_tried=is_tried, says=why)


def _left(evidence: HandoverEvidence) -> str:
    return f"left to controllers: {', '.join(evidence.left)}" if evidence.left else ""


def _extra(evidence: HandoverEvidence) -> str:
    told = [path_text(each) for each in evidence.extra.leaves()]
    return f"with what the engine adds by itself: {_listed(told[:_SHOWN], len(told))}" if told else ""


def _count(number: int) -> str:
    return f"{number} field{'s' if number != 1 else ''}"


def _listed(told: Iterable[str], number: int) -> str:
    shown = list(told)
    return ", ".join(shown) + (f" and {number - len(shown)} more" if number > len(shown) else "")

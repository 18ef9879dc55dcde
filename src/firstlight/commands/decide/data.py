"""A decision as data, for ``decide --output json``: stable names, and no value of what is secret."""

import math
from collections.abc import Mapping
from typing import Any

from firstlight.cli import diagnostic_data
from firstlight.cli.output_form import ObjectData, PlaceData
from firstlight.commands.decide.output_form import (
    ApprovedData,
    ChangedFieldData,
    CheckData,
    DecisionData,
    FactorData,
    ItemData,
    ProcedureStepData,
    RulingData,
    TouchedData,
    TreeData,
)
from firstlight.drawing import decision_words
from firstlight.model import change as model_change
from firstlight.model.change import Change, ChangedField, Level
from firstlight.model.decision import (
    Approved,
    ChangeCheck,
    Decision,
    DecisionItem,
    ProcedureStep,
    RiskFactor,
    Ruling,
    Touched,
    TreePath,
)
from firstlight.model.place import Place

_LARGEST = 1 << 63
"""From here on integers are no numbers to most readers of JSON."""


def data(decision: Decision) -> DecisionData:
    """The whole answer; ``side`` and ``risk`` stand first."""
    found: DecisionData = {
        "side": decision_words.side_word(decision.side),
        "risk": str(decision.risk),
        "approval": decision.approval,
        "title": decision.title,
        "changed": bool(decision.items),
        "items": [_item(each) for each in decision.items if each.change.level == Level.SOURCE],
        "rendered": [_item(each) for each in decision.items if each.change.level == Level.RENDERED],
        "procedure": [_step(each) for each in decision.procedure],
        "rollback": [_step(each) for each in decision.rollback],
        "checks": [_check(each) for each in decision.checks],
        "affected": list(decision.affected),
        "doubts": list(decision.doubts),
        "approved": _approved(decision.approved) if decision.approved is not None else None,
    }
    shown: DecisionData = _json(found)
    return shown


def _item(item: DecisionItem) -> ItemData:
    change = item.change
    return {
        "side": decision_words.side_word(item.side),
        "risk": str(item.risk),
        "approval": item.risk.approval,
        "path": change.place.path,
        "line": change.place.line,
        "oldPath": change.old_path,
        "title": change.title,
        "matter": change.matter,
        "verb": change.verb,
        "kind": change.kind,
        "object": _object(change),
        "component": change.component,
        "clusters": list(item.clusters),
        "components": [_touched(each) for each in item.touched],
        "why": item.rulings[0].why if item.rulings else "",
        "fields": [_field(each, change) for each in change.fields],
        "rulings": [_ruling(each) for each in item.rulings],
        "doubt": change.doubt,
    }


def _object(change: Change) -> ObjectData | None:
    found = change.object
    if found is None:
        return None
    return {"group": found.group, "kind": found.kind, "namespace": found.namespace, "name": found.name}


def _field(field: ChangedField, change: Change) -> ChangedFieldData:
    is_secret = field.is_secret or decision_words.is_secret(change)
    before, after = (None, None) if is_secret else decision_words.both(field)
    return {
        "path": field.path,
        "verb": field.verb,
        "line": field.place.line,
        "secret": is_secret,
        "before": before,
        "after": after,
        "values": model_change.written(field.values) if field.values is not None else None,
    }


def _json(value: Any) -> Any:
    """A value as JSON can have it: dates, odd numbers and names that are no text are texts there."""
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < _LARGEST else str(value)
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {_json(str(key)): _json(each) for key, each in value.items()}
        case list() | tuple():
            return [_json(each) for each in value]
        case _:
            return _json(str(value))


def _ruling(ruling: Ruling) -> RulingData:
    return {
        "rule": ruling.rule,
        "side": decision_words.side_word(ruling.side),
        "risk": str(ruling.risk),
        "why": ruling.why,
        "field": ruling.field.path if ruling.field is not None else None,
        "criteria": list(ruling.criteria),
        "factors": [_factor(each) for each in ruling.factors],
        "procedure": ruling.procedure,
        "checks": list(ruling.checks),
        "trees": [tree(each) for each in ruling.trees],
    }


def _factor(factor: RiskFactor) -> FactorData:
    return {"id": factor.id, "risk": str(factor.risk), "why": factor.why}


def tree(path: TreePath) -> TreeData:
    """The way through one decision tree."""
    return {
        "tree": path.tree,
        "side": path.side,
        "overruled": path.is_overruled,
        "steps": [{"question": each.question, "text": each.text, "answer": each.answer} for each in path.steps],
    }


def _touched(touched: Touched) -> TouchedData:
    return {
        "cluster": touched.cluster,
        "component": touched.component,
        "role": touched.role,
        "phase": touched.phase,
        "owner": touched.owner,
        "dependents": list(touched.dependents),
        "brings": list(touched.brings),
    }


def _step(step: ProcedureStep) -> ProcedureStepData:
    return {"side": decision_words.side_word(step.side), "text": step.text, "command": step.command}


def _check(check: ChangeCheck) -> CheckData:
    return {
        "id": check.id,
        "moment": check.moment,
        "title": check.title,
        "state": check.state,
        "says": check.says,
        "details": list(check.details),
        "place": _place(check.place) if check.place is not None else None,
        "diagnostics": diagnostic_data.of_all(check.diagnostics),
    }


def _place(place: Place) -> PlaceData:
    return {"path": place.path, "line": place.line, "column": place.column}


def _approved(approved: Approved) -> ApprovedData:
    return {
        "needed": approved.needed,
        "given": approved.is_given,
        "says": approved.says,
        "by": list(approved.by),
    }

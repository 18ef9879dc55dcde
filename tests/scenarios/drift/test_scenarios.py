"""Objects and how they drifted: each directory has a ``case.yaml`` and what must be said of it in ``drift.txt``.

A case has the object as Git has it, who owns it, and the live one by ``live``, with what each manager wrote of it in
``by``. ``change`` is what a dry run would change, as a merge patch; without it nothing is asked of the server.
"""

import copy
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from firstlight.commands.drift import text
from firstlight.document import yaml_reader
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.ownership import drift_judgement, ignored_fields, migration
from firstlight.ownership.drift_judgement import Judgement, WantedObject

HERE = Path(__file__).parent
SCENARIOS = sorted(each.name for each in HERE.iterdir() if (each / "case.yaml").is_file())
_KEYS = ("name", "containerPort", "ip")


@pytest.mark.parametrize("name", SCENARIOS)
def test_drift(name: str) -> None:
    (document,) = yaml_reader.read((HERE / name / "case.yaml").read_bytes(), "case.yaml").documents
    expected = HERE / name / "drift.txt"

    told = "\n".join(_told(judgement(document.value))) + "\n"

    if os.environ.get("FIRSTLIGHT_RECORD"):  # read every line of it afterwards
        expected.write_text(told)
    assert told == expected.read_text()


@pytest.mark.parametrize(("name", "is_held"), [("scaled-and-back", True), ("equal-and-not-owned", False)])
def test_a_handover_passes_what_a_client_wrote_and_not_what_a_subresource_did(name: str, is_held: bool) -> None:
    (document,) = yaml_reader.read((HERE / name / "case.yaml").read_bytes(), "case.yaml").documents
    drifted = judgement(document.value).drifted
    live = _live(document.value)

    assert drifted is not None
    assert drifted.is_held is is_held
    assert (migration.migrate(live, to="kustomize-controller") is None) is is_held


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 18


def judgement(case: Mapping[str, Any]) -> Judgement:
    """What is said of a case."""
    party, _, name = case.get("owner", "flux Kustomization flux-system/apps").partition(" ")
    live = _live(case)
    wanted = drift_judgement.settled(
        WantedObject(
            object=Object(case["git"]),
            component="apps",
            manager=case.get("manager", "kustomize-controller"),
            owner=ObjectOwner(Party(party), name),
            definition=case.get("definition", {}),
            is_chart=case.get("chart", False),
            is_masked=case.get("masked", False),
        ),
        live,
    )
    scaled = ignored_fields.scaled_by(case.get("autoscalers", ()))
    ignored = drift_judgement.ignored(wanted, live=live, scaled=scaled)
    if ignored.is_whole:
        return Judgement(None, 1)
    value = drift_judgement.form(wanted, live)
    after = _after(case, live, value, wanted.manager)
    is_in_doubt = drift_judgement.is_in_doubt(value, live, manager=wanted.manager, has_status=True)
    assert is_in_doubt or "change" not in case, "the server would not be asked"
    return drift_judgement.judged(
        wanted,
        live,
        ignored=ignored,
        after=after if is_in_doubt else None,
        strays=drift_judgement.strays(wanted, value, live),
    )


def _live(case: Mapping[str, Any]) -> dict[str, Any]:
    live = copy.deepcopy(case["live"])
    entries = [
        {"manager": manager.partition("/")[0], "operation": "Update" if "/" in manager else "Apply",
         **({"subresource": manager.split("/")[2]} if manager.count("/") > 1 else {}),
         "apiVersion": live["apiVersion"], "time": case.get("time", "2026-11-16T09:00:00Z"),
         "fieldsType": "FieldsV1", "fieldsV1": fields(part)}
        for manager, part in case.get("by", {}).items()
    ]  # fmt: skip
    live["metadata"]["managedFields"] = entries
    return dict(live)


def _after(case: Mapping[str, Any], live: Mapping[str, Any], value: Mapping[str, Any], manager: str) -> dict[str, Any]:
    after: dict[str, Any] = _merged(copy.deepcopy(dict(live)), case.get("change", {}))
    owned = fields({name: each for name, each in value.items() if name not in ("apiVersion", "kind")})
    mine = {"manager": manager, "operation": "Apply", "apiVersion": live["apiVersion"], "fieldsV1": owned}
    others = [
        each for each in live["metadata"]["managedFields"] if (each["manager"], each["operation"]) != (manager, "Apply")
    ]
    after["metadata"]["managedFields"] = [*others, mine]
    return after


def fields(part: Any) -> dict[str, Any]:
    """The fields of a part of an object, as fieldsV1 has them."""
    if isinstance(part, Mapping):
        named = {f"f:{name}": fields(each) for name, each in part.items() if name not in ("name", "namespace")}
        return {name: each for name, each in named.items() if name != "f:metadata" or each}
    if isinstance(part, list) and part and isinstance(part[0], Mapping):
        key = next((each for each in _KEYS if each in part[0]), "")
        if key:
            return {
                f"k:{json.dumps({key: each[key]}, separators=(',', ':'))}": {
                    ".": {}, f"f:{key}": {}, **fields(each)
                }
                for each in part
            }  # fmt: skip
    return {}


def _merged(value: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return patch
    made = dict(value) if isinstance(value, Mapping) else {}
    for name, each in patch.items():
        if each is None:
            made.pop(name, None)
        else:
            made[name] = _merged(made.get(name), each)
    return made


def _told(found: Judgement) -> Iterator[str]:
    yield from text.lines(found.drifted) if found.drifted is not None else ("as Git has it",)
    if found.ignored:
        yield f"ignored: {found.ignored}"

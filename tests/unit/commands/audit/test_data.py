"""An audit as data."""

import json

from firstlight.commands.audit import data as audit_data
from firstlight.model.place import Place
from tests.unit.commands.audit import audits


def test_everything_is_there() -> None:
    found = audits.audit(
        audits.fixable(audits.finding(evidence=audits.evidence(7))), matrix=audits.matrix(),
        excused=(audits.excused(),), asked=("live",), remedies=("range-differs",), skipped=("x",),
    )  # fmt: skip

    data = audit_data.data(found)

    (one,) = data["findings"]
    assert (one["code"], one["severity"], one["places"]) == (
        "range-differs", "error", [{"path": "talos/all.yaml", "line": 12, "column": 5}],
    )  # fmt: skip
    assert one["fixable"]
    assert len(one["evidence"]) == 7
    assert one["evidence"][0]["place"] == {"path": "kubernetes/1.yaml", "line": 1, "column": 0}
    assert data["reasons"] == {"range-differs": "The reason of range-differs."}
    assert data["excused"][0]["until"] == "2027-03-31"
    assert data["excused"][0]["excuse"] == {"path": "talos/all.yaml", "line": 11, "column": 0}
    assert data["matrix"] is not None
    assert data["matrix"]["rows"][0]["cells"][0]["rules"] == ["range-differs", "range-narrow"]
    assert (data["asked"], data["remedies"], data["skipped"]) == (["live"], ["range-differs"], ["x"])
    assert audit_data.data(audits.audit())["matrix"] is None


def test_names_that_are_no_text_can_be_written() -> None:
    data = audit_data.data(audits.audit(audits.finding(places=(Place("a\udcff.yaml", 1),))))

    assert json.dumps(data, ensure_ascii=False).encode()
    assert data["findings"][0]["places"][0]["path"] == "a\\udcff.yaml"

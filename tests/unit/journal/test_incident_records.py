"""Incident records: kept once, listed with their blanks, filled in once."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.journal import incident_records, state_files

NOW = 1_793_527_200.0
TEXT = "\n".join(["# Recovery of home", "", *incident_records.BLANKS])


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return state_files.directory_of(tmp_path)


def kept(state: Path, cluster: str = "home", text: str = TEXT) -> str:
    id = incident_records.made_id(NOW)
    incident_records.keep(text, state=state, cluster=cluster, id=id)
    return id


def test_a_record_is_listed_with_its_blanks_and_its_day(state: Path) -> None:
    id = kept(state)

    (found,) = incident_records.listed(state)

    assert (found.id, found.cluster, found.day.isoformat()) == (id, "home", "2026-11-01")
    assert found.path == f".firstlight/home/incidents/{id}.md"
    assert not found.is_reviewed


def test_what_people_have_written_counts_and_stays(state: Path) -> None:
    id = kept(state)
    path = incident_records.path_of(state, "home", id)
    path.write_text(TEXT.replace(incident_records.CAUSE, "A switch died.").replace(incident_records.FOLLOW_UPS, "none"))

    incident_records.keep(TEXT, state=state, cluster="home", id=id)

    assert "A switch died." in path.read_text()
    assert incident_records.listed(state, "home")[0].is_reviewed


def test_blanks_are_filled_in_once(state: Path) -> None:
    kept(state)
    (found,) = incident_records.listed(state)

    incident_records.fill_in(found, state=state, cause="A switch died.", follow_ups=["a second switch, Ada, May", "b"])

    (again,) = incident_records.listed(state)
    content = incident_records.path_of(state, "home", found.id).read_text()
    assert again.is_reviewed
    assert "- [ ] a second switch, Ada, May\n- [ ] b" in content
    with pytest.raises(errors.Refused, match="filled in already"):
        incident_records.fill_in(found, state=state, cause="Another one.", follow_ups=[])


def test_what_is_not_called_like_a_record_is_passed_over(state: Path) -> None:
    kept(state, cluster="infra")
    (state / "infra" / "incidents" / "notes.md").write_text("x")

    assert [each.cluster for each in incident_records.listed(state)] == ["infra"]
    assert incident_records.listed(state, "home") == ()

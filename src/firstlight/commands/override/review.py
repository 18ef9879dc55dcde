"""``firstlight override review``: the cause and the follow-ups of an incident, written into its record."""

from pathlib import Path

from firstlight import errors
from firstlight.cli import output, which_cluster, which_repo
from firstlight.commands.override.output_form import IncidentData
from firstlight.drawing import safe, table
from firstlight.journal import incident_records, state_files
from firstlight.model.incident import Incident


def review(
    cluster: str, *, id: str, cause: str, follow_ups: tuple[str, ...], everything: bool, root: Path | None, form: str
) -> int:
    """List the records whose blanks nobody has filled in, or fill in those of one; the cluster is not asked.

    Raises:
        errors.UsageError: There is no such record, or several and none is named.
        errors.Refused: It has been filled in already.
    """
    platform = which_repo.platform(root)
    name = which_cluster.cluster_of(platform, cluster).name
    state = state_files.directory_of(platform.root)
    if cause or follow_ups:
        chosen = _chosen(incident_records.listed(state, name), id)
        incident_records.fill_in(chosen, state=state, cause=cause, follow_ups=follow_ups)
    records = incident_records.listed(state, name)
    shown = [each for each in records if (each.id == id if id else everything or not each.is_reviewed)]
    data: list[IncidentData] = [
        {
            "id": each.id,
            "cluster": each.cluster,
            "day": each.day.isoformat(),
            "path": each.path,
            "reviewed": each.is_reviewed,
        }
        for each in shown
    ]
    output.answer(form, _text(shown, name), {"cluster": name, "incidents": data})
    return 0


def _chosen(records: tuple[Incident, ...], id: str) -> Incident:
    """The record that is named, or the only one with a blank."""
    found = [each for each in records if (each.id == id if id else not each.is_reviewed)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(each.id for each in records if not each.is_reviewed)
    if not found:
        hint = f"There is {names}." if names else "firstlight override review --all lists those that were reviewed."
        raise errors.UsageError(f"there is no incident record {id}".rstrip(), hint=hint)
    raise errors.UsageError("which incident?", hint=f"Name it with --id: {names}.")


def _text(shown: list[Incident], cluster: str) -> str:
    if not shown:
        return f"every incident of {safe.name(cluster)} on this computer has its cause and follow-ups"
    rows = [
        [each.id, "✔ reviewed" if each.is_reviewed else f"✘ {_blank(each)}", safe.name(each.path)] for each in shown
    ]
    lines = table.render(rows)
    if any(not each.is_reviewed for each in shown):
        lines.append(f"next: firstlight override review {safe.name(cluster)} --id ID --cause TEXT --follow-up TEXT")
    return "\n".join(lines)


def _blank(incident: Incident) -> str:
    names = (("cause", incident.has_cause), ("follow-ups", incident.has_follow_ups))
    return f"no {' and no '.join(name for name, has in names if not has)}"

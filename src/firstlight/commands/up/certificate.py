"""What a command says of a certificate at its end: what was proven in short, where it is, and how to try it again."""

from pathlib import Path

from firstlight import errors
from firstlight.commands.up.up import PreparedRun, reached
from firstlight.drawing import handover_text, table
from firstlight.execute.handover import certificate_store, certification
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means
from firstlight.journal import state_files
from firstlight.model.certificate import Certificate
from firstlight.model.plan import Action
from firstlight.model.verdict import Failed, Passed


def certificate_lines(made: Certificate, path: Path, *, cluster: str, lost: int = 0) -> list[str]:
    """In a few lines.

    Args:
        made: The certificate.
        path: The file that has it.
        cluster: Its name.
        lost: How many fields have disappeared, as somebody agreed.
    """
    return [
        *handover_text.certificate_lines(made, lost=lost, columns=table.terminal_columns()),
        f"  in       {path}, as a page in {path.with_suffix('.html').name}",
        f"  again    firstlight handover {cluster} --verify {path}",
    ]


async def lines_after(prepared: PreparedRun, means: Means, result: RunResult, *, since: float) -> list[str]:
    """The same of a run that is over; nothing where it did not get that far.

    Args:
        prepared: What was run.
        means: How the world is reached.
        result: What came of it.
        since: When it began, in seconds since the epoch.
    """
    try:
        found = await certificate(prepared, means, result, since=since)
    except errors.FirstlightError as error:  # the run has its result, whatever becomes of this
        return [f"  note     the certificate was not read again: {error.message}"]
    return certificate_lines(found[0], found[1], cluster=prepared.cluster.name) if found is not None else []


async def certificate(
    prepared: PreparedRun, means: Means, result: RunResult, *, since: float
) -> tuple[Certificate, Path] | None:
    """The certificate that a run has made, or found, and the file that has it; None if it did not get that far.

    Args:
        prepared: What was run.
        means: How the world is reached.
        result: What came of it.
        since: When it began, in seconds since the epoch.

    Raises:
        errors.ClientError: The API does not answer.
        errors.FirstlightError: The file cannot be written.
    """
    steps = [each.id for each in prepared.work.plan.steps if each.action == Action.CERTIFY]
    outcome = result.outcomes.get(steps[0]) if steps else None
    directory = means.state / prepared.cluster.name
    if isinstance(outcome, Failed):
        path = directory / certificate_store.INCOMPLETE
        made = certificate_store.read(path).certificate if state_files.is_file(path) else None
        return (made, path) if made is not None and made.at >= int(since) else None
    if not isinstance(outcome, Passed):
        return None
    # What counts is what the cluster has: the file may be older, another cluster's, or changed by somebody.
    async with reached(prepared, means) as world:
        found = await certificate_store.load_kept(world.kube, uid=await certification.uid_of(world.kube))
    return (found.certificate, certificate_store.keep_copy(found, directory)) if found is not None else None

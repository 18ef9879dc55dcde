"""What a command says of a certificate at its end: what was proven in short, where it is, and how to try it again."""

from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors

if TYPE_CHECKING:
    from firstlight.execute.loop import Result
    from firstlight.model.certificate import Certificate
    from firstlight.operate.means import Means
    from firstlight.operate.up import Prepared


def lines(made: "Certificate", path: Path, *, cluster: str, lost: int = 0) -> list[str]:
    """In a few lines.

    Args:
        made: The certificate.
        path: The file that has it.
        cluster: Its name.
        lost: How many fields have disappeared, as somebody agreed.
    """
    from firstlight.report import handover as report
    from firstlight.report import table

    return [
        *report.certificate(made, lost=lost, columns=table.terminal_columns()),
        f"  in       {path}, as a page in {path.with_suffix('.html').name}",
        f"  again    firstlight handover {cluster} --verify {path}",
    ]


async def after(prepared: "Prepared", means: "Means", result: "Result", *, since: float) -> list[str]:
    """The same of a run that is over; nothing where it did not get that far.

    Args:
        prepared: What was run.
        means: How the world is reached.
        result: What came of it.
        since: When it began, in seconds since the epoch.
    """
    from firstlight.operate.handover import running

    try:
        found = await running.certificate(prepared, means, result, since=since)
    except errors.FirstlightError as error:  # the run has its result, whatever becomes of this
        return [f"  note     the certificate was not read again: {error.message}"]
    return lines(found[0], found[1], cluster=prepared.cluster.name) if found is not None else []

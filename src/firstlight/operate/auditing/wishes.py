"""What an audit is asked for."""

import dataclasses
import datetime


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wishes:
    """What an audit is to look for."""

    today: datetime.date
    rules: tuple[str, ...] = ()
    """Ids; all of them by default."""
    clusters: tuple[str, ...] = ()
    """Names; all of them by default."""
    with_matrix: bool = False

"""An audit rule, as people read it."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AuditCard:
    """Everything that there is to say about an audit rule."""

    id: str
    title: str
    group: str
    severity: str
    why: str
    fix: str
    finds: tuple[str, ...] = ()
    """What it looks for, each in words; nothing for a rule that a function finds."""
    sets: tuple[str, ...] = ()
    """What ``--fix`` writes, where the rule itself says so: ``spec.prune: false``."""
    sources: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Titles of the rows of the comparison that it belongs to."""
    is_own: bool = False
    """Whether the team, or a package, has written it."""

"""The two halves of a component: which of bootstrap's have files of their own, and which take Git's."""

from firstlight.model.component import Component, Form, Origin
from firstlight.model.source import Directory
from firstlight.plan import facts as plan_facts


def of_their_own(component: Component) -> tuple[Origin, ...]:
    """What bootstrap has of it in files that Git's half does not use."""
    bootstrap, gitops = component.halves
    shared = {
        source.path.rstrip("/")
        for origin in gitops
        for source in plan_facts.sources(origin)
        if isinstance(source, Directory)
    }
    return tuple(each for each in bootstrap if each.form != Form.DECLARED and not _is_within(each, shared))


def _is_within(origin: Origin, directories: set[str]) -> bool:
    """Whether all that it applies stands in one of the directories."""
    sources = plan_facts.sources(origin)
    return bool(sources) and all(
        isinstance(each, Directory)
        and any(each.path == directory or each.path.startswith(f"{directory}/") for directory in directories)
        for each in sources
    )

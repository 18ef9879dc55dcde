"""What components are called: as short as it is clear.

A release or an application is called by its name. A Kustomization that has the same name as what it brings steps
back to ``kustomization/NAME``, and what is there in two namespaces has its namespace before it.
"""

from collections.abc import Sequence

from firstlight.model.component import Form, Origin
from firstlight.model.source import Chart

_RELEASES = [Form.HELM_RELEASE, Form.APPLICATION, Form.HELMFILE, Form.HELM_COMMAND]
_CHIEFS = [*_RELEASES, Form.KUSTOMIZATION, Form.INLINE_MANIFEST]
"""Whose name a component bears, the first of them first."""
_ENGINE = {Form.FLUX_COMMAND, Form.FLUX_COMPONENTS, Form.FLUX_INSTANCE}


def of(groups: Sequence[Sequence[Origin]]) -> dict[str, tuple[Origin, ...]]:
    """Groups by their names."""
    wishes = [(_chief(group), tuple(group)) for group in groups]
    taken: dict[str, list[tuple[Origin, tuple[Origin, ...]]]] = {}
    for chief, group in wishes:
        taken.setdefault(_bare(chief, group), []).append((chief, group))
    named: dict[str, tuple[Origin, ...]] = {}
    for bare, rivals in taken.items():
        releases = [each for each in rivals if each[0].form in _RELEASES]
        for chief, group in rivals:
            name = bare
            if len(rivals) > 1 and (chief.form not in _RELEASES or len(releases) > 1):
                name = _longer(chief, bare, [each for each, _ in rivals])
            while name in named:
                name = f"{name}'"
            named[name] = group
    return named


def _chief(group: Sequence[Origin]) -> Origin:
    """The origin whose name a component bears."""
    return min(group, key=lambda each: (_CHIEFS.index(each.form) if each.form in _CHIEFS else 99, each.place))


def _bare(chief: Origin, group: Sequence[Origin]) -> str:
    if all(each.form in _ENGINE for each in group):
        return "flux"
    return chief.name or chief.form.value


def _longer(chief: Origin, bare: str, rivals: Sequence[Origin]) -> str:
    """A name that tells it from its rivals."""
    if chief.form not in _RELEASES:
        form = chief.form.value.lower().replace(" ", "-")
        same = [each for each in rivals if each.form == chief.form]
        return f"{form}/{bare}" if len(same) == 1 else f"{form}/{_namespace(chief)}/{bare}"
    return f"{_namespace(chief)}/{bare}"


def _namespace(origin: Origin) -> str:
    return (origin.source.namespace if isinstance(origin.source, Chart) else "") or origin.namespace or origin.form

"""Applications of Argo CD that give something up, or get it: what must be so before either can be."""

from firstlight import errors
from firstlight.document.within import mapping, text
from firstlight.model.component import Component, Form, Origin
from firstlight.ownership import engine_marks, resting, sync_options
from firstlight.repo.argocd import registered, settings
from firstlight.repo.work_tree import WorkTree

_CHECK = f"""\
if obj.metadata.annotations ~= nil and obj.metadata.annotations["{engine_marks.SKIP}"] == "true" then
  hs.status = "Healthy"
end"""
"""What a health check for Applications must say besides, in Lua."""


def check(tree: WorkTree, component: Component, *, is_kept: bool) -> None:
    """See that Argo CD can let go of a component, and can take it over again.

    Args:
        tree: The repo.
        component: In one cluster.
        is_kept: Whether bootstrap is to keep it; else it gives it back.

    Raises:
        errors.Refused: It cannot.
    """
    for origin in component.halves[1]:
        if origin.form != Form.APPLICATION:
            continue
        check_here(origin)
        _check_server_side(component, origin)
        if is_kept and not resting.is_declared(origin):
            _check_health(tree, component, origin)


def check_here(origin: Origin) -> None:
    """See that an Application is in the cluster to which it deploys, where all is looked at that rests or is guarded.

    Raises:
        errors.Refused: Argo CD deploys it from another one.
    """
    where = mapping(origin.definition, "spec", "destination")
    server, name = text(where, "server").rstrip("/"), text(where, "name")
    if origin.form == Form.APPLICATION and (
        server not in ("", registered.IN_CLUSTER_SERVER) or name not in ("", registered.IN_CLUSTER)
    ):
        raise errors.Refused(
            f"Application {origin.name} deploys to {name or server}, and Argo CD runs in another cluster "
            f"({origin.place})",
            hint="Only what is in the cluster of Argo CD itself is moved; elsewhere it is done by hand.",
        )


def _check_server_side(component: Component, origin: Origin) -> None:
    """See that fields pass: what Argo CD applies client-side is nobody's to take, and nobody's to give back."""
    if sync_options.is_server_side(origin.definition, (each.value for each in origin.stated)):
        return
    has_replace = sync_options.REPLACE in sync_options.of_application(origin.definition)
    do = f"Leave {sync_options.REPLACE} out of" if has_replace else f"Write {sync_options.SERVER_SIDE} into"
    raise errors.Refused(
        f"Application {origin.name} does not apply server-side ({origin.place}): what bootstrap had of "
        f"{component.name} would stay bootstrap's for ever",
        hint=f"{do} spec.syncPolicy.syncOptions, let it sync once, and move it then.",
    )


def _check_health(tree: WorkTree, component: Component, origin: Origin) -> None:
    """See that nobody waits for the health of what rests: Argo CD writes no status of it, in a cold start none ever."""
    found = settings.read(tree)
    if not found.has_application_health or found.is_rest_healthy:
        return
    raise errors.Refused(
        f"Argo CD waits for the health of its Applications here, and {origin.name} has none while it rests: in a cold "
        f"start what brings it would stay Progressing, and no wave after that of {component.name} would come",
        hint=f"Let the check for argoproj.io/Application in argocd-cm know what rests, before its last line:\n{_CHECK}",
    )

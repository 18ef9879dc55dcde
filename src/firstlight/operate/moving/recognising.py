"""Whether a change is a move and nothing else, whoever wrote it."""

from firstlight.model.move import Wish
from firstlight.operate.deciding.deciding import Decided
from firstlight.operate.moving import comparing
from firstlight.operate.moving.scene import moved
from firstlight.repo.declaration import form


def is_one(decided: Decided) -> bool:
    """Whether a component is elsewhere after it, or objects have another owner, and all else is as before."""
    return _is_relocation(decided) or _is_move(decided)


def _is_relocation(decided: Decided) -> bool:
    """Whether objects only pass from one Kustomization or Application to another."""
    if len(decided.states.paths) < 2:
        return False  # what one of them has not any more the other one has from then on
    before, after = decided.before.platform, decided.after.platform
    is_any = any(comparing.relocated(before, after, each.name) for each in after.clusters)
    return is_any and not any(comparing.relocation_differences(before, after))


def _is_move(decided: Decided) -> bool:
    """Whether one component is elsewhere after it, in one cluster or wherever it is."""
    if form.FILE not in decided.states.paths:
        return False
    before, after = decided.before.platform, decided.after.platform
    if before.declared is None or after.declared is None:
        return False
    found = {each.name: moved(before, after, each.name) for each in after.clusters}
    seats = {(each.component.name, each.after) for mine in found.values() for each in mine}
    if len(seats) != 1:
        return False
    name, seat = next(iter(seats))
    where = [cluster for cluster, mine in found.items() if mine]
    everywhere = {each.cluster for each in after.components if each.name == name}
    if set(where) != everywhere and len(where) > 1:
        return False
    wish = Wish(component=name, seat=seat, cluster="" if set(where) == everywhere else where[0])
    then = {(each.cluster, each.name): each for each in after.components}
    eased = [
        each.name
        for each in before.components
        if (each.cluster, each.name) in then and set(each.needs) ^ set(then[each.cluster, each.name].needs) == {name}
    ]
    return not any(comparing.differences(before, after, wish, eased=eased))

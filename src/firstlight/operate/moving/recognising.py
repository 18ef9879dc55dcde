"""Whether a change is a move and nothing else, whoever wrote it."""

from firstlight.model.move import Wish
from firstlight.model.platform import Platform
from firstlight.operate.moving import comparing, owned_objects
from firstlight.operate.moving.scene import moved


def is_one(before: Platform, after: Platform) -> bool:
    """Whether a component is elsewhere after it, or objects have another owner, and all else is as before."""
    return _is_relocation(before, after) or _is_move(before, after)


def _is_relocation(before: Platform, after: Platform) -> bool:
    """Whether objects only pass from one owner to another."""
    is_any = any(owned_objects.relocated(before, after, each.name) for each in after.clusters)
    return is_any and not any(owned_objects.differences(before, after))


def _is_move(before: Platform, after: Platform) -> bool:
    """Whether one component is elsewhere after it, in one cluster or wherever it is."""
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

"""Circles of dependsOn, in which each waits for the next for ever."""

from collections.abc import Iterator, Sequence

from firstlight.model.component import Origin
from firstlight.model.remark import Grade, Remark


def remarks(origins: Sequence[Origin]) -> Iterator[Remark]:
    """One remark for each circle."""
    needs = {each.id: [(need.id, need.place) for need in each.needs] for each in origins if each.needs}
    state: dict[str, int] = {}
    for start in needs:
        if start in state:
            continue
        way = [start]
        waiting = [iter(needs[start])]
        state[start] = 1
        while waiting:
            step = next(waiting[-1], None)
            if step is None:
                state[way.pop()] = 2
                waiting.pop()
                continue
            other, place = step
            if state.get(other) == 1:
                circle = [*way[way.index(other) :], other]
                message = f"dependsOn leads in a circle: {' › '.join(each.partition('/')[2] for each in circle)}"
                yield Remark(
                    place, Grade.ERROR, message[:400], "none of them ever becomes ready; remove one of the needs"
                )
            elif other in needs and other not in state:
                state[other] = 1
                way.append(other)
                waiting.append(iter(needs[other]))

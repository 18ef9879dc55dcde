"""Pauses between looks."""

from firstlight.observe.shared_watch import Pace


def test_pauses_double_up_to_the_longest_and_start_over() -> None:
    pace = Pace(first=0.1, longest=0.5)

    assert [pace.next() for _ in range(5)] == [0.1, 0.2, 0.4, 0.5, 0.5]
    pace.reset()
    assert pace.next() == 0.1


def test_the_first_is_not_longer_than_the_longest() -> None:
    assert Pace(first=1.0, longest=0.2).next() == 0.2

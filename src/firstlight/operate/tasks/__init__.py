"""A plan made work: what each step is to do, with what, and as whom."""

from firstlight.operate.tasks.making import work

__all__ = ["work"]

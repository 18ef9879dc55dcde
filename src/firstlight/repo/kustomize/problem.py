"""Why a part of a kustomization cannot be done."""

from firstlight.model.remark import Grade


class Problem(Exception):
    """Something that kustomize would refuse, or that only kustomize itself can tell; it becomes a remark."""

    def __init__(self, message: str, *, grade: Grade = Grade.ERROR, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.grade = grade
        self.hint = hint


def unknown(message: str) -> Problem:
    """Something that is left out, since reading alone cannot tell what it does."""
    return Problem(message, grade=Grade.UNKNOWN)

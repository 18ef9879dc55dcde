"""What a program printed, fit to be passed on: standard output is not shown, and standard error is masked."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a program printed; it may be a secret, and is not shown."""

    code: int
    stdout: bytes = dataclasses.field(repr=False)
    stderr: str
    """Masked."""

    @property
    def text(self) -> str:
        """Standard output."""
        return self.stdout.decode(errors="replace")

"""What a program printed, fit to be passed on: standard output is not shown, and standard error is masked."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from firstlight.clients import command
from firstlight.model.secret import Secret


@dataclasses.dataclass(frozen=True)
class ProgramAnswer:
    """What a program printed; it may be a secret, and is not shown."""

    code: int
    stdout: bytes = dataclasses.field(repr=False)
    stderr: str
    """Masked."""

    @property
    def text(self) -> str:
        """Standard output."""
        return self.stdout.decode(errors="replace")


# Secrets for programs that insist on files: arguments that name files in memory, and messages that name them back.


@dataclasses.dataclass(frozen=True)
class SecretArgument:
    """An argument that names a memory file: ``Fed("--values=", secret, "the values")``."""

    option: str
    content: Secret
    name: str
    """What it is called in messages."""


class SecretArguments:
    """The memory files of one run of a program."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.fds: list[int] = []
        """What the program inherits."""
        self._stack = stack
        self._names: dict[str, str] = {}

    def path(self, content: Secret, name: str) -> str:
        """Where the program finds a content."""
        file = self._stack.enter_context(command.memory_file(content))
        self.fds.append(file.fd)
        self._names[file.path] = name
        return file.path

    def argv(self, arguments: Sequence[str | SecretArgument]) -> list[str]:
        """The arguments as a command line."""
        return [
            f"{each.option}{self.path(each.content, each.name)}" if isinstance(each, SecretArgument) else each
            for each in arguments
        ]

    def told(self, text: str) -> str:
        """What the program says, with the files by their names."""
        for path in sorted(self._names, key=len, reverse=True):  # …/fd/61 before …/fd/6
            text = text.replace(path, self._names[path])
        return text


@contextlib.contextmanager
def secret_arguments() -> Iterator[SecretArguments]:
    """Memory files that go when the program has ended."""
    with contextlib.ExitStack() as stack:
        yield SecretArguments(stack)

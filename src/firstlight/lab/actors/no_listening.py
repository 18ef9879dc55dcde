"""Runs a program that may not listen: ``python -I -S no_listening.py PROGRAM ARGUMENT …``.

For programs that cannot be told to leave a server out, nor on which address to open it. A seccomp filter answers in
the kernel's place: ``listen`` has worked, and nobody has called yet. The program goes on as if it served; no port is
open. The filter needs no rights, cannot be taken off, and is there for the program's children too.

It is started by its path, without anything but the standard library, so that it takes no time.
"""

import ctypes
import errno
import os
import struct
import sys

ARCHITECTURES = {
    "x86_64": (0xC000003E, 50, (43, 288)),
    "aarch64": (0xC00000B7, 201, (202, 242)),
}
"""By the kernel's name: how seccomp calls it, and the numbers of listen, and of accept and accept4."""
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ANSWER = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE = 0, 4
"""Where seccomp's data has them."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def instructions(machine: str) -> bytes:
    """The filter for a kind of computer.

    Raises:
        KeyError: Its system calls are not known.
    """
    architecture, listen, accepts = ARCHITECTURES[machine]
    answers = [(listen, 0), *((number, errno.EAGAIN) for number in accepts)]
    lines = [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_IF_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _ALLOW)]
    lines.append((_LOAD, 0, 0, _NUMBER))
    for number, answer in answers:
        lines += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ANSWER | answer)]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def forbid() -> None:
    """Let this process, and whatever it becomes, listen no more.

    Raises:
        OSError: The kernel has no such filters.
        KeyError: The system calls of this kind of computer are not known.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    code = instructions(os.uname().machine)
    program = _Program(len(code) // 8, code)
    for arguments in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program)),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def main() -> None:
    """Become the program."""
    try:
        forbid()
        os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 -- the lab's own program and arguments
    except (OSError, KeyError) as error:
        sys.exit(f"{sys.argv[1]} cannot be kept from listening, so it is not started: {error}")


if __name__ == "__main__":
    main()

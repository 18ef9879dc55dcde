"""Starts a program that can execute, read and write only what it is told: a file of its own, run and never imported.

    python -I -S confined.py [--execute PATH]... [--read PATH]... [--write PATH]... -- PROGRAM ARGUMENT...

The kernel's Landlock holds it, and everything that it starts, to that; nobody can take it back. Argo CD executes what a
ConfigMap of the rehearsed repo names: another kustomize, plugins, the command of a cluster's credentials. What a flag
cannot forbid, this does. A path is a file or a directory with all below it; one that does not exist is passed over.
What can be written can be read as well, and never be executed.

Without Landlock the program does not start. It is the first of the two exit codes below that says so.
"""

import ctypes
import os
import sys

MISSING, FAILED = 78, 70
"""Exit codes: the kernel has no Landlock, or refuses its rules."""
OLDEST = 2
"""Of the versions of Landlock: before it no file could be moved to another directory (Linux 5.19)."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_PR_SET_NO_NEW_PRIVS = 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << bit for bit in range(6))
_MAKE = sum(1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_READ = _READ_FILE | _READ_DIR
_WRITE = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE | _REFER
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
"""What can be said of a file, and not only of a directory."""


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def main(arguments: list[str]) -> int:
    """Confine this process, and become the program."""
    at = arguments.index("--")
    options, program = arguments[:at], arguments[at + 1 :]
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < OLDEST:
        sys.stderr.write(f"{program[0]} is not started: this kernel cannot confine it (Landlock {max(version, 0)})\n")
        return MISSING
    write = _WRITE | (_TRUNCATE if version >= 3 else 0)
    rights = {"--execute": _EXECUTE | _READ, "--read": _READ, "--write": write | _READ}
    handled = ctypes.c_uint64(_EXECUTE | _READ | write)
    rules = libc.syscall(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(8), 0)
    done = rules >= 0
    for option, path in zip(options[::2], options[1::2], strict=True):
        done = done and _allow(libc, rules, rights[option], path)
    done = done and libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    if not done or libc.syscall(_RESTRICT_SELF, rules, 0) != 0:
        sys.stderr.write(f"{program[0]} is not started: Landlock says {os.strerror(ctypes.get_errno())!r}\n")
        return FAILED
    os.close(rules)
    os.execv(program[0], program)  # noqa: S606 -- there is no shell, and the caller has chosen the program


def _allow(libc: ctypes.CDLL, rules: int, rights: int, path: str) -> bool:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return True  # what is not there needs no rule
    try:
        rule = _Rule(rights if os.path.isdir(path) else rights & _OF_FILES, handle)
        return bool(libc.syscall(_ADD_RULE, rules, 1, ctypes.byref(rule), 0) == 0)
    finally:
        os.close(handle)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

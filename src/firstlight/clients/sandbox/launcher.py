"""A small process that starts programs inside limits; ``starting`` sends it orders, and nobody imports it.

Limits must be set in the child, between fork and exec. Doing that in the process that reads repos would mean to fork
hundreds of megabytes, with threads that hold locks, for each of hundreds of programs. This one is small and has no
threads, so a fork takes about a millisecond. It is started isolated (``-I -S``) and uses the standard library alone.

An order is one message on the socket that is its standard input: descriptors for the order itself (JSON), the status
pipe, standard input, output and error, then those that the program inherits. What becomes of it is told on the status
pipe, a JSON line each: ``started`` or ``failed``, then ``ended``. The launcher ends when the socket is closed.
"""

import array
import contextlib
import ctypes
import errno
import fcntl
import functools
import json
import mmap
import os
import platform
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_MODE_FILTER = 2
_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_THREAD = 0x10000000, 0x40000000, 0x00010000
_MOST_DESCRIPTORS = 253
"""That the kernel passes in one message."""

# Numbers of system calls. io_uring can open sockets, too; clone3 hides its flags from filters, and everybody who calls
# it falls back to clone when it does not exist.
_CALLS = {
    "x86_64": (0xC000003E, {"socket": 41, "clone": 56, "fork": 57, "vfork": 58, "io_uring_setup": 425, "clone3": 435}),
    "aarch64": (0xC00000B7, {"socket": 198, "clone": 220, "io_uring_setup": 425, "clone3": 435}),
}
_X32 = 0x40000000
"""The bit of the system calls of x86_64's second ABI, which no program uses."""

_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_ANY, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16

_libc = ctypes.CDLL(None, use_errno=True)


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


_Rule = tuple[int, int, int, int]


def rules(*, network: bool, programs: bool) -> list[_Rule]:
    """The system calls that a program may not make, as instructions of a filter.

    Args:
        network: Whether it may open sockets of the network.
        programs: Whether it may start programs.
    """
    architecture, calls = _CALLS[platform.machine()]
    found = [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_IF_EQUAL, 1, 0, architecture), _refuse(errno.EPERM)]
    found += [(_LOAD, 0, 0, _NUMBER), (_JUMP_IF_AT_LEAST, 0, 1, _X32), _refuse(errno.ENOSYS)]
    if not network:
        found += refused(calls["io_uring_setup"], errno.ENOSYS)
        # Sockets of the file system (1) stay: who may open them is a matter of permissions.
        allowed = [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_JUMP_IF_EQUAL, 0, 1, 1), (_RETURN, 0, 0, _ALLOW)]
        found += [(_JUMP_IF_EQUAL, 0, 4, calls["socket"]), *allowed, _refuse(errno.EACCES)]
    if not programs:
        for name, number in (("fork", errno.EPERM), ("vfork", errno.EPERM), ("clone3", errno.ENOSYS)):
            found += refused(calls[name], number) if name in calls else []
        allowed = [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_JUMP_IF_ANY, 0, 1, _CLONE_THREAD), (_RETURN, 0, 0, _ALLOW)]
        found += [(_JUMP_IF_EQUAL, 0, 4, calls["clone"]), *allowed, _refuse(errno.EPERM)]
    return found


def refused(call: int, number: int) -> list[_Rule]:
    """A system call that fails with an error."""
    return [(_JUMP_IF_EQUAL, 0, 1, call), _refuse(number)]


def _refuse(number: int) -> _Rule:
    return (_RETURN, 0, 0, _ERRNO | number)


def apply_filter(wanted: list[_Rule]) -> None:
    """Put a filter upon this process, and upon all that it becomes or starts.

    Raises:
        OSError: The kernel does not take it.
    """
    whole = [*wanted, (_RETURN, 0, 0, _ALLOW)]
    listed = (_Instruction * len(whole))(*(_Instruction(*each) for each in whole))
    _call(_libc.prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call(_libc.prctl, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(_Program(len(whole), listed)), 0, 0)


def _call(function: Any, *arguments: Any) -> None:
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class _Launcher:
    def __init__(self, orders: socket.socket, *, network: bool) -> None:
        self._orders = orders
        self._network = network
        self._children: dict[int, int] = {}
        """Status pipes by process."""
        self._missing: dict[str, str] = {}
        self._counts_own = False
        """Whether the kernel counts the processes of this launcher apart from all others of the user."""
        if not network:
            self._leave_network()
        _try(self._missing, "memory", _prove_memory_limit)

    def _leave_network(self) -> None:
        """A network namespace of its own, in which there is nobody; a user may have one inside a user namespace."""
        uid, gid = os.getuid(), os.getgid()
        if _libc.unshare(_CLONE_NEWNET) == 0:
            return
        try:
            _call(_libc.unshare, _CLONE_NEWUSER | _CLONE_NEWNET)
            for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
        except OSError as error:
            self._missing["namespace"] = error.strerror or "refused"
        else:
            self._counts_own = uid != 0

    def serve(self) -> None:
        """Take orders until there is nobody who gives any."""
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        poll = select.poll()
        poll.register(self._orders, select.POLLIN)
        poll.register(woken, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == woken:
                    os.read(woken, 4096)
                    self._reap()
                elif not self._take():
                    return

    def _take(self) -> bool:
        """Take one order; False where there is nobody who gives any."""
        room = socket.CMSG_SPACE(_MOST_DESCRIPTORS * 4)
        try:
            data, ancillary, _, _ = self._orders.recvmsg(1, room, socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:
            return False
        if not data:
            return False
        passed = array.array("i")
        for _, _, content in ancillary:
            passed.frombytes(content[: len(content) - len(content) % passed.itemsize])
        order, status, *rest = passed
        try:
            with os.fdopen(order, "rb") as file:
                file.seek(0)
                wanted = json.load(file)
            self._start(wanted, status, rest)
        except OSError as error:
            _tell(status, {"failed": error.errno, "what": "fork"})
            os.close(status)
        finally:
            for each in rest:
                os.close(each)
        return True

    def _start(self, wanted: dict[str, Any], status: int, descriptors: list[int]) -> None:
        told, tell = os.pipe2(os.O_CLOEXEC)
        try:
            pid = os.fork()
        except OSError:
            os.close(told)
            os.close(tell)
            raise
        if pid == 0:
            try:
                self._become(wanted, tell, descriptors)
            finally:
                os._exit(127)
        os.close(tell)
        with os.fdopen(told, "rb") as file:  # which ends when the program runs, since nobody else writes to it
            lines = [json.loads(line) for line in file]
        outcome = lines[-1] if lines else {"failed": errno.EIO, "what": "fork"}
        if "failed" in outcome:
            os.waitpid(pid, 0)
            _tell(status, outcome)
            os.close(status)
            return
        _tell(status, {"started": pid, **outcome})
        self._children[pid] = status

    def _become(self, wanted: dict[str, Any], tell: int, descriptors: list[int]) -> None:
        what = "fork"
        try:
            os.setsid()
            if wanted["dies"]:
                _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            # First all of them out of the way, then each to its number: one may have been received at another's.
            targets = [0, 1, 2, *wanted["inherited"]]
            above = max([*targets, *descriptors, tell]) + 1
            tell = fcntl.fcntl(tell, fcntl.F_DUPFD_CLOEXEC, above)
            copies = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, above) for each in descriptors]
            what = "cwd"
            os.chdir(wanted["cwd"])
            what = "limits"
            missing = dict(self._missing)
            self._limit(wanted, missing)
            for copy, target in zip(copies, targets, strict=True):
                os.dup2(copy, target, inheritable=True)
            _tell(tell, {"missing": missing})
            what = "exec"
            argv = [os.fsencode(each) for each in wanted["argv"]]
            os.execvpe(argv[0], argv, {os.fsencode(name): os.fsencode(value) for name, value in wanted["env"]})
        except OSError as error:
            _tell(tell, {"failed": error.errno, "what": what})
        except ValueError:
            _tell(tell, {"failed": errno.EINVAL, "what": what})

    def _limit(self, wanted: dict[str, Any], missing: dict[str, str]) -> None:
        processes = wanted["processes"]
        if not wanted["data"]:
            missing.pop("memory", None)
        for name, value, shown in (("DATA", "data", "memory"), ("CPU", "cpu", "cpu"), ("FSIZE", "file", "file")):
            if wanted[value]:
                _try(missing, shown, functools.partial(_lower, name, wanted[value]))
        _try(missing, "core", functools.partial(_lower, "CORE", 0))
        if processes > 0:
            if self._counts_own:
                _try(missing, "processes", functools.partial(_lower, "NPROC", processes))
            else:
                # Without a namespace the user's other programs would be counted, too.
                is_root = os.getuid() == 0
                missing["processes"] = "root is exempt" if is_root else "there is no user namespace to count them in"
        if not self._network or processes == 0:
            try:
                apply_filter(rules(network=self._network, programs=processes != 0))
            except (OSError, KeyError) as error:
                reason = f"{error.strerror}" if isinstance(error, OSError) else f"no filter for {platform.machine()}"
                if processes == 0:
                    missing["processes"] = reason
                if "namespace" in missing:
                    missing["network"] = reason
        missing.pop("namespace", None)  # without it the filter is enough

    def _reap(self) -> None:
        while self._children:
            try:
                pid, code, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            status = self._children.pop(pid)
            seconds = used.ru_utime + used.ru_stime
            _tell(status, {"ended": os.waitstatus_to_exitcode(code), "cpu": seconds})
            os.close(status)


def _lower(name: str, value: int) -> None:
    """Lower a limit; one that is lower already stays."""
    kind = getattr(resource, f"RLIMIT_{name}")
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _try(missing: dict[str, str], name: str, work: Callable[[], None]) -> None:
    try:
        work()
    except (OSError, ValueError) as error:
        missing[name] = f"{error}"


def _prove_memory_limit() -> None:
    """Some kernels take the limit and ignore it: whether it holds is tried in a child."""
    pid = os.fork()
    if pid == 0:
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (1 << 20, 1 << 20))
            mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError:
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        raise OSError(errno.ENOSYS, "the kernel does not enforce RLIMIT_DATA")


def _tell(status: int, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # perhaps nobody waits for it any more
        os.write(status, json.dumps(message).encode() + b"\n")


def _main() -> None:
    with socket.socket(fileno=os.dup(0)) as orders:
        null = os.open(os.devnull, os.O_RDWR)
        for each in (0, 1):
            os.dup2(null, each)
        _Launcher(orders, network=sys.argv[1] == "network").serve()


if __name__ == "__main__":
    _main()

"""How much each kind of program may take: the table of the sandbox."""

import dataclasses

_MIB, _GIB = 1 << 20, 1 << 30


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProgramLimits:
    """What a program may use; 0 where there is no limit. How long it may take is said by whoever starts it."""

    name: str
    data: int = 0
    """Bytes of memory that it may write to. Address space is not limited: Go reserves much that it never touches."""
    cpu: int = 0
    """Seconds of processor time."""
    file: int = 0
    """Bytes of any file that it writes."""
    processes: int = -1
    """Threads that it and its children may have together; 0 for a program that starts no other, -1 without a limit."""
    network: bool = True
    is_go: bool = False
    """Whether Go is told of the limit on memory, so that it collects garbage before it runs into the wall."""

    @property
    def is_free(self) -> bool:
        """Whether it limits nothing."""
        return not (self.data or self.cpu or self.file) and self.processes < 0 and self.network


FREE = ProgramLimits(name="free")
"""What users themselves name (hooks, credential plugins, an editor), and the servers of the lab, which stay."""

RENDERER = ProgramLimits(name="renderer", data=_GIB, cpu=120, file=256 * _MIB, processes=0, network=False, is_go=True)
"""helm template and kustomize build, on files of strangers. The largest charts in use take 200 MiB and 3 seconds."""

RENDERER_WITH_CHARTS = dataclasses.replace(RENDERER, name="renderer with charts", processes=512)
"""kustomize build where it starts helm: about 30 threads each, and several of them at the same time."""

READER = ProgramLimits(name="reader", data=2 * _GIB, cpu=300, file=2 * _GIB, processes=-1, network=False)
"""What only reads and writes files here: git without a remote, talosctl validate and gen, ssh-keygen."""

CLIENT = ProgramLimits(name="client", data=2 * _GIB, cpu=1800, file=16 * _GIB)
"""What talks to a server: git fetch, helm pull and upgrade, talosctl, omnictl."""

KEEPER = ProgramLimits(name="keeper of secrets", data=2 * _GIB, file=_GIB)
"""sops and op. They may leave an agent that lives on, so its processor time is not counted."""

BUILDER = ProgramLimits(name="builder", file=16 * _GIB)
"""The Go toolchain and pip: pinned sources, and as much memory as linking a large program takes."""

KINDS = (FREE, RENDERER, RENDERER_WITH_CHARTS, READER, CLIENT, KEEPER, BUILDER)

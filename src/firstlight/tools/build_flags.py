"""How ``go build`` is called, apart from where: part of what determines a binary, so part of its key."""

from collections.abc import Mapping, Sequence

from firstlight.tools import catalogue

ENVIRONMENT = {
    "CGO_ENABLED": "0",
    "GOFLAGS": "-modcacherw -buildvcs=false",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
    "GOENV": "off",
}
"""Settings of every build. GOENV: what the user once set with ``go env -w`` has no say here."""


def flags(tool: catalogue.Tool, stamps: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The flags of ``go build`` for a tool."""
    assert tool.build is not None
    chosen = stamps[tool.build.stamps] if tool.build.stamps else ()
    linker = ["-s", "-w", *(f"-X {catalogue.fill(stamp, tool)}" for stamp in chosen)]
    return ("-mod=readonly", "-trimpath", "-ldflags", " ".join(linker))

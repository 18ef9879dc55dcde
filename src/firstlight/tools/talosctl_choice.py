"""Which talosctl drives machines of a Talos version: the catalogue has one for each line that firstlight knows."""

from firstlight.model import versions
from firstlight.tools import catalogue, tool_version

PROGRAM = "talosctl"
"""What the file is called, and the name of the newest in the catalogue."""


def name_for(talos: str, known: catalogue.Catalogue | None = None) -> str:
    """Return the catalogue's name of the talosctl for machines of a version: of their own line, else the newest.

    One that is newer than the machines works, one that is older does not.
    """
    known = known or catalogue.load()
    whole = versions.parse_version(talos)
    if whole is None:
        return PROGRAM
    wanted = tool_version.ToolVersion((whole.major, whole.minor, whole.patch))
    for tool in known.tools.values():
        if tool.file_name == PROGRAM and tool.requirement is not None and tool.requirement.accepts(wanted):
            return tool.name
    return PROGRAM

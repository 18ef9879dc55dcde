"""Options of ``kustomize build`` that a rehearsal allows without a question: none of them executes anything of a repo.

The list is data, and the same as that of the lab's guard (``lab/programs/internal/guard/allowed.json``). All other
options need the user's word: ``--enable-exec`` starts programs that a kustomization names, ``--helm-command`` another
helm, ``--mount`` and ``--network`` belong to containers of functions. ``--enable-alpha-plugins`` alone is on the list,
since the containers and plugins that it permits cannot be started by what is confined.
"""

import functools
from pathlib import Path

import msgspec


@functools.cache
def allowed() -> dict[str, tuple[str, ...]]:
    """Each option with its values: none for a switch, ``*`` for any."""
    data = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes())
    return {name: tuple(values) for name, values in data["kustomize"]["options"]["build"].items()}


def refused(options: str) -> tuple[str, ...]:
    """The options of a line, as ``kustomize.buildOptions`` has it, that are not allowed; each once."""
    found: dict[str, None] = {}
    words = options.split()
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            continue
        name, separator, value = word.partition("=")
        values = allowed().get(name)
        if values is None:
            found[name] = None
        elif values:
            value = value if separator else words.pop(0) if words else ""
            if "*" not in values and value not in values:
                found[f"{name}={value}"] = None
    return tuple(found)

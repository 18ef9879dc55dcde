"""Events in words: one line each, for a terminal's live line and for the log of a CI job alike."""

from typing import assert_never

from firstlight.tools import catalogue, events


def tell(event: events.Event) -> str:
    """What happens, without the name of the tool."""
    match event:
        case events.Waiting(holder=holder):
            return f"waiting for {holder}"
        case events.PassedOver(what=what, why=why):
            return f"not {what}: {why}"
        case events.Downloading(received=received, size=size):
            return f"downloading {_megabytes(received)}" + (f" of {_megabytes(size)}" if size else "")
        case events.PreparingGo(version=version):
            return f"installing Go {version} into the cache, because there is none that will do"
        case events.FetchingModules(modules=0):
            return "reading modules"
        case events.FetchingModules(modules=modules):
            return f"fetching modules, {modules} so far"
        case events.Compiling(done=done, total=total, seconds=seconds, seconds_left=left):
            if done >= total:
                return f"linking, {duration(seconds)} so far"
            estimate = f", about {duration(left)} left" if left >= 1 else ""
            return f"compiling {done} of {total} packages{estimate}"
        case events.Ready(version=version, how=how, seconds=seconds):
            # "source" is no version that means something to a reader.
            return " ".join(part for part in (version.removeprefix(catalogue.SOURCE), _how(how, seconds)) if part)
        case _:
            assert_never(event)


def duration(seconds: float) -> str:
    """Seconds as people say them: 48 s, 3 min."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _how(how: str, seconds: float) -> str:
    done = {
        "build": "built",
        "download": "downloaded",
        "modules": "taken from Go modules",
        "cache": "in the cache",
        "path": "on PATH",
        "assets": "in KUBEBUILDER_ASSETS",
    }
    word = done.get(how, how)
    return f"{word} in {duration(seconds)}" if how in {"build", "download", "modules"} else word


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"

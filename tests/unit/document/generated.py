"""YAML as nobody should write it: scalars, and documents with anchors, merges, and every style inside of every other.

A document has either keys that are no texts or merges: where both meet, Go's libraries disagree with themselves.
"""

import random
from collections.abc import Callable

WORDS = (
    "true", "True", "yes", "Yes", "on", "Off", "n", "null", "~", "Null", "", ".inf", "-.INF", ".nan", "0x1F", "-0x1f",
    "0o17", "0b11", "017", "08", "1_000", "1e3", "685e3", "1.5", "1.10", "2001-01-01", "2001-1-1T1:2:3Z", "=", "1:2",
    "2001-1-1 1:2:3.5", "12:30:45", "18446744073709551615", "18446744073709551616", "9223372036854775808", "1e400",
    "-9223372036854775808", "-9223372036854775809", ".5", "+.5", "5.", "0.1e-5", "-0", "-0.0", "+0", "00", "0x", "1__2",
    "0b-101", "2001-13-01", "2001-02-29", "0000-01-01", "2000-01-01T24:00:00Z", "2001-1-1t1:2:3.123456789123+01:00",
    "v1.2.3", "10.0.0.0/16", "a b", "https://example.org/a#b", "a:b", "-a", "--flag=x", "100Mi", "0.5", "1e21", "1.0",
    "123456789012345678901.0", ".9_5", "0.0000001", "1e-7", "1234567890123456789.0",
)  # fmt: skip
TAGGED = (
    "!!str 1", "!!int 1", "!!int '7'", "!!float 1", "!!binary aGk=", "!!binary /w==", "!!binary 4oKs4oI=", "! 12",
    "!foo x", "!!null ''", "!!bool yes", "!!timestamp 2001-01-01", "!!str", "!<tag:yaml.org,2002:int> 3", "!",
    "!!bool 'true'", "!!float x", "!!int 1.5", "!!map {a: 1}", "!!seq [1]", "!!set {a}", "!foo [1]",
)  # fmt: skip
_FINITE = tuple(each for each in WORDS if each[-3:].lower() not in {"inf", "nan"})
_ALPHABET = "0123456789+-._:eExXoObBnNaAiIfFyYtTpPZ~ <=>|!&*%@`'\"#?[]{}\\/,\t\né\u0085\u2028😀"
_FRAMES = (
    "@", "k: @\n", "- @\n", "@: v\n", "[@]\n", "[a, @, b]\n", "{@: 1}\n", "{k: @}\n", "k: '@'\n", 'k: "@"\n',
    "a: @\nb: @\n", "k: |\n  @\n", "k: >-\n  @\n  x\n", "? @\n: 1\n", "k: @ # c\n", "k:\n  @\n", "'@': 1\n",
)  # fmt: skip


def scalar(chance: random.Random) -> str:
    """A text that may mean something else."""
    match chance.randrange(8):
        case 0 | 1:
            return chance.choice(WORDS)
        case 2:
            return chance.choice(TAGGED)
        case 3 | 4:
            return "".join(chance.choice("0123456789+-._eExXobaf") for _ in range(chance.randint(1, 8)))
        case 5:
            letters = list(chance.choice(WORDS + TAGGED))
            for _ in range(chance.randint(1, 2)):
                letters.insert(chance.randint(0, len(letters)), chance.choice(_ALPHABET))
            return "".join(letters)
        case 6:
            return (
                f"{chance.randint(0, 9999):04}-{chance.randint(0, 13)}-{chance.randint(0, 32)}{chance.choice('Tt ')}"
                f"{chance.randint(0, 25)}:{chance.randint(0, 60)}:{chance.randint(0, 60)}"
                f"{chance.choice(['', '.5', '.123456', '.10', ',5'])}"
                f"{chance.choice(['', 'Z', '+01:00', '-00:30', '+00:00', 'z', '+1:00', '+24:00', '+25:00'])}"
            )
        case _:
            return "".join(chance.choice(_ALPHABET) for _ in range(chance.randint(0, 6)))


def small(chance: random.Random) -> str:
    """A scalar in some place of a small document."""
    return chance.choice(_FRAMES).replace("@", scalar(chance))


class Writer:
    """Writes one document after the other."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.anchors: list[str] = []
        self.mappings: list[str] = []
        self.has_merges = True

    def document(self) -> str:
        """A document that is mostly YAML."""
        self.anchors, self.mappings = [], []
        chance = self.chance
        self.has_merges = chance.random() < 0.5
        body: Callable[[int, int], str] = chance.choice([self.mapping, self.mapping, self.sequence])
        text = body(0, 3)
        if chance.random() < 0.2:
            text = chance.choice(["---\n", "--- # a\n", "# head\n---\n", "%YAML 1.1\n---\n"]) + text
        if chance.random() < 0.1:
            text += chance.choice(["...\n", "# tail\n", "\n\n"])
        if chance.random() < 0.1:
            text = text.replace("\n", "\r\n")
        if chance.random() < 0.1:
            text = text.rstrip("\r\n")
        return ("\ufeff" if chance.random() < 0.05 else "") + text

    def key(self) -> str:
        chance = self.chance
        if self.has_merges or chance.random() < 0.7:
            return chance.choice("abcdefgh") + chance.choice(["", "", "-x", ".y/z", "1"])
        return chance.choice(
            ["1", "1.5", "true", "on", "0x10", "'on'", '"q k"', "1e3", "'1'", "2001-01-01", "-1", "1e10", "=", "u v"]
        )

    def keys(self, count: int) -> list[str]:
        """Keys that mean different things to everybody."""
        found = {}
        for _ in range(count):
            key = self.key()
            meaning = key.strip("'\"")
            found[{"on": "true", "1e3": "1000"}.get(meaning, meaning)] = key
        return list(found.values())

    def plain(self, *, flow: bool) -> str:
        chance = self.chance
        match chance.randrange(6):
            case 0 | 1:
                return chance.choice(_FINITE) or "''"
            case 2:
                return chance.choice(["text", "a long text", "x y", "tag@sha", "a'b", 'a"b', "ü"])
            case 3:
                return "'" + chance.choice(["", "a", "it''s", "1", "on", "a: b", "# no"]) + "'"
            case 4:
                return (
                    '"'
                    + chance.choice(["", "a", "\\n", "\\u00e9", "\\t x", "1", "\\\\", "a: b", "\\x41", "a\\\n    b"])
                    + '"'
                )
            case _:
                if self.anchors and chance.random() < 0.6:
                    return "*" + chance.choice(self.anchors) + (" " if flow else "")
                tagged = chance.choice(TAGGED) + (" " if flow else "")
                return tagged if chance.random() < 0.2 else chance.choice(["a", "1", "b"])

    def flow(self, depth: int) -> str:
        chance = self.chance
        if depth <= 0 or chance.random() < 0.5:
            return self.plain(flow=True)
        gap = chance.choice(["", " ", "\n      "])
        count = chance.randint(0, 3)
        if chance.random() < 0.5:
            return "[" + gap + (f",{gap or ' '}").join(self.flow(depth - 1) for _ in range(count)) + gap + "]"
        pairs = [f"{key}: {self.flow(depth - 1)}" for key in self.keys(count)]
        if self.mappings and chance.random() < 0.2:
            pairs.append(f"<<: *{chance.choice(self.mappings)} ")
        return "{" + gap + f",{gap or ' '}".join(pairs) + gap + "}"

    def value(self, indent: int, depth: int) -> str:
        """What follows ``key:`` or ``-``, with the line's end."""
        chance = self.chance
        anchor = ""
        if chance.random() < 0.15:
            anchor = f" &{chance.choice('pqrs')}"
        kind = chance.randrange(10) if depth > 0 else chance.randrange(6)
        text = self._value(kind, indent, depth, anchor)
        if anchor:  # known only behind it
            self.anchors.append(anchor[2:])
            if kind in {8, 9} and self.has_merges:
                self.mappings.append(anchor[2:])
        return text

    def _value(self, kind: int, indent: int, depth: int, anchor: str) -> str:
        chance = self.chance
        comment = chance.choice(["", "", "", " # c"])
        if kind <= 2:
            text = self.plain(flow=False)
            if text.startswith(("*", "!", "&")):
                anchor = ""
            return f"{anchor} {text}{comment}\n"
        if kind == 3:
            return f"{anchor} {self.flow(2)}{comment}\n"
        if kind == 4:
            return f"{anchor}{self.block_scalar(indent)}"
        if kind == 5:
            return f"{anchor}{comment}\n"
        if kind in {6, 7}:
            return f"{anchor}{comment}\n" + self.sequence(indent + chance.choice([0, 2, 2, 4]), depth - 1)
        return f"{anchor}{comment}\n" + self.mapping(indent + chance.choice([1, 2, 2, 4]), depth - 1)

    def block_scalar(self, indent: int) -> str:
        chance = self.chance
        own = indent + chance.choice([1, 2, 4])
        first = chance.random() < 0.2
        header = chance.choice("|>") + (str(own - indent) if first else "") + chance.choice(["", "-", "+"])
        lines = [
            chance.choice(["a", "b c", "", "- d", "k: v", "  deep", "# no", "'", "{{ x }}"])
            for _ in range(chance.randint(0, 4))
        ]
        if lines and lines[0].startswith(" ") and not first:
            lines[0] = "x"
        return f" {header}\n" + "".join((" " * own + line if line else "") + "\n" for line in lines)

    def mapping(self, indent: int, depth: int) -> str:
        chance = self.chance
        lines, has_merge = [], False
        for key in self.keys(chance.randint(1, 4)):
            if chance.random() < 0.1:
                lines.append(chance.choice(["\n", " " * indent + "# comment\n", "# comment\n"]))
            if self.mappings and chance.random() < 0.3 and not has_merge:
                has_merge = True
                lines.append(" " * indent + f"<<: {self.merge()}\n")
            if chance.random() < 0.03:
                lines.append(f"{' ' * indent}? {key}\n{' ' * indent}:{self.value(indent, depth)}")
            else:
                lines.append(f"{' ' * indent}{key}:{self.value(indent, depth)}")
        return "".join(lines)

    def merge(self) -> str:
        chance = self.chance
        one = f"*{chance.choice(self.mappings)}"
        return chance.choice(
            [one, one, f"[{one} , *{chance.choice(self.mappings)} ]", "{a: 9, zz: 1}", f"[{{a: 7}}, {one} ]"]
        )

    def sequence(self, indent: int, depth: int) -> str:
        chance = self.chance
        lines = []
        for _ in range(chance.randint(1, 3)):
            if depth > 0 and chance.random() < 0.4:  # a mapping on the line of the dash
                body = self.mapping(indent + 2, depth - 1)
                if body.strip() and not body.lstrip(" ").startswith(("#", "\n")):
                    lines.append(" " * indent + "- " + body[indent + 2 :])
                    continue
                lines.append(f"{' ' * indent}-\n{body}")
            else:
                lines.append(f"{' ' * indent}-{self.value(indent, depth)}")
        return "".join(lines)

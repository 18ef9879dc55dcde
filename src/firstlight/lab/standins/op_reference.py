"""Secret references, ``op://vault/item[/section]/field[?attribute=…]``, and templates that contain them."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

PREFIX = "op://"
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_. -]")
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}|(?P<plain>[A-Za-z_]\w*))")
# What may stand in an unenclosed reference is documented; whatever else follows ends it. Enclosed ones may have spaces.
_PLACE = re.compile(
    r"""\{\{\s*(?P<enclosed>op://(?:[^{}]|\$\{[^}]*\})+?)\s*\}\}
      | \{\{\s*"(?P<literal>(?:[^"\\]|\\.)*)"\s*\}\}
      | (?<![A-Za-z0-9+.\\-])(?P<bare>op://(?:[A-Za-z0-9?_./=-]|\$\{[^}]*\}|\$[A-Za-z_]\w*)*)""",
    re.VERBOSE,
)


class InvalidOpReference(Exception):
    """It cannot be read; the message is what ``op`` says."""


@dataclasses.dataclass(frozen=True)
class OpReference:
    """A reference in parts."""

    text: str
    vault: str
    item: str
    section: str
    field: str
    attribute: str = ""

    @property
    def place(self) -> str:
        """Vault and item, as messages name them."""
        return f"{self.vault}/{self.item}"


def parse(text: str) -> OpReference:
    """A reference.

    Raises:
        InvalidReferenceError: It is none.
    """
    if not text.startswith(PREFIX):
        raise InvalidOpReference(f"invalid secret reference '{text}': missing '{PREFIX}' prefix")
    path, _, query = text.removeprefix(PREFIX).partition("?")
    parts = path.split("/")
    if len(parts) < 3 or not all(parts):
        raise InvalidOpReference(
            f"invalid secret reference '{text}': too few '/': "
            "secret references should have at least vault, item and field specified"
        )
    if len(parts) > 4:
        raise InvalidOpReference(
            f"invalid secret reference '{text}': too many '/': secret references should match "
            "op://<vault>/<item>[/<section>]/<field>"
        )
    if found := _FORBIDDEN.search("".join(parts)):
        raise InvalidOpReference(
            f"invalid secret reference '{text}': invalid character in secret reference: '{found[0]}'"
        )
    asked = dict(parse_qsl(query))
    section = parts[2] if len(parts) == 4 else ""
    return OpReference(text, parts[0], parts[1], section, parts[-1], asked.get("attribute", asked.get("attr", "")))


def inject(template: str, resolve: Callable[[str], str], variables: Mapping[str, str]) -> str:
    """A template with every reference resolved; it is found anywhere, also in a comment.

    Args:
        template: The text.
        resolve: Gives the value of a reference.
        variables: What ``$NAME`` and ``${NAME:-default}`` in references stand for.
    """

    def expand(match: re.Match[str]) -> str:
        name = match["braced"] or match["plain"]
        value = variables.get(name, match["default"])
        if value is None:
            raise InvalidOpReference(f"could not find variable {name}")
        return value

    def replace(match: re.Match[str]) -> str:
        if match["literal"] is not None:
            return re.sub(r"\\(.)", r"\1", match["literal"])
        return resolve(_VARIABLE.sub(expand, match["enclosed"] or match["bare"]))

    return _PLACE.sub(replace, template)

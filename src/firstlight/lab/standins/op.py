"""A stand-in for 1Password's command line: ``op --version | whoami | read | item get | inject``, by its contract.

The lab has it as ``LAB/bin/op``. It is not 1Password's: what it knows is in ``vault.yaml`` beside it. Programs get what
they would get from the real one, byte for byte; people are told on their terminal, by the version, and by the address
that ``whoami`` gives.
"""

import argparse
import csv
import dataclasses
import datetime
import io
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn
from urllib.parse import parse_qsl

from firstlight import errors
from firstlight.lab.standins import op_output, op_session, standin_vaults
from firstlight.lab.standins.op_session import OpFailure, OpUnconfigured

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


# The command.


VERSION = "2.32.1+firstlight.lab.standin"
HOME = "FIRSTLIGHT_STANDINS"
"""The variable that says where the stand-ins keep their file."""
SAID = "op: a stand-in of a firstlight lab, not 1Password's"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OpFailure(message)


class Op:
    """One call."""

    def __init__(self, env: Mapping[str, str], stdin: IO[str], out: IO[str]) -> None:
        self._env = env
        self._in = stdin
        self._out = out

    def run(self, argv: Sequence[str]) -> None:
        """Do what is asked.

        Raises:
            OpFailure: With what ``op`` says.
        """
        asked = _parser().parse_args(list(argv))
        if asked.version:
            self._out.write(VERSION + "\n")
            return
        if asked.run is None:
            _parser().print_help(self._out)
            return
        action: Callable[[Op, argparse.Namespace], None] = asked.run
        action(self, asked)

    def _session(self) -> op_session.OpSession:
        return op_session.begin_session(self._env, Path(self._env.get(HOME, ".")))

    def _is_json(self, asked: argparse.Namespace) -> bool:
        return bool((asked.format or self._env.get("OP_FORMAT")) == "json")

    def whoami(self, asked: argparse.Namespace) -> None:
        """Who is signed in."""
        try:
            mine = self._session()
        except OpFailure as error:
            raise OpFailure(error.of_whoami or str(error)) from None
        if not isinstance(mine, op_session.LocalSession):
            raise OpFailure("whoami doesn't support Connect")
        self._out.write(op_output.whoami(mine, as_json=self._is_json(asked)))

    def read(self, asked: argparse.Namespace) -> None:
        """The value of one reference."""
        value = self._resolve(self._session, asked.reference)
        if not asked.out_file:
            self._out.write(value + ("" if asked.no_newline else "\n"))
            return
        self._write_file(asked, value)

    def item_get(self, asked: argparse.Namespace) -> None:
        """An item, or some of its fields."""
        vault, item = self._session().get(asked.item, asked.vault)
        chosen = [each for word in asked.fields for each in _chosen(item, word)] if asked.fields else None
        if self._is_json(asked):
            self._out.write(op_output.as_json(_shape(vault, item, chosen)))
        elif chosen is None:
            self._out.write(op_output.as_text(vault, item, reveal=asked.reveal))
        else:
            row = io.StringIO()
            csv.writer(row, lineterminator="\n").writerow(
                op_output.shown(item, each, reveal=asked.reveal) for each in chosen
            )
            self._out.write(row.getvalue())

    def inject(self, asked: argparse.Namespace) -> None:
        """A template with its references resolved."""
        try:
            template = Path(asked.in_file).read_text() if asked.in_file else self._in.read()
        except OSError as error:
            raise OpFailure(f"could not read file at {asked.in_file}: {error.strerror}") from None
        opened: list[op_session.OpSession] = []

        def once() -> op_session.OpSession:
            if not opened:
                opened.append(self._session())
            return opened[0]

        try:
            text = inject(template, lambda text: self._resolve(once, text), self._env)
        except InvalidOpReference as error:
            raise OpFailure(str(error)) from None
        if asked.out_file:
            self._write_file(asked, text)
        else:
            self._out.write(text)

    def _resolve(self, begin: Callable[[], op_session.OpSession], text: str) -> str:
        try:
            asked = parse(text)
        except InvalidOpReference as error:
            raise OpFailure(str(error)) from None
        try:
            mine = begin()
            _, item = mine.read(asked.vault, asked.item)
            found = item.find(asked.field, asked.section)
            if found is None:
                raise OpFailure(mine.lacks(asked.place, asked.field, asked.section))
            return _attribute(found, asked.attribute)
        except OpUnconfigured:
            raise
        except OpFailure as error:
            raise OpFailure(f"could not read secret '{text}': {error}") from None

    def _write_file(self, asked: argparse.Namespace, text: str) -> None:
        path = Path(asked.out_file)
        if path.exists() and not asked.force:
            raise OpFailure(f"file {path} already exists, use --force to overwrite it")
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, int(asked.file_mode, 8))
        with os.fdopen(handle, "w") as file:
            file.write(text)
        self._out.write(f"{path.absolute()}\n")


def _parser() -> argparse.ArgumentParser:
    """The arguments that are understood; the global flags are taken anywhere, as the real one does."""
    shared = _Parser(add_help=False, allow_abbrev=False)
    for flag in ("--account", "--session", "--config", "--encoding", "--format"):
        shared.add_argument(flag, default=argparse.SUPPRESS)
    for flag in ("--cache", "--debug", "--no-color", "--iso-timestamps"):
        shared.add_argument(flag, nargs="?", const="true", default=argparse.SUPPRESS)
    top = _Parser(prog="op", description=SAID, parents=[shared], allow_abbrev=False)
    top.add_argument("--version", "-v", action="store_true")
    top.set_defaults(run=None, format="")
    commands = top.add_subparsers(metavar="command", parser_class=_Parser)

    def command(name: str, action: Callable[[Op, argparse.Namespace], None], into: Any = commands) -> Any:
        made = into.add_parser(name, parents=[shared], allow_abbrev=False)
        made.set_defaults(run=action)
        return made

    command("whoami", Op.whoami)
    read = command("read", Op.read)
    read.add_argument("reference")
    read.add_argument("--no-newline", "-n", action="store_true")
    inject = command("inject", Op.inject)
    inject.add_argument("--in-file", "-i", default="")
    for each in (read, inject):
        each.add_argument("--out-file", "-o", default="")
        each.add_argument("--file-mode", default="0600")
        each.add_argument("--force", "-f", action="store_true")
    items = commands.add_parser("item", allow_abbrev=False).add_subparsers(metavar="command", parser_class=_Parser)
    get = command("get", Op.item_get, items)
    get.add_argument("item")
    get.add_argument("--vault", default="")
    get.add_argument("--fields", type=lambda text: text.split(","), default=[])
    get.add_argument("--reveal", action="store_true")
    return top


def _chosen(item: standin_vaults.VaultItem, word: str) -> list[standin_vaults.VaultField]:
    """The fields that ``--fields`` names: a label, an id, or ``label=…`` and ``type=…``."""
    key, _, value = word.partition("=")
    if key == "type" and value:
        return [each for each in item.fields if each.type == value.upper()]
    name = value if key == "label" and value else word
    section, _, label = name.rpartition(".")
    found = item.find(name) or item.find(label, section)
    if not isinstance(found, standin_vaults.VaultField):
        raise OpFailure(f'"{name}" isn\'t a field in the "{item.title}" item')
    return [found]


def _shape(
    vault: standin_vaults.StandinVault, item: standin_vaults.VaultItem, chosen: list[standin_vaults.VaultField] | None
) -> object:
    if chosen is None:
        return op_output.item(vault, item)
    shapes = [op_output.field(vault, item, each) for each in chosen]
    return shapes[0] if len(shapes) == 1 else shapes


def _attribute(found: standin_vaults.VaultField | standin_vaults.VaultAttachment, name: str) -> str:
    if isinstance(found, standin_vaults.VaultField):
        known = {"value": found.value, "type": found.type, "title": found.label, "label": found.label, "id": found.id}
        known |= {"": found.value, "purpose": found.purpose}
    else:
        content = found.content.decode(errors="replace")
        known = {"": content, "content": content, "size": str(len(found.content)), "id": found.id, "name": found.name}
        known["type"] = "FILE"
    if name not in known:
        raise OpFailure(f"the lab's stand-in has no attribute '{name}'")
    return known[name]


def call(argv: Sequence[str], *, env: Mapping[str, str], stdin: IO[str], out: IO[str], err: IO[str]) -> int:
    """Run ``op``; the exit code."""
    if err.isatty():
        err.write(SAID + "\n")
    try:
        Op(env, stdin, out).run(argv)
    except OpFailure as error:
        stamp = "" if isinstance(error, OpUnconfigured) else f"[ERROR] {datetime.datetime.now():%Y/%m/%d %H:%M:%S} "
        err.write(f"{stamp}{error}\n")
        return 1
    except errors.ConfigError as error:
        err.write(f"{SAID}: {error.path}: {error}. {error.hint}".rstrip() + "\n")
        return 1
    return 0


def main() -> None:
    """Entry point of ``LAB/bin/op``."""
    sys.exit(call(sys.argv[1:], env=os.environ, stdin=sys.stdin, out=sys.stdout, err=sys.stderr))


if __name__ == "__main__":
    main()

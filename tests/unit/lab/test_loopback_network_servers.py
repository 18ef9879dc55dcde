"""The list of servers: it has what the actors open, and the docs have what of it is open to everybody."""

import re
from pathlib import Path

from firstlight.lab import loopback_network
from firstlight.lab.actors import actor_table

DOCS = Path(__file__).parents[3] / "docs" / "lab.md"
ROW = re.compile(r"\| `(?P<of>[a-z-]+)` \| (?P<port>\d+) \| (?P<gives>.+) \|")


def test_the_docs_name_what_is_open_and_nothing_else() -> None:
    open_ones = [(each.of, each.port, each.gives) for each in loopback_network.server_table() if each.asks == "nothing"]
    section = DOCS.read_text().partition("## Who can reach it")[2].partition("\n## ")[0]

    assert [(match["of"], int(match["port"]), match["gives"]) for match in ROW.finditer(section)] == open_ones


def test_a_server_is_listed_once_and_says_what_it_gives_away() -> None:
    places = [(each.of, each.port) for each in loopback_network.server_table()]

    assert len(set(places)) == len(places)
    assert [each for each in loopback_network.server_table() if (each.asks == "nothing") is not bool(each.gives)] == []


def test_ports_that_actors_are_told_to_open_are_listed() -> None:
    listed = {(each.of, each.port) for each in loopback_network.server_table()}
    own = re.compile(r"(?:\{address\}:)\{port:(\d+)\}")
    named = {
        (row.name, int(port)) for row in actor_table.table() for text in row.templates for port in own.findall(text)
    } | {
        (row.name, port)
        for row in actor_table.table()
        for text in row.flags
        if text.startswith(("--port=", "--metrics-port="))
        for port in actor_table.template_ports(text)
    }

    assert named <= listed
    assert {row.name for row in actor_table.table() if not row.listens} & {of for of, _ in listed} == set()


def test_actors_open_nothing_on_all_addresses() -> None:
    flags = [(row.name, each) for row in actor_table.table() for each in row.flags if re.search(r"=:|0\.0\.0\.0", each)]

    assert flags == []

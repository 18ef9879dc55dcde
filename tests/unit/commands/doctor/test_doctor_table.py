"""The table in the docs has the rows of the failures that there are: no more, no fewer, none that was changed since."""

from tests.doctor import all_failures, table


def test_the_rows_are_those_of_the_registry() -> None:
    rows = [line for line in table.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    expected = [
        table.row(registry.stage, each, "", "").split(" | ")[:3]
        for registry in all_failures.REGISTRIES
        for each in registry.failures.values()
    ]

    assert [line.split(" | ")[:3] for line in rows] == expected
    assert all(line.split(" | ")[3].strip() and line.rstrip(" |").endswith(" s") for line in rows)


def test_ids_are_unique() -> None:
    ids = [each for registry in all_failures.REGISTRIES for each in registry.failures]

    assert len(ids) == len(set(ids))


def test_a_page_has_what_was_noted() -> None:
    noted = {
        each: {"says": "Deployment test-0123abcd/web: a|b", "code": "r", "seconds": 1.24, "explains": 2}
        for registry in all_failures.REGISTRIES
        for each in registry.failures
    }

    made = table.page(noted)

    assert "| Deployment shop/web: a\\|b (explains 2 more) `r` | 1.2 s |" in made

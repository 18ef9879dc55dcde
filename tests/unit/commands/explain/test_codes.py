"""Groups of codes: every card belongs to one, and its page exists."""

from pathlib import Path

from firstlight.commands.explain import codes
from firstlight.document import diagnostic_cards

ROOT = Path(__file__).parents[4]


def test_the_longest_directory_counts() -> None:
    (card,) = diagnostic_cards.read(b"a: {title: T, why: W, fix: F}", home="render/inline")
    (other,) = diagnostic_cards.read(b"a: {title: T, why: W, fix: F}", home="render/elsewhere")

    assert codes.group(card).title == "Inline manifests"
    assert codes.group(other).title == "Rendering"


def test_every_package_belongs_to_a_group() -> None:
    source = ROOT / "src/firstlight"
    for directory in (each.parent for each in source.rglob("__init__.py") if each.parent != source):
        home = directory.relative_to(source).as_posix()
        (card,) = diagnostic_cards.read(b"a: {title: T, why: W, fix: F}", home=home)

        assert codes.group(card).title, home


def test_pages_exist() -> None:
    assert [each.page for each in codes.groups() if not (ROOT / "docs" / each.page).is_file()] == []

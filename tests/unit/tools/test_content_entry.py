import pytest

from firstlight import errors
from firstlight.tools import catalogue, content_entry, workshop
from tests.unit.tools import tiny, tiny_module


def parse(text: str) -> content_entry.CatalogueContent:
    return catalogue.parse(text, path="catalogue.toml").content["tiny-chart"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('summary = "a chart"', 'summary = "a chart"\ncolour = "red"', "unknown key 'colour'"),
        ('directory = "tiny"\n', 'directory = "tiny"\ncolour = "red"\n', "unknown key 'colour'"),
        ('omit = [', 'colour = "red"\nomit = [', "unknown key 'colour'"),
        ('bundle = ', 'colour = "red"\nbundle = ', "unknown key 'colour'"),
        ('version = "1.0.0"\n', "", "version"),
        ('name = "tiny-chart"', 'name = "Tiny"', "lower case"),
        (tiny_module.SUM, "sha256:abc", "not a hash as in go.sum"),
        (tiny_module.SUM, "", "not a hash as in go.sum"),
        ('"tiny"\n"deploy', '"../tiny"\n"deploy', "not a place for content"),
        ('"tiny"\n"deploy', '"/tiny"\n"deploy', "not a place for content"),
        ('"bin/run.sh"', '"licences/run.sh"', "not a place for content"),
        ('"bin/run.sh"', '"provenance.json"', "not a place for content"),
        ('"hack/run.sh"', '"hack/../run.sh"', "not a path inside"),
        ('"hack/run.sh"', '""', "not a path inside"),
        ('used_by = ["lab"]', 'used_by = ["lab"]\nrecipe = "x"', "belongs to manifests"),
        ('used_by = ["lab"]', 'used_by = ["lab"]\nmanifests = {"../x" = "scratch"}', "not a place for manifests"),
        ('used_by = ["lab"]', 'used_by = ["lab"]\nmanifests = {"scratch/x" = "scratch"}', "not a place for manifests"),
        ('used_by = ["lab"]', 'used_by = ["lab"]\nsets = ["nowhere"]', "no set 'nowhere'"),
        ('name = "tiny-chart"', 'name = "twin"', "twice"),
    ],
)  # fmt: skip
def test_refuses_an_entry_that_says(old: str, new: str, complaint: str) -> None:
    assert old in tiny_module.CONTENT

    with pytest.raises(errors.ConfigError, match=complaint):
        catalogue.parse(tiny.CATALOGUE + tiny_module.CONTENT.replace(old, new, 1), path="catalogue.toml")


def test_refuses_an_entry_without_modules_or_with_one_of_which_nothing_is_taken() -> None:
    bare = '[[content]]\nname = "x"\nsummary = "x"\nversion = "1"\nused_by = ["lab"]\n'

    with pytest.raises(errors.ConfigError, match="at least one module"):
        catalogue.parse(bare + "module = []\n", path="catalogue.toml")
    with pytest.raises(errors.ConfigError, match=r"nothing is taken from example\.test/tiny@v1"):
        catalogue.parse(
            f'{bare}[[content.module]]\npath = "example.test/tiny"\nversion = "v1"\nsum = "{tiny_module.SUM}"\n',
            path="catalogue.toml",
        )


def test_content_comes_after_the_tools_of_its_sets_and_is_no_tool() -> None:
    known = catalogue.parse(
        tiny.CATALOGUE + tiny_module.CONTENT.replace("used_by", 'sets = ["both"]\nused_by', 1), path="catalogue.toml"
    )

    assert known.members("both") == ("tiny", "twin", "tiny-chart")
    assert known.members("all") == ("tiny", "twin", "tiny-chart")
    assert known.split(["tiny-chart", "tiny", "tiny-chart", "what"]) == (("tiny", "what"), ("tiny-chart",))
    with pytest.raises(errors.UsageError, match="is content"):
        known.get("tiny-chart")
    with pytest.raises(errors.UsageError, match="no content 'tiny'"):
        known.get_content("tiny")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (tiny_module.SUM, tiny_module.SUM.replace("I", "J", 1)),
        ('"bin/run.sh"', '"run.sh"'),
        ('"tests/*"', '"never/*"'),
        ("dig", "not"),
        ('app_version = "v1.0.0"', 'app_version = "v1.0.1"'),
        ('drop = ["annotations", "dependencies"]', 'drop = ["dependencies"]'),
    ],
)
def test_what_decides_the_content_is_part_of_its_recipe(old: str, new: str) -> None:
    assert old in tiny_module.CONTENT

    one, other = (parse(text) for text in (tiny_module.CONTENT, tiny_module.CONTENT.replace(old, new)))

    assert workshop.content_recipe(one, files=()) != workshop.content_recipe(other, files=())


def test_files_of_the_recipe_are_part_of_it_and_words_for_people_are_not() -> None:
    one, other = (parse(text) for text in (tiny_module.CONTENT, tiny_module.CONTENT.replace("a chart", "the chart")))

    assert workshop.content_recipe(one, files=()) == workshop.content_recipe(other, files=())
    assert workshop.content_recipe(one, files=(("a", b"b"),)) != workshop.content_recipe(one, files=(("a", b"c"),))

"""What plug-ins and scripts may import: it is there and explained, and the examples in the docs need nothing else."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from firstlight import api

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/api.md").read_text()
AUDIT_PAGE = (ROOT / "docs/audit.md").read_text()
TWO_CLUSTERS = ROOT / "tests/scenarios/platform/two-clusters/repo"


@pytest.mark.parametrize("name", api.__all__)
def test_every_name_is_there_and_explained(name: str) -> None:
    found = getattr(api, name)

    if inspect.isclass(found) or inspect.isfunction(found):
        assert inspect.getdoc(found), name
    assert f"`{name}`" in PAGE, f"{name} is not in docs/api.md"


def test_the_names_for_type_checkers_are_those_that_are_imported() -> None:
    tree = ast.parse(inspect.getsource(api))
    (block,) = (each for each in tree.body if isinstance(each, ast.If))
    imports = [each for each in block.body if isinstance(each, ast.ImportFrom)]
    for_checkers = {(node.module, each.name) for node in imports for each in node.names}

    assert for_checkers == {(module, name) for name, module in api._HOME.items()}
    assert sorted(api.__all__) == api.__all__ == dir(api)
    own = {each.name for each in tree.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")}
    assert {*api._HOME, *own} == set(api.__all__)


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="WorkTree"):
        _ = api.WorkTree


def test_to_import_it_imports_nothing_else() -> None:
    names = "(each for each in sys.modules if each.startswith('firstlight'))"
    program = f"import sys; import firstlight.api; print(*sorted({names}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["firstlight", "firstlight.api"]


def test_type_checkers_are_told_that_there_are_types() -> None:
    assert resources.files("firstlight").joinpath("py.typed").is_file()
    # The wheel has all files of the package.
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["src/firstlight"]
    assert "exclude" not in wheel


def test_examples_use_nothing_else() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", AUDIT_PAGE + PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Import):
                assert not any(each.name.startswith("firstlight") for each in node.names)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("firstlight"):
                assert node.module == "firstlight.api"
                assert {each.name for each in node.names} <= set(api.__all__)


def test_the_script_in_the_docs_works(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)

    exec(compile(block.replace('"."', repr(str(TWO_CLUSTERS))), "docs/api.md", "exec"), {})

    printed = capsys.readouterr().out
    assert all(each.name in printed for each in api.read_platform(TWO_CLUSTERS).clusters)


def test_a_platform_is_read() -> None:
    platform = api.read_platform(str(TWO_CLUSTERS))

    assert isinstance(platform, api.Platform)
    assert all(isinstance(each, api.Cluster) for each in platform.clusters)
    with pytest.raises(api.UsageError):
        api.read_platform(TWO_CLUSTERS / "absent")


def test_a_repo_is_audited() -> None:
    audit = api.audit_repo(TWO_CLUSTERS)

    assert isinstance(audit, api.Audit)
    assert all(isinstance(each, api.Finding) for each in audit.findings)
    with pytest.raises(api.UsageError):
        api.audit_repo(TWO_CLUSTERS, rules=["absent"])


def test_a_change_is_decided(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *person, *words], check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch=main")
    (tmp_path / "README.md").write_text("one\n")
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    (tmp_path / "README.md").write_text("two\n")

    decision = api.decide_change(tmp_path)

    assert isinstance(decision, api.Decision)
    assert (decision.side, str(decision.risk)) == (None, "low")
    assert api.decide_change(tmp_path, "HEAD..HEAD").items == ()


def test_schemas_are_found() -> None:
    assert api.output_schema("audit")["version"] == 2
    with pytest.raises(api.UsageError):
        api.output_schema("absent")


def test_nothing_public_has_moved() -> None:
    for name, module in api._HOME.items():
        assert getattr(importlib.import_module(module), name) is getattr(api, name)

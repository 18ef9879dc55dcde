"""Repos with Applications, and what the reader finds in them: every directory beside this file is one."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, Origin
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.source import (
    ChartSource,
    DirectorySource,
    RemoteSource,
    SeveralSources,
    Source,
    Unresolved,
    Values,
)
from firstlight.repo import argocd
from firstlight.repo.work_tree import WorkTree

HERE = Path(__file__).parent
SCENARIOS = sorted(each.parent.name for each in HERE.glob("*/expected.yaml"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    wanted = yaml.safe_load((HERE / name / "expected.yaml").read_text())

    found = observed(HERE / name / "repo", urls=wanted.pop("given", ()))

    assert found == wanted


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) > 20
    assert len(SCENARIOS) == len([each for each in HERE.iterdir() if (each / "repo").is_dir()])


def observed(root: Path, *, urls: tuple[str, ...] = ()) -> dict[str, Any]:
    """What is found in a repo, as expectations are written."""
    tree = WorkTree(root)
    found = argocd.read(tree, urls=urls)
    return kept(
        clusters=[_cluster(each) for each in found.clusters],
        origins=[_origin(each) for each in found.origins],
        unreached=[_origin(each) for each in found.unreached],
        diagnostics=[_diagnostic(each) for each in sorted(found.diagnostics)],
    )


def kept(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in ("", None, [], (), {}, False)}


def _cluster(one: Cluster) -> dict[str, Any]:
    assert one.engine == "argocd"
    fields = kept(url=one.url, branch=one.branch, path=one.path, endpoint=one.network.endpoint)
    return {"name": one.name, "at": _at(one.place), **fields}


def _origin(one: Origin) -> dict[str, Any]:
    sources = one.source.each if isinstance(one.source, SeveralSources) else (one.source,)
    needs = [f"{each.id} because of {each.why} ({_at(each.place)})" for each in one.needs]
    return {"id": one.id, "at": _at(one.place), "source": [_source(each) for each in sources]} | kept(
        cluster=one.cluster,
        version=one.version,
        parent=one.parent,
        wave=str(one.wave) if one.wave is not None else "",
        needs=needs,
        doubt=one.doubt,
        guessed=one.certainty == Certainty.GUESSED,
        suspended=one.suspended,
        secrets=[f"{each.namespace}/{each.name}: {each.why} ({_at(each.place)})" for each in one.secrets],
        objects=[f"{each.kind} {each.namespace}/{each.name}" for each in one.objects],
    )


def _source(one: Source) -> str | dict[str, Any]:
    match one:
        case ChartSource():
            text = f"chart {one.name} {one.version} from {one.repository or 'this repo'}"
            text += f" as {one.release} in {one.namespace}" + (f" with {one.credentials}" if one.credentials else "")
            return {text: [_values(each) for each in one.values]} if one.values else text
        case DirectorySource():
            how = "kustomize" if one.kustomize else "plain, recursive" if one.recurse else "plain"
            options = kept(
                include=one.include, exclude=one.exclude, namespace=one.target_namespace, prefix=one.name_prefix,
                suffix=one.name_suffix, metadata=dict(one.common_metadata), components=list(one.components),
                patches=[dict(each) for each in one.patches], images=[dict(each) for each in one.images],
            )  # fmt: skip
            text = f"directory {one.path} ({how})"
            return {text: options} if options else text
        case RemoteSource():
            return " ".join(each for each in ("remote", one.url, one.revision, one.path) if each)
        case Unresolved():
            return f"unresolved {one.text}: {one.reason}"
    raise AssertionError(one)


def _values(one: Values) -> str:
    what = one.file or one.reference
    if one.inline is not None:
        what = f"inline {dict(one.inline)}"
    if one.target:
        what = f"{one.target} = {what or repr(one.text)}" + (" (text)" if one.is_text else "")
    return f"{what} ({_at(one.place)})" + (f", not known: {one.unresolved}" if one.unresolved else "")


def _diagnostic(one: Diagnostic) -> str:
    return f"{_at(one.place)} {one.severity} {one.code}: {one.message}"


def _at(place: Place) -> str:
    return f"{place.path}:{place.line}" if place.line else place.path

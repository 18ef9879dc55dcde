"""Charts of the foundation whose version is a range: whoever publishes decides when it is upgraded."""

import posixpath
import re
from collections.abc import Iterator

from firstlight.model.component import Component, Form, Side
from firstlight.model.place import Place
from firstlight.model.source import Chart
from firstlight.plan import facts
from firstlight.policy.auditing import declared, foundation
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_EXACT = re.compile(r"=?v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?")
_VERSION = {
    Form.HELM_RELEASE: ("spec", "chart", "spec", "version"),
    Form.APPLICATION: ("spec", "source", "targetRevision"),
}
_KNOWN = re.compile(r"[<>=~^*xX|,.\s\dv-]+")


def ranges(scene: Scene) -> Iterator[Hit]:
    """HelmReleases and Applications of the foundation that follow a range of versions."""
    for component in scene.platform.components:
        if component.role not in foundation.ROLES:
            continue
        for origin in facts.origins(component, Side.GITOPS):
            for chart in facts.sources(origin):
                if origin.form not in (Form.HELM_RELEASE, Form.APPLICATION) or not isinstance(chart, Chart):
                    continue
                version = chart.version.strip()
                if not chart.repository or chart.digest or _EXACT.fullmatch(version) or "$" in version:
                    continue
                if version and not _KNOWN.fullmatch(version):
                    continue  # a branch, a tag: not a version of Helm's
                if _is_locked(scene, chart):
                    continue
                stated, said_there = declared.of(scene, origin), _source(scene, component, chart)
                said = f"the range {version}" if version else "no version, so that it takes the newest"
                yield Hit(
                    message=f"the chart of {component.name} has {said}: it is upgraded when somebody publishes it",
                    place=said_there or (stated.at(*_VERSION[origin.form]) if stated else origin.place),
                    clusters=(component.cluster,),
                    component=component.name,
                )


def _is_locked(scene: Scene, chart: Chart) -> bool:
    """Whether a chart around this one has a Chart.lock, which has one version of each."""
    directory, name = posixpath.split(chart.origin.path) if chart.origin else ("", "")
    return name == "Chart.yaml" and scene.files.is_file(posixpath.join(directory, "Chart.lock"))


def _source(scene: Scene, component: Component, chart: Chart) -> Place | None:
    """Where an OCIRepository, or a chart around this one, says the version; None where the chart's source does not."""
    if chart.origin is not None and posixpath.basename(chart.origin.path) == "Chart.yaml":
        return chart.origin
    for item in scene.of_cluster(component.cluster, "source.toolkit.fluxcd.io/OCIRepository"):
        if item.object.place == chart.origin:
            return item.object.at("spec", "ref", "semver")
    return None

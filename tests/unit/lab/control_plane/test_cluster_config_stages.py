import re

import yaml

from firstlight.lab import lab_settings
from firstlight.lab.control_plane import cluster_config


def stage(wanted: lab_settings.LabSettings, name: str) -> dict[str, object]:
    found: dict[str, object] = next(
        document
        for document in yaml.safe_load_all(cluster_config.kwok_stages(wanted))
        if document["metadata"]["name"] == name
    )
    return found


def test_every_placeholder_is_filled() -> None:
    assert not re.search(r"@\w+@", cluster_config.kwok_stages(lab_settings.LabSettings(broken_images=("a", "b*"))))


def test_the_pull_takes_as_long_as_declared() -> None:
    spec = stage(lab_settings.LabSettings(pull_seconds=1.5), "pod-started")["spec"]

    assert isinstance(spec, dict)
    assert spec["delay"] == {"durationMilliseconds": 1500}


def test_globs_of_broken_images_become_patterns_that_go_knows() -> None:
    text = cluster_config.kwok_stages(lab_settings.LabSettings(broken_images=("registry.io/app:1.0", "*/bad-?:*")))

    assert r"registry\\.io/app:1\\.0" in text
    assert r".*/bad\\-.:.*" in text
    assert "(?>" not in text


def test_where_nodes_can_be_off_nothing_starts_by_itself_and_nothing_happens_there() -> None:
    bare = lab_settings.with_machines(lab_settings.LabSettings(), control_planes=1, workers=0)
    stages_of_both = [
        yaml.safe_load_all(cluster_config.kwok_stages(wanted)) for wanted in (lab_settings.LabSettings(), bare)
    ]
    guard = '.metadata.annotations["lab.firstlight.dev/power"]'

    assert (
        "if .spec.hostNetwork"
        in str(stage(lab_settings.LabSettings(), "pod-accepted")).split("PodReadyToStart")[1][:80]
    )
    assert "if .spec.hostNetwork" not in str(stage(bare, "pod-accepted")).split("PodReadyToStart")[1][:80]
    for documents in stages_of_both:
        for document in documents:
            if document["metadata"]["name"] != "node-registered":
                expressions = document["spec"]["selector"]["matchExpressions"]
                assert guard in [each["key"] for each in expressions], document["metadata"]["name"]


def test_heartbeats_are_as_frequent_as_asked_for() -> None:
    assert "durationMilliseconds: 2000, jitterDurationMilliseconds: 2400" in cluster_config.kwok_stages(
        lab_settings.LabSettings(), heartbeat=2
    )

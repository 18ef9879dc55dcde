import re

import yaml

from firstlight.lab import settings, stages


def stage(wanted: settings.Settings, name: str) -> dict[str, object]:
    found: dict[str, object] = next(
        document for document in yaml.safe_load_all(stages.render(wanted)) if document["metadata"]["name"] == name
    )
    return found


def test_every_placeholder_is_filled() -> None:
    assert not re.search(r"@\w+@", stages.render(settings.Settings(broken_images=("a", "b*"))))


def test_the_pull_takes_as_long_as_declared() -> None:
    spec = stage(settings.Settings(pull_seconds=1.5), "pod-started")["spec"]

    assert isinstance(spec, dict)
    assert spec["delay"] == {"durationMilliseconds": 1500}


def test_globs_of_broken_images_become_patterns_that_go_knows() -> None:
    text = stages.render(settings.Settings(broken_images=("registry.io/app:1.0", "*/bad-?:*")))

    assert r"registry\\.io/app:1\\.0" in text
    assert r".*/bad\\-.:.*" in text
    assert "(?>" not in text

"""Which Flux runs, as versions, ranges and arguments of controllers say it."""

import pytest

from firstlight.engines.flux import features


@pytest.mark.parametrize(
    ("version", "answer"),
    [
        ("v2.9.1", True),
        ("2.10.x", True),
        (">=2.9.0", True),
        ("2.8.x", False),
        ("=2.8.3", None),
        ("2.8.3", False),
        ("~2.8", False),
        (">=2.5", None),
        ("^2.5.0", None),
        ("2.x", None),
        ("", None),
    ],
)
def test_a_range_answers_only_for_all_of_its_versions(version: str, answer: bool | None) -> None:
    assert features.is_at_least(version, (2, 9)) is answer


def test_the_last_argument_wins() -> None:
    texts = [
        '{"patch": "- value: --feature-gates=OOMWatch=true,StrictPostBuildSubstitutions=true\\n"}',
        "--feature-gates=StrictPostBuildSubstitutions=false",
    ]

    assert features.gate(texts[:1], features.STRICT_SUBSTITUTION) is True
    assert features.gate(texts, features.STRICT_SUBSTITUTION) is False
    assert features.gate(texts, features.CHART_DIGEST) is None

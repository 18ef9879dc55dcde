"""Rounds of several commands in turn, and what can honestly be said of them: ratios of medians with an interval."""

import dataclasses
import random
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Sample:
    """Seconds of one contestant, a number a round."""

    name: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def interleave(commands: Mapping[str, Sequence[str]], *, rounds: int) -> list[Sample]:
    """Time commands in turn, forwards and backwards, so that a busy moment hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        order = list(commands) if number % 2 else list(commands)[::-1]
        for name in order:
            begun = time.perf_counter()
            subprocess.run(commands[name], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if number:  # the first round fills the page cache
                times[name].append(time.perf_counter() - begun)
    return [Sample(name, tuple(seconds)) for name, seconds in times.items()]


def ratio(one: Sample, other: Sample) -> tuple[float, float, float]:
    """How many times as long as the other one takes: of the medians, with a bootstrapped 95 % interval."""
    draw = random.Random(1)
    ratios = sorted(
        statistics.median(draw.choices(one.seconds, k=len(one.seconds)))
        / statistics.median(draw.choices(other.seconds, k=len(other.seconds)))
        for _ in range(2000)
    )
    return one.median / other.median, ratios[50], ratios[1949]


def table(samples: Sequence[Sample], *, against: str) -> list[str]:
    """Lines: name, median, and ratio of the contestant to each."""
    mine = next(sample for sample in samples if sample.name == against)
    lines = []
    for sample in samples:
        line = f"  {sample.name:34}{sample.median * 1000:9.1f} ms"
        if sample is not mine:
            middle, low, high = ratio(mine, sample)
            line += f"   {against} takes {middle:.2f} times as long ({low:.2f} to {high:.2f})"
        lines.append(line)
    return lines

"""The metrics of a run as detectors want them: numbers only, heads and tails, and whether the run gets anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from ...logs import LogReading
from .statistics import Trend, noise, trend


@dataclass(frozen=True)
class Points:
    """The finite values of one metric, in the order of the log. `name` is the metric's name in the log."""

    name: str
    steps: Sequence[float]
    values: Sequence[float]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def head(self) -> float:
        """Median of the first tenth, of three values at least."""
        return median(self.values[: max(3, len(self.values) // 10)])

    @cached_property
    def tail(self) -> float:
        """Median of the last tenth, of three values at least."""
        return median(self.values[-max(3, len(self.values) // 10) :])

    def last(self, share: float) -> Points:
        """The last part, of five values at least."""
        start = min(len(self.values) - max(5, int(len(self.values) * share)), len(self.values))
        cut = slice(max(0, start), None)
        return Points(self.name, self.steps[cut], self.values[cut], self.lines[cut])

    @cached_property
    def trend(self) -> Trend:
        return trend(self.steps, self.values)

    @cached_property
    def noise(self) -> float:
        return noise(self.values)

    def rises(self) -> bool:
        """A rise that is significant and larger than a twentieth of what the metric is like."""
        size = max(abs(median(self.values)), self.noise, 1e-12)
        return self.trend.up and self.trend.change > 0.05 * size

    @property
    def still_rises(self) -> bool:
        """A rise in the second half that is more than noise, and more than a rest of the first half's."""
        half = len(self.values) // 2
        early = self.values[:half]
        first = median(early[-max(3, half // 5) :]) - median(early[: max(3, half // 5)])
        late = self.last(0.5)
        return late.rises() and late.trend.change > max(1.5 * self.noise, 0.15 * first)

    @property
    def span(self) -> str:
        first, last = number(self.steps[0]), number(self.steps[-1])
        return f"steps {first} to {last}" if len(self) > 1 else f"step {first}"


class Run:
    """What detectors look at."""

    def __init__(self, reading: LogReading) -> None:
        self.reading = reading
        self._points: dict[str, Points | None] = {}

    def get(self, name: str, least: int = 1) -> Points | None:
        """A metric by canonical name when it has `least` finite values."""
        if name not in self._points:
            series = self.reading.series.get(name)
            steps, values, lines = series.finite_columns() if series else ([], [], [])
            self._points[name] = Points(series.name, steps, values, lines) if series and values else None
        found = self._points[name]
        return found if found is not None and len(found) >= least else None

    def parts(self, name: str, least: int = 1) -> dict[str, Points]:
        """Metrics of many parts: "reward_component" gives the points of each reward function."""
        names = [key for key in self.reading.series if key.startswith(f"{name}:")]
        return {key.partition(":")[2]: found for key in names if (found := self.get(key, least))}

    @property
    def reward(self) -> Points | None:
        """The reward that the update uses; the score where only that is logged."""
        return self.get("reward_mean") or self.get("score_mean")

    @cached_property
    def progress(self) -> bool | None:
        """Whether the run still gets better in its second half, by the held-out score, else by the reward.

        None when neither is logged often enough.
        """
        score = self.get("eval_score", 8)
        reward = self.reward if self.reward and len(self.reward) >= 8 else None
        if reward and reward.still_rises:
            return True
        if score:
            late = score.last(0.5)
            return late.trend.up and late.trend.change > 2 * score.noise  # few scores move by chance
        return False if reward else None


def number(value: float) -> str:
    """A number as short as a reader wants it."""
    if value == int(value) if abs(value) < 1e15 else False:
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return f"{value:.3g}"

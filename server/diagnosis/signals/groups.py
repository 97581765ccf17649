"""Groups without a difference in reward (too easy and too hard told apart), and advantages that say nothing."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from .run import Points, Run, number
from .signal import LogSignal, seen

_SOME, _MOST = 0.5, 0.7  # share of groups without a difference
_EASY, _HARD = 0.85, 0.15  # mean reward within its bounds
_SAME = 1e-6


def detect(run: Run) -> Iterator[LogSignal]:
    yield from _uniform(run)
    yield from _advantages(run)


def _uniform(run: Run) -> Iterator[LogSignal]:
    right, wrong = run.get("groups_all_right"), run.get("groups_all_wrong")
    if right and wrong:
        easy, hard = (median(row.last(0.25).values) / 100 for row in (right, wrong))
        if easy + hard >= _MOST:
            kind, row = ("groups_too_easy", right) if easy > hard else ("groups_too_hard", wrong)
            text = f"{easy:.0%} of the groups are all right and {hard:.0%} all wrong"
            yield seen(kind, text, row, -1)
        return
    uniform = run.get("uniform_groups")
    if uniform is None:
        return
    share = median(uniform.last(0.25).values)
    if share < _SOME:
        return
    level = _level(run)
    kind = "groups_uniform"
    if level is not None and level >= _EASY:
        kind = "groups_too_easy"
    elif level is not None and level <= _HARD:
        kind = "groups_too_hard"
    elif level is None and run.reward and run.reward.rises() and uniform.rises():
        kind = "groups_too_easy"  # ever more groups agree while the reward rises
    text = f"{uniform.name} is {number(share)}"
    text += f" with a mean reward at {level:.0%} of its range" if level is not None else ""
    onset = next(place for place, value in enumerate(uniform.values) if value >= _SOME)
    yield seen(kind, text, uniform, onset, "" if share >= _MOST and len(uniform) >= 3 else "info")


def _level(run: Run) -> float | None:
    """Where the mean reward stands between its bounds; None when they are not known."""
    reward = run.reward
    if reward is None:
        return None
    low, high = run.get("reward_min"), run.get("reward_max")
    if low and high and max(high.values) > min(low.values):
        bottom, top = min(low.values), max(high.values)
    elif min(reward.values) >= 0 and max(reward.values) <= 1:
        bottom, top = 0.0, 1.0
    else:
        return None
    return (median(reward.last(0.25).values) - bottom) / (top - bottom)


def _advantages(run: Run) -> Iterator[LogSignal]:
    low, high = run.get("advantage_min"), run.get("advantage_max")
    if low and high and max(map(abs, [*low.values, *high.values])) < _SAME:
        text = f"{high.name} and {low.name} are 0 at each of {len(high)} steps"
        yield seen("advantages_zero", text, high, 0)
        return
    mean, reward = run.get("advantage_mean", 3), run.get("reward_mean", 3)
    if mean and reward and _equal(mean, reward) and high and (top := run.get("reward_max")) and _equal(high, top):
        text = f"{mean.name} equals {reward.name} at each of {len(mean)} steps"
        yield seen("advantages_equal_rewards", text, mean, 0)


def _equal(left: Points, right: Points) -> bool:
    if len(left) != len(right) or max(map(abs, right.values)) < _SAME:
        return False
    return all(abs(a - b) <= _SAME * max(1.0, abs(b)) for a, b in zip(left.values, right.values, strict=True))

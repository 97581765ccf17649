"""The reward: nothing, always the same, flat, a plateau, a break-down, a split from held-out scores, one part of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median, pvariance

from .run import Points, Run, number
from .signal import LogSignal, seen
from .statistics import bins

_FEW, _MANY = 30, 100  # steps before "flat" is said, and before it is a warning
_SATURATED = 0.9  # of a reward within [0, 1]
_SHARE = 0.8  # of the variance, owned by one reward function


def detect(run: Run) -> Iterator[LogSignal]:
    reward = run.reward
    if reward:
        still = list(_constant(run, reward))
        yield from still
        if not still:
            broken = list(_drop(reward))
            yield from broken or _flat(run, reward)
        yield from _resumed(run, reward)
        yield from _split(run, reward)
    yield from _components(run)
    yield from _penalty(run)


def _constant(run: Run, reward: Points) -> Iterator[LogSignal]:
    if min(reward.values) != max(reward.values):
        return
    value, count = reward.values[0], len(reward)
    high, low = run.get("reward_max"), run.get("reward_min")
    if (high and max(high.values) != value) or (low and min(low.values) != value):
        return  # samples differ, only their mean repeats
    text = f"{reward.name} is {number(value)} at each of {count} steps"
    if value == 0:
        certain = count >= 3 or (high is not None and low is not None)
        yield seen("reward_all_zero", text, reward, 0, "" if certain else "warning")
    elif count >= 5:
        yield seen("reward_constant", text, reward, 0)


def _drop(reward: Points) -> Iterator[LogSignal]:
    """The reward loses most of what it had gained, and more than noise explains."""
    if len(reward) < 12:
        return
    steps, values = bins(reward.steps, reward.values, min(40, max(6, len(reward) // 3)))
    peak = max(range(len(values)), key=values.__getitem__)
    if peak >= len(values) - 2:
        return
    before, lost = values[: peak + 1], values[peak] - median(values[-2:])
    gained = values[peak] - min(before)
    floor = max(4 * reward.noise, 0.02)
    level = abs(values[peak]) or 1.0
    if lost > floor and (lost > 0.6 * gained if gained > floor else lost > 0.5 * level):
        # it may have stood at its best for a while: what is asked is when it left
        left = max(place for place, value in enumerate(values) if value >= values[peak] - floor)
        onset = next((place for place, step in enumerate(reward.steps) if step > steps[left]), 0)
        since = number(reward.steps[onset])
        text = f"{reward.name} fell from {number(values[left])}, since step {since}, to {number(reward.tail)}"
        yield seen("reward_drop", text, reward, onset)


def _flat(run: Run, reward: Points) -> Iterator[LogSignal]:
    count = len(reward)
    if count < _FEW or (reward.tail >= _SATURATED and max(reward.values) <= 1.0 + 1e-9):
        return
    half = reward.last(0.5)
    if reward.still_rises or half.trend.down:
        return
    if run.get("eval_score", 8) and run.progress:
        return
    gain = reward.tail - reward.head
    rose = gain > max(4 * reward.noise, 0.05 * abs(reward.tail))
    severity = "" if count >= _MANY else "info"
    if rose:
        since = _since(reward)
        if since > 0.5:
            return
        place = int(since * (count - 1))
        text = f"{reward.name} rose from {number(reward.head)} to {number(reward.tail)}"
        text += f" and stands there since step {number(reward.steps[place])}"
        yield seen("reward_plateau", text, reward, place, severity)
    elif not reward.trend.down:
        text = f"{reward.name} is {number(reward.head)} at the start and {number(reward.tail)} after {count} steps"
        yield seen("reward_flat", text, reward, -1, severity)


def _since(reward: Points) -> float:
    """The share of the run after which the reward is within a tenth of its gain from its last level."""
    _, values = bins(reward.steps, reward.values)
    near = 0.1 * abs(values[-1] - values[0]) + reward.noise / 2
    away = [place for place, value in enumerate(values) if abs(value - reward.tail) > near]
    return (away[-1] + 1) / len(values) if away else 0.0


def _split(run: Run, reward: Points) -> Iterator[LogSignal]:
    """The reward of the training prompts rises, the held-out score does not."""
    score = run.get("eval_score", 5)
    if score is None or len(reward) < 10 or not reward.trend.up:
        return
    gain = reward.tail - reward.head
    if gain < max(3 * reward.noise, 0.1 * max(abs(reward.head), 0.1)):
        return
    first, last = median(score.values[:2]), median(score.values[-3:])
    best = max(range(len(score)), key=score.values.__getitem__)
    text = f"{reward.name} rose from {number(reward.head)} to {number(reward.tail)}"
    text += f", {score.name} went from {number(first)} to {number(last)}"
    if score.trend.tau >= 0.4 and last - first > 0.25 * gain:
        return
    fell = score.values[best] - last
    later = score.last(0.6)
    if fell > max(3 * score.noise, 0.2 * gain) and later.trend.tau <= -0.3 and best < len(score) - 2:
        text += f", after {number(score.values[best])} at step {number(score.steps[best])}"
        yield seen("reward_eval_split", text, score, best)
    elif last - first < 0.15 * gain and score.trend.tau < 0.5 and gain > 0.15:
        yield seen("reward_eval_split", text, score, -1, "warning")


def _components(run: Run) -> Iterator[LogSignal]:
    parts = run.parts("reward_component", 20)
    if len(parts) < 2:
        return
    changes = {name: pvariance([right - left for left, right in pairwise(row.values)]) for name, row in parts.items()}
    total = sum(changes.values())
    if total <= 0:
        return
    owner = max(changes, key=changes.__getitem__)
    share = changes[owner] / total
    others = [row for name, row in parts.items() if name != owner]
    level = abs(parts[owner].tail)
    # Owning the variance is no fault while the other parts are alive.
    if share >= _SHARE and level > 0 and all(abs(row.tail) < 0.2 * level for row in others):
        row = parts[owner]
        rest = max(abs(other.tail) for other in others)
        text = f"{row.name} owns {share:.0%} of the variance and stands at {number(row.tail)}"
        text += f"; the others are near {number(rest)}"
        yield seen("component_dominates", text, row, -1)
    dead = [row for row in parts.values() if min(row.values) == max(row.values)]
    if dead:
        text = ", ".join(f"{row.name} is always {number(row.values[0])}" for row in dead[:3])
        yield seen("component_dead", text, dead[0], 0)


def _penalty(run: Run) -> Iterator[LogSignal]:
    reward, score = run.get("reward_mean", 2), run.get("score_mean", 2)
    if reward and score and len(reward) == len(score):
        gaps = [abs(left - right) for left, right in zip(reward.values, score.values, strict=True)]
        if median(gaps) > 1e-4 * max(abs(median(score.values)), 1e-3):
            text = f"{score.name} and {reward.name} differ by {number(median(gaps))}"
            yield seen("reward_not_score", text, reward, 0)


def _resumed(run: Run, reward: Points) -> Iterator[LogSignal]:
    """The step counter goes back: judge the reward before and after."""
    back = [place for place, (left, right) in enumerate(pairwise(reward.steps), start=1) if right < left]
    if not back or len(back) > 5:
        return
    place = back[-1]
    before, after = reward.values[max(0, place - 10) : place], reward.values[place : place + 10]
    text = f"step {number(reward.steps[place - 1])} is followed by step {number(reward.steps[place])}"
    gained = median(before) - median(reward.values[: min(10, place)])
    lost = median(before) - median(after)
    enough = len(before) >= 5 and len(after) >= 3 and reward.steps[place] > 1  # step 0 or 1: a new run
    if enough and gained > 4 * reward.noise and lost > 0.7 * gained:
        text += f"; {reward.name} went from {number(median(before))} to {number(median(after))}"
        yield seen("reward_jump_at_resume", text, reward, place)
    else:
        yield seen("resumed", text, reward, place)

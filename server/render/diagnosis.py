"""A Diagnosis as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from ..configs.files import printable
from ..diagnosis.model import Diagnosis, Hypothesis, Signal

_WIDTH = 100
_SIGNALS = 8


def render_diagnosis(answer: Diagnosis) -> str:
    """What was seen, the causes with their evidence, and what to supply next."""
    lines: list[str] = []
    if answer.not_a_fault:
        lines += [*_wrapped(f"Probably not a fault: {answer.not_a_fault}", ""), ""]
    for hypothesis in answer.hypotheses:
        lines += [*_hypothesis(hypothesis), ""]
    if answer.signals:
        lines += ["Seen", *(_signal(signal) for signal in answer.signals[:_SIGNALS]), ""]
    lines += [line for note in answer.notes for line in _wrapped(note, "")]
    if answer.ask_next:
        lines += ["Would help", *(line for asked in answer.ask_next for line in _wrapped(asked, "  - "))]
    return "\n".join(lines).rstrip()


def _hypothesis(row: Hypothesis) -> Iterable[str]:
    yield f"{row.rank}. {row.title}  [{row.pattern}, {row.confidence:.0%}]"
    for head, texts in (
        ("for", row.evidence),
        ("against", row.against),
        ("check", row.confirm),
        ("fix", row.fix),
    ):
        for text in texts:
            yield from _wrapped(printable(text, 600), f"   {head:8}")
            head = ""
    if row.bugs:
        yield f"   bugs    {', '.join(row.bugs)}"
    for url in row.references[:2]:
        yield f"   see     {url}"


def _signal(signal: Signal) -> str:
    place = f" (line {signal.line})" if signal.line else ""
    step = f" (step {signal.step})" if signal.step is not None else ""
    return f"  {signal.severity:8}{signal.title}{step}{place}: {printable(signal.evidence, 160)}"


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead)) or [lead]

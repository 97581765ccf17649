"""A Diagnosis as one self-contained page: no script, no network, everything from the input escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from ..model import Curve
from .curves import scaled

_WIDTH, _HEIGHT, _MARGIN = 420.0, 120.0, 10.0
_LISTS = (
    ("What speaks for it", "evidence"),
    ("What speaks against it", "against"),
    ("Check", "confirm"),
    ("Fix", "fix"),
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #dfe4ea; --card: #fff; --page: #f5f7f9;
  --accent: #0b6bcb; --bad: #c4320a; --warn: #b45309; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa6b5; --line: #2d3643; --card: #171d26;
  --page: #0f141b; --accent: #6cb2ff; --bad: #ff8a65; --warn: #fbbf24; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; letter-spacing: -.01em; }
h2 { font-size: 1.1rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1.15rem; margin: 0; }
h4 { font-size: .78rem; margin: 1rem 0 .25rem; color: var(--soft); text-transform: uppercase; letter-spacing: .06em; }
p { margin: .25rem 0; } ul { margin: 0; padding-left: 1.1rem; } li { margin: .2rem 0; overflow-wrap: anywhere; }
code { font: .88em ui-monospace, monospace; } a { color: var(--accent); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem 1.35rem;
  margin: 0 0 1rem; }
.head { display: flex; gap: 1rem; align-items: baseline; justify-content: space-between; flex-wrap: wrap; }
.soft { color: var(--soft); } .bar { height: 6px; border-radius: 3px; background: var(--line); margin: .6rem 0 0; }
.bar i { display: block; height: 100%; border-radius: 3px; background: var(--accent); }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-size: .9rem; } svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; width: 100%; } td { padding: .35rem .75rem .35rem 0; vertical-align: top;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; } tr:first-child td { border-top: 0; }
.error { color: var(--bad); } .warning { color: var(--warn); } .info { color: var(--soft); }
""".strip()


def page(data: Mapping[str, Any], curves: Sequence[Curve] = ()) -> str:
    """The whole page as HTML text. data: of `diagnosis.short.to_data` with detail "full"."""
    body = [
        "<h1>Diagnosis</h1>",
        f'<p class="soft">{escape(_summary(data))}</p>',
        *_not_a_fault(data),
        *_section("Possible causes", [_card(row) for row in data["hypotheses"]]),
        *_section("Metrics", [_plots(curves)] if curves else []),
        *_section("Seen in the input", [_signals(data["signals"])] if data.get("signals") else []),
        *_section("Would help", [_card_of(_list(data["ask_next"]))] if data.get("ask_next") else []),
        *_section("Notes", [_card_of(_list(data["notes"]))] if data.get("notes") else []),
    ]
    return document("diagnosis", body)


def document(title: str, body: Iterable[str]) -> str:
    """One self-contained page around blocks of HTML: no script, no network."""
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>grpo-guard: {escape(title)}</title><style>{_STYLE}</style></head><body><main>"
    )
    return "\n".join([head, *body, "</main></body></html>", ""])


def _summary(data: Mapping[str, Any]) -> str:
    files = data.get("coverage", {}).get("files", [])
    read = ", ".join(f"{row['path']} ({row['lines']:,} lines)" for row in files) or "no log"
    return f"Read: {read}. Confidence is how often such a lead was right on labelled cases, not a proof."


def _not_a_fault(data: Mapping[str, Any]) -> Iterable[str]:
    if data.get("not_a_fault"):
        yield _card_of(f"<h3>Probably not a fault</h3><p>{escape(data['not_a_fault'])}</p>")


def _section(title: str, parts: Sequence[str]) -> list[str]:
    return [f"<h2>{title}</h2>", *parts] if parts else []


def _card_of(inner: str) -> str:
    return f'<section class="card">{inner}</section>'


def _card(row: Mapping[str, Any]) -> str:
    percent = round(100 * row["confidence"])
    parts = [
        f'<div class="head"><h3>{row["rank"]}. {escape(row["title"])}</h3>'
        f'<span class="soft"><code>{escape(row["pattern"])}</code> · {percent}%</span></div>',
        f'<div class="bar"><i style="width:{percent}%"></i></div>',
    ]
    for title, name in _LISTS:
        if row.get(name):
            parts.append(f"<h4>{title}</h4>{_list(row[name])}")
    if row.get("bugs"):
        parts.append(f"<h4>Known bugs</h4><p>{', '.join(f'<code>{escape(name)}</code>' for name in row['bugs'])}</p>")
    if links := [url for url in row.get("references", ()) if url.startswith("https://")]:
        anchors = "".join(f'<li><a href="{escape(url)}">{escape(url)}</a></li>' for url in links)
        parts.append(f"<h4>References</h4><ul>{anchors}</ul>")
    return _card_of("".join(parts))


def _list(texts: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"


def _signals(rows: Iterable[Mapping[str, Any]]) -> str:
    lines = []
    for row in rows:
        step = f"step {row['step']}" if row.get("step") is not None else ""
        place = step or (f"line {row['line']}" if row.get("line") else "")
        lines.append(
            f'<tr><td class="{escape(row["severity"])}">{escape(row["severity"])}</td><td>{escape(row["title"])}</td>'
            f'<td class="soft">{place}</td><td class="soft">{escape(row["evidence"])}</td></tr>'
        )
    return _card_of(f"<table>{''.join(lines)}</table>")


def _plots(curves: Sequence[Curve]) -> str:
    return f'<div class="plots">{"".join(_card_of(_figure(curve)) for curve in curves)}</div>'


def _figure(curve: Curve) -> str:
    """The finite part of a metric as a line, with a vertical line where a signal begins."""
    caption = f"<figcaption><code>{escape(curve.name)}</code></figcaption>"
    drawn = scaled(curve, _WIDTH, _HEIGHT, _MARGIN)
    if drawn is None:
        return f'<figure>{caption}<p class="soft">no finite value</p></figure>'
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn.points)
    marks = "".join(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{_HEIGHT:.0f}" '
        f'stroke="var(--bad)" stroke-dasharray="4 3"><title>{escape(title)}</title></line>'
        for x, title in drawn.marks
    )
    return (
        f'<figure>{caption}<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-label="{escape(curve.name)}">'
        f'{marks}<polyline points="{line}" fill="none" stroke="var(--accent)" stroke-width="1.6"/></svg>'
        f'<p class="soft">{drawn.low:.4g} to {drawn.high:.4g}, steps {drawn.first:g} to {drawn.last:g}</p></figure>'
    )

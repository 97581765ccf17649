"""Curves as one PNG, for clients that show images. Needs Pillow, the optional extra `plots`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..configs.values import InputError
from ..model import Curve
from .curves import Scaled, scaled

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

    Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
    Draw = ImageDraw.ImageDraw

MOST_PANELS = 6
_COLUMNS, _WIDTH, _HEIGHT, _MARGIN, _HEAD, _FOOT = 2, 460, 150, 12, 26, 24
_PAPER, _INK, _SOFT, _LINE, _MARK, _FRAME = "#ffffff", "#1c2430", "#5b6675", "#0b6bcb", "#c4320a", "#dfe4ea"


def picture(curves: Sequence[Curve]) -> bytes:
    """The first curves, at most `MOST_PANELS`, those with marks before the others, as PNG.

    Raises InputError when there is no curve, or Pillow is not installed.
    """
    if not curves:
        raise InputError("no metric to plot: pass a log with metrics (log or log_path)")
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise InputError('plots need Pillow: install "grpo-guard[plots]", or leave plot out') from None
    chosen = sorted(curves, key=lambda curve: not curve.marks)[:MOST_PANELS]
    columns = min(_COLUMNS, len(chosen))
    rows = -(-len(chosen) // columns)
    image = Image.new("RGB", (columns * _WIDTH, rows * (_HEAD + _HEIGHT + _FOOT)), _PAPER)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    for number, curve in enumerate(chosen):
        left = number % columns * _WIDTH
        top = number // columns * (_HEAD + _HEIGHT + _FOOT)
        _panel(draw, font, curve, left, top)
    stream = io.BytesIO()
    image.save(stream, "PNG", optimize=True)
    return stream.getvalue()


def _panel(draw: Draw, font: Font, curve: Curve, left: int, top: int) -> None:
    """One curve: its name above, the line with its marks in a frame, and the ranges below."""
    box = (left + 6, top + _HEAD, left + _WIDTH - 6, top + _HEAD + _HEIGHT)
    draw.text((left + 8, top + 6), _plain(curve.name), _INK, font)
    draw.rectangle(box, outline=_FRAME)
    drawn = scaled(curve, box[2] - box[0], box[3] - box[1], _MARGIN)
    if drawn is None:
        draw.text((left + 16, top + _HEAD + 8), "no finite value", _SOFT, font)
        return
    for x, title in drawn.marks:
        _mark(draw, font, box, x, title)
    points = [(box[0] + x, box[1] + y) for x, y in drawn.points]
    if len(points) > 1:
        draw.line(points, _LINE, 2, "curve")
    else:
        draw.ellipse((points[0][0] - 2, points[0][1] - 2, points[0][0] + 2, points[0][1] + 2), _LINE)
    draw.text((left + 8, box[3] + 4), _range(drawn), _SOFT, font)


def _mark(draw: Draw, font: Font, box: tuple[int, int, int, int], x: float, title: str) -> None:
    for y in range(box[1] + 1, box[3], 8):
        draw.line((box[0] + x, y, box[0] + x, min(y + 4, box[3])), _MARK)
    text = _plain(title)
    room = draw.textlength(text, font)
    draw.text((max(box[0] + 4, min(box[0] + x + 4, box[2] - room - 4)), box[1] + 2), text, _MARK, font)


def _range(drawn: Scaled) -> str:
    return f"{drawn.low:.4g} to {drawn.high:.4g}, steps {drawn.first:g} to {drawn.last:g}"


def _plain(text: str, most: int = 56) -> str:
    """Names come from the user's log: printable characters only, as many as fit."""
    shown = "".join(c if c.isprintable() else "?" for c in text.encode("latin-1", "replace").decode("latin-1"))
    return shown if len(shown) <= most else shown[: most - 3] + "..."

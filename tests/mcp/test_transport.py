"""Reading lines without reading more than the cap."""

from __future__ import annotations

import io

import pytest

from grpo_guard.transport import CUT, BoundedLines


class CountingStream(io.BytesIO):
    largest = 0

    def readline(self, size: int | None = -1) -> bytes:
        line = super().readline(size)
        self.largest = max(self.largest, len(line))
        return line


def lines_of(data: bytes, cap: int = 10) -> list[str]:
    lines = BoundedLines(CountingStream(data), cap)
    return list(iter(lines.readline, ""))


@pytest.mark.parametrize(
    "data, lines",
    [
        (b"", []),
        (b"a\nb\n", ["a\n", "b\n"]),
        (b"a\n\nb", ["a\n", "\n", "b"]),
        (b"123456789\n12", ["123456789\n", "12"]),
        (b"\xff\n", ["\ufffd\n"]),
    ],
)
def test_lines_within_the_cap(data, lines):
    assert lines_of(data) == lines


def test_of_a_line_over_the_cap_the_ends_are_kept():
    line = b"head" + b"x" * 5_000 + b"tail\n"
    (cut, following) = lines_of(line + b"next\n", cap=100)
    assert cut.startswith(CUT + "headx")
    assert cut.endswith("xtail\n")
    assert len(cut) < 500
    assert following == "next\n"


def test_an_endless_line_is_read_in_pieces():
    stream = CountingStream(b"x" * 1_000_000)
    assert BoundedLines(stream, 1_000).readline().startswith(CUT)
    assert stream.largest == 1_000

"""Files keep their encoding, byte order mark, line ends and mode, and are replaced whole or not at all."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

import pytest

from grpo_guard.configs.values import InputError
from grpo_guard.edits.writing import load, replace_file

TEXT = "n: 1  # é\r\nm: 2\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
        TEXT.encode("latin-1"),
    ],
)
def test_all_but_the_edit_stays_to_the_byte(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(data)
    source = load(path)
    assert source.text == TEXT
    replace_file(source, TEXT.replace("1", "8"))
    unit = 4 if data[:4] == codecs.BOM_UTF32_LE else 2 if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else 1
    assert [at // unit for at, pair in enumerate(zip(data, path.read_bytes(), strict=True)) if pair[0] != pair[1]] == [
        3 + (len(source.mark) // unit)
    ]


def test_the_mode_is_kept_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.sh", tmp_path / "link.sh"
    real.write_text("x")
    real.chmod(0o750)
    link.symlink_to(real)
    replace_file(load(link), "y")
    assert link.is_symlink()
    assert (real.read_text(), stat.S_IMODE(real.stat().st_mode)) == ("y", 0o750)
    assert sorted(os.listdir(tmp_path)) == ["link.sh", "real.sh"]


def test_a_file_that_changed_meanwhile_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("n: 1")
    source = load(path)
    path.write_text("n: 2")
    with pytest.raises(InputError, match="changed while it was checked; nothing was written"):
        replace_file(source, "n: 8")
    assert path.read_text() == "n: 2"


def test_a_failure_leaves_the_file_and_no_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("n: 1")
    source = load(path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\); it was left as it is"):
        replace_file(source, "n: 8")
    assert (path.read_text(), os.listdir(tmp_path)) == ("n: 1", ["a.yaml"])


def test_a_character_that_the_encoding_lacks(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes("é".encode("latin-1"))
    with pytest.raises(InputError, match="its encoding lacks a character"):
        replace_file(load(path), "雪")
    assert path.read_bytes() == b"\xe9"

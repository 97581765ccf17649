"""Every word knows the line it was written on."""

from __future__ import annotations


def lines(command):
    return [(word.text, word.line) for word in command.argv]


def test_words_of_a_continued_command(show):
    assert lines(show("\nshow a \\\n  b=1 \\\n\\\n  c")) == [("show", 2), ("a", 2), ("b=1", 3), ("c", 5)]


def test_array_items_keep_their_line(show):
    script = 'A=(\n  a=1\n  # b=2\n  c=3\n)\nA+=(d=4)\nshow "${A[@]}" e=5'
    assert lines(show(script)) == [("show", 7), ("a=1", 2), ("c=3", 4), ("d=4", 6), ("e=5", 7)]


def test_flags_of_a_string_keep_their_line(show):
    script = 'F="--a 1 \\\n  --b 2"\nG="--c\n--d"\nshow $F $G'
    assert lines(show(script)) == [
        ("show", 5), ("--a", 1), ("1", 1), ("--b", 2), ("2", 2), ("--c", 3), ("--d", 4),
    ]  # fmt: skip


def test_a_single_value_stands_where_it_is_used(show):
    assert lines(show("n=8\nshow \\\n  x=$n $n")) == [("show", 2), ("x=8", 3), ("8", 3)]


def test_sourced_files(show, tmp_path):
    (tmp_path / "model.sh").write_text("\nM=(\n  --layers 2\n)\n")
    command = show('source model.sh\nshow "${M[@]}"', root=tmp_path)
    assert [(word.text, word.file, word.line) for word in command.argv] == [
        ("show", "run.sh", 2),
        ("--layers", "model.sh", 3),
        ("2", "model.sh", 3),
    ]

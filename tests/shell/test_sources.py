"""Files are followed inside the given folder only, and never executed."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def project(tmp_path):
    (tmp_path / "scripts" / "models").mkdir(parents=True)
    (tmp_path / "scripts" / "models" / "m.sh").write_text("LAYERS=48\n")
    (tmp_path.parent / "outside.sh").write_text("LAYERS=1\n")
    return tmp_path


def test_from_the_folder_of_the_script(read, project):
    text = (
        'DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"\n'
        'source "$DIR/models/m.sh"\nshow $LAYERS $DIR $(basename $0 .sh)'
    )
    from grpo_guard.configs.shell import read_script

    script = read_script(text, "scripts/run.sh", root=project)
    assert [word.text for word in script.commands[0].argv[1:]] == ["48", str(project / "scripts"), "run"]
    assert script.sources == [os.path.join("scripts", "models", "m.sh")]


def test_from_the_root(shown, project):
    assert shown(". scripts/models/m.sh; show $LAYERS", root=project) == ["48"]


@pytest.mark.parametrize("name", ["../outside.sh", "/etc/profile", "missing.sh", "$UNKNOWN/m.sh", "scripts"])
def test_what_is_not_followed(name, read, project):
    script = read(f"source {name}\nshow ${{LAYERS:-0}}", root=project)
    assert script.commands[0].argv[1].text == "0"
    assert script.assumptions == [f"line 1: `source {name}` not followed"]
    assert script.sources == []


def test_links_that_lead_out_are_not_followed(read, project):
    (project / "link.sh").symlink_to(project.parent / "outside.sh")
    assert read("source link.sh", root=project).sources == []


def test_without_a_root_nothing_is_followed(read, project, monkeypatch):
    monkeypatch.chdir(project)
    script = read('source scripts/models/m.sh\nshow ${LAYERS:-0} "$(dirname "$0")"')
    assert script.commands[0].argv[1].text == "0"
    assert script.commands[0].argv[2].unknown


def test_a_file_that_sources_itself(read, project):
    (project / "loop.sh").write_text("source loop.sh\n")
    script = read("show a\nsource loop.sh\nshow b", root=project)
    assert [lint.rule for lint in script.lints] == ["shell-limit"]
    assert script.commands[0].argv[1].text == "a"


def test_arguments_and_return_of_a_sourced_file(shown, project):
    (project / "f.sh").write_text("X=$1\nreturn 0\nX=never\n")
    assert shown("source f.sh 4; show $X $1 end", root=project) == ["4", "end"]

"""Over MCP only regular files inside the allowed folders are read."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from grpo_guard.configs.values import InputError
from grpo_guard.roots import Roots


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """work/ is allowed, private/ is not."""
    for name in ("work/sub", "private"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work/run.sh").write_text("true\n")
    (tmp_path / "work/sub/ds.json").write_text("{}")
    (tmp_path / "private/token").write_text("secret")
    return tmp_path


@pytest.fixture
def roots(folders: Path) -> Roots:
    return Roots.choose([str(folders / "work")])


@pytest.mark.parametrize("name", ["run.sh", "./run.sh", "sub/../run.sh", "sub/ds.json"])
def test_a_relative_name_is_looked_up_in_the_root(roots, folders, name):
    target = roots.find(name)
    assert target.path == (folders / "work" / name).resolve()
    assert target.root == folders / "work"


def test_an_absolute_name_inside_the_root_is_found(roots, folders):
    assert roots.find(str(folders / "work/run.sh")).path == folders / "work/run.sh"


def test_each_root_is_tried_in_turn(folders):
    roots = Roots.choose([str(folders / "work/sub"), str(folders / "work")])
    assert roots.find("ds.json").root == folders / "work/sub"
    assert roots.find("run.sh").root == folders / "work"


def test_a_link_inside_the_root_is_followed(roots, folders):
    (folders / "work/link.sh").symlink_to("run.sh")
    assert roots.find("link.sh").path == folders / "work/run.sh"


def test_an_allowed_root_may_itself_be_a_link(folders):
    (folders / "alias").symlink_to("work")
    assert Roots.choose([str(folders / "alias")]).find("run.sh").path == folders / "work/run.sh"


@pytest.mark.parametrize("name", ["../private/token", "{top}/private/token", "../private/absent", "/etc/passwd", "~/x"])
def test_outside_is_refused_in_the_same_words_whether_it_exists_or_not(roots, folders, name):
    name = name.format(top=folders)
    with pytest.raises(InputError, match=f"^{re.escape(name)}: outside the allowed folders"):
        roots.find(name)


def test_a_link_that_leads_out_is_refused(roots, folders):
    (folders / "work/out").symlink_to(folders / "private/token")
    (folders / "work/outdir").symlink_to(folders / "private")
    for name in ("out", "outdir/token"):
        with pytest.raises(InputError, match="outside the allowed folders"):
            roots.find(name)


def test_a_folder_beside_the_root_with_the_same_prefix_is_outside(roots, folders):
    (folders / "work-2").mkdir()
    (folders / "work-2/x").write_text("")
    with pytest.raises(InputError, match="outside the allowed folders"):
        roots.find(str(folders / "work-2/x"))


def test_only_regular_files_are_read(roots, folders):
    os.mkfifo(folders / "work/pipe")
    with pytest.raises(InputError, match=r"^pipe: not a regular file: pass its text as `config`$"):
        roots.find("pipe")
    with pytest.raises(InputError, match=r"^sub: a folder: name the launch script or config file in it$"):
        roots.find("sub")


def test_a_missing_file_says_where_it_was_looked_for(roots, folders):
    with pytest.raises(InputError) as caught:
        roots.find("rum.sh")
    assert str(caught.value) == f"rum.sh: no such file in the allowed folders ({folders}/work): check the spelling"


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_an_impossible_name_is_refused(roots, name):
    with pytest.raises(InputError, match="name a file"):
        roots.find(name)


@pytest.mark.parametrize("name", ["x" * 5_000, "~nosuchuser/x", "loop", "bad\udcffname"])
def test_a_name_that_the_system_refuses_is_one_line(roots, folders, name):
    (folders / "work/loop").symlink_to("loop")
    with pytest.raises(InputError) as caught:
        roots.find(name)
    assert "\n" not in str(caught.value)


def test_the_environment_names_roots_and_options_override_it(folders):
    environ = {"GRPO_GUARD_ROOTS": os.pathsep.join([str(folders / "work"), "", str(folders / "private")])}
    assert Roots.choose([], environ).folders == (folders / "work", folders / "private")
    assert Roots.choose([str(folders)], environ).folders == (folders,)


def test_the_working_directory_is_the_default(folders, monkeypatch):
    monkeypatch.chdir(folders)
    assert Roots.choose([], {}).folders == (folders,)


def test_a_root_that_is_no_folder_is_refused_at_the_start(folders):
    with pytest.raises(InputError, match=r"not a folder: name an existing one$"):
        Roots.choose([str(folders / "work/run.sh")])

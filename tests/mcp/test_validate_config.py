"""validate_config as an assistant calls it: through a real client, over stdio, in both protocol eras."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.anyio

SCRIPT = """\
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.rollout.n=1 \\
    data.train_batch_size=64 \\
    trainer.n_gpus_per_node=8 trainer.nnodes=1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/run.sh").write_text(SCRIPT)
    (tmp_path / "token").write_text("secret")
    return tmp_path / "work"


@pytest.fixture(params=["auto", "legacy"])
async def call(request, folder):
    """Call the tool on a server that may read `folder`."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "grpo_guard", "serve"], cwd=folder)
    async with Client(server, mode=request.param) as client:

        async def caller(**arguments):
            return await client.call_tool("validate_config", arguments)

        yield caller


def error_of(result) -> str:
    assert result.is_error
    assert result.structured_content is None
    (block,) = result.content
    assert "\n" not in block.text
    return block.text


def rules_of(result) -> list[str]:
    assert not result.is_error
    return [finding["rule"] for finding in result.structured_content["findings"]]


async def test_by_path(call):
    result = await call(path="run.sh")
    assert result.structured_content["framework"] == "verl"
    assert [source["path"] for source in result.structured_content["sources"]] == ["run.sh"]
    assert "one-sample-groups" in rules_of(result)


async def test_an_absolute_path_inside_the_working_directory_is_shown_short(call, folder):
    result = await call(path=str(folder / "run.sh"))
    assert [source["path"] for source in result.structured_content["sources"]] == ["run.sh"]


async def test_edits_come_as_data_and_nothing_is_written(call, folder):
    result = await call(path="run.sh")
    (finding,) = [row for row in result.structured_content["findings"] if row["rule"] == "one-sample-groups"]
    assert finding["fix"]["edits"] == [{"key": "actor_rollout_ref.rollout.n", "value": 8}]  # of the setting shown
    assert (finding["setting"]["file"], finding["setting"]["line"], finding["setting"]["value"]) == ("run.sh", 3, 1)
    assert finding["fix"]["safety"] == "unsafe"
    assert (folder / "run.sh").read_text() == SCRIPT


async def test_a_certain_new_name_comes_as_an_edit(call):
    script = SCRIPT.replace("trainer.nnodes=1", "critic.model.fsdp_config.param_offload=True trainer.nnodes=1")
    result = await call(config=script, versions={"verl": "0.8.0"}, detail="normal")
    (finding,) = [row for row in result.structured_content["findings"] if row["rule"] == "unknown-key"]
    assert finding["fix"]["edits"] == [
        {
            "key": "critic.model.fsdp_config.param_offload", "file": "<text>", "line": 5, "action": "rename",
            "new_key": "critic.fsdp.param_offload",
        }
    ]  # fmt: skip
    assert finding["fix"]["safety"] == "safe"


async def test_by_text(call):
    assert "one-sample-groups" in rules_of(await call(config=SCRIPT))


async def test_text_and_data_say_the_same_but_not_twice(call):
    result = await call(config=SCRIPT)
    (block,) = result.content
    for finding in result.structured_content["findings"]:
        assert finding["rule"] in block.text
        assert finding["message"] in block.text
    assert len(block.text) < len(json.dumps(result.structured_content))


async def test_a_json_config_as_text(call):
    result = await call(config='{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4}')
    assert result.structured_content["framework"] == "deepspeed"


async def test_a_json_config_as_object(call):
    result = await call(config={"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4})
    assert result.structured_content["framework"] == "deepspeed"


async def test_versions_reach_the_report(call):
    result = await call(config=SCRIPT, versions={"verl": "0.7.0"})
    assert result.structured_content["versions"]["verl"] == "0.7.0"


async def test_detail_and_limit_shorten(call):
    full, brief = (
        await call(config=SCRIPT, detail="full", limit=500),
        await call(config=SCRIPT, detail="brief", limit=1),
    )
    assert len(brief.structured_content["findings"]) <= 1
    assert len(json.dumps(brief.structured_content)) < len(json.dumps(full.structured_content))


async def test_an_unknown_argument_is_refused(call):
    line = error_of(await call(confg=SCRIPT))
    assert line.startswith("unknown argument 'confg': did you mean config? validate_config takes config, path,")


async def test_one_of_config_and_path_is_needed(call, folder):
    line = f"give either `config` (text) or `path` (a file inside {folder})"
    assert error_of(await call()) == line
    assert error_of(await call(config=SCRIPT, path="run.sh")) == line


async def test_5_mb_of_text_is_refused(call):
    line = "argument config: 5,000,000 characters, at most 1,000,000: save it to a file and pass its path"
    assert error_of(await call(config="x" * 5_000_000)) == line


async def test_paths_outside_the_root_are_refused(call, folder):
    (folder / "link").symlink_to(folder.parent / "token")
    for name in ("../token", str(folder.parent / "token"), "link", "/etc/passwd"):
        assert error_of(await call(path=name)).startswith(f"{name}: outside the allowed folders ({folder})")


async def test_a_pipe_is_refused_instead_of_waited_for(call, folder):
    os.mkfifo(folder / "pipe")
    assert error_of(await call(path="pipe")) == "pipe: not a regular file: pass its text as `config`"


async def test_a_binary_file_is_one_line(call, folder):
    (folder / "model.bin").write_bytes(bytes(range(256)) * 40)
    assert error_of(await call(path="model.bin")).startswith("model.bin: binary data")


async def test_a_file_named_twice_counts_once(call):
    once, twice = await call(path="run.sh"), await call(path="run.sh, ./run.sh")
    assert twice.structured_content == once.structured_content


async def test_a_file_name_that_is_no_utf8_survives_in_the_answer(call, folder):
    """The name holds a byte that becomes a lone surrogate in Python; it is reached through a link and a `source`."""
    odd = os.fsencode(folder) + b"/odd\xff.sh"
    Path(os.fsdecode(odd)).write_text(SCRIPT)
    (folder / "plain.sh").symlink_to(os.fsdecode(odd))
    result = await call(path="plain.sh")
    assert "one-sample-groups" in rules_of(result)


async def test_a_file_that_is_no_utf8_is_read_as_latin_1(call, folder):
    (folder / "bytes.sh").write_bytes(SCRIPT.encode().replace(b"data.train", b"data.tr\xff\xfein"))
    result = await call(path="bytes.sh")
    assert [row["key"] for row in result.structured_content["unknown_keys"]] == ["data.tr\xff\xfein_batch_size"]


async def test_a_finding_that_has_no_room_is_named(call):
    """A short answer shows the first findings whole; nobody must guess what the others are."""
    script = SCRIPT.replace("trainer.nnodes=1", "critic.model.fsdp_config.param_offload=True trainer.nnodes=1")
    shown = (await call(config=script, versions={"verl": "0.8.0"})).structured_content
    whole = (await call(config=script, versions={"verl": "0.8.0"}, detail="normal")).structured_content
    cut = [row for row in whole["findings"] if row["rule"] not in {row["rule"] for row in shown["findings"]}]
    assert cut
    (also,) = [note for note in shown["notes"] if note.startswith("also found: ")]
    assert all(f"{row['severity']} {row['rule']}" in also for row in cut if row["severity"] == "error")
    assert "error unknown-key (line 5)" in also

"""Files of records: JSONL, trainer_state.json, CSV, TensorBoard, whole and damaged."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

from grpo_guard.logs import read_logs


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_verl_file_logger_writes_null_for_nan(tmp_path):
    lines = [
        {"step": 1, "data": {"actor/grad_norm": 0.5, "actor/kl_loss": None}},
        {"step": 2, "data": {"actor/grad_norm": None}},
    ]
    reading = read_logs([written(tmp_path, "run.jsonl", "".join(json.dumps(line) + "\n" for line in lines))])
    norm = reading.series["grad_norm"]
    assert list(norm.steps) == [1, 2] and norm.values[0] == 0.5 and math.isnan(norm.values[1])
    assert list(norm.lines) == [1, 2]
    assert math.isnan(reading.series["kl"].values[0])
    assert (reading.sources[0].format, reading.framework) == ("JSONL", "verl")


def test_null_of_another_logger_is_not_logged(tmp_path):
    reading = read_logs(
        [written(tmp_path, "history.jsonl", '{"_step": 4, "loss": null, "reward": 0.5, "grad_norm": NaN}\n')]
    )
    assert "loss" not in reading.series
    assert list(reading.series["reward_mean"].steps) == [4]
    assert math.isnan(reading.series["grad_norm"].values[0])


def test_easyr1_nests_its_records(tmp_path):
    reading = read_logs(
        [
            written(
                tmp_path,
                "experiment_log.jsonl",
                '{"step": 3, "actor": {"grad_norm": 0.5}, "reward": {"overall": 0.25}}\n',
            )
        ]
    )
    assert list(reading.series["grad_norm"].values) == [0.5]
    assert list(reading.series["reward_mean"].values) == [0.25]


HISTORY = [
    {"loss": 0.0, "grad_norm": 0.5, "reward": 0.25, "step": 10},
    {"eval_reward": 0.3, "step": 10},
    {"loss": 0.1, "grad_norm": float("nan"), "reward": 0.5, "step": 20},
]


def test_trainer_state(tmp_path):
    text = json.dumps({"global_step": 20, "log_history": HISTORY}, indent=2)
    reading = read_logs([written(tmp_path, "trainer_state.json", text)])
    assert reading.sources[0].format == "trainer_state.json"
    norm = reading.series["grad_norm"]
    assert list(norm.steps) == [10, 20] and math.isnan(norm.values[1])
    assert text.split("\n")[norm.lines[1] - 1].strip() == '"step": 20'
    assert list(reading.series["eval_score"].values) == [0.3]


def test_a_trainer_state_that_is_cut_is_read_line_by_line(tmp_path):
    text = json.dumps({"global_step": 20, "log_history": HISTORY}, indent=2)
    cut = text[: text.index('"reward": 0.5')]
    reading = read_logs([written(tmp_path, "trainer_state.json", cut)])
    assert list(reading.series["reward_mean"].values) == [0.25]
    assert list(reading.series["grad_norm"].steps)[:1] == [10]
    assert any("cut or damaged" in note for note in reading.coverage["notes"])


def test_records_in_a_list_and_columns_in_a_dict():
    for text in (json.dumps(HISTORY), '{"step": [10, 20], "reward": [0.25, 0.5]}'):
        reading = read_logs([text])
        assert list(reading.series["reward_mean"].values) == [0.25, 0.5]
        assert list(reading.series["reward_mean"].steps) == [10, 20]


def test_csv_with_empty_cells_and_the_columns_of_a_chart_export(tmp_path):
    text = (
        '"Step","run-7 - actor/entropy","run-7 - actor/entropy__MIN","run-7 - critic/rewards/mean"\n'
        "1,0.5,0.4,0.1\n2,,,0.2\n3,nan,nan,\n"
    )
    reading = read_logs([written(tmp_path, "export.csv", text)])
    entropy = reading.series["entropy"]
    assert list(entropy.steps) == [1, 3] and entropy.values[0] == 0.5 and math.isnan(entropy.values[1])
    assert list(reading.series["reward_mean"].values) == [0.1, 0.2]
    assert "actor/entropy__MIN" not in reading.native


def test_csv_of_a_row_per_metric(tmp_path):
    reading = read_logs(
        [written(tmp_path, "long.csv", "step,metric,value\n1,reward,0.5\n1,grad_norm,0.1\n2,reward,0.75\n")]
    )
    assert list(reading.series["reward_mean"].values) == [0.5, 0.75]
    assert list(reading.series["reward_mean"].steps) == [1, 2]


def varint(number: int) -> bytes:
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80]) + varint(number >> 7)


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def event(step: int, tag: str, value: float, *, tensor: bool = False) -> bytes:
    number = (
        field(8, b"\x08\x01" + field(4, struct.pack("<f", value))) if tensor else b"\x15" + struct.pack("<f", value)
    )
    summary = field(1, field(1, tag.encode()) + number)
    message = b"\x09" + struct.pack("<d", 1.7e9) + b"\x10" + varint(step) + field(5, summary)
    return struct.pack("<QI", len(message), 0) + message + b"\x00" * 4


def test_tensorboard_plain_numbers_and_tensors(tmp_path):
    content = (
        event(1, "actor/grad_norm", 0.5)
        + event(1, "critic/score/mean", 0.25, tensor=True)
        + event(300, "actor/grad_norm", math.nan)
    )
    reading = read_logs([written(tmp_path, "events.out.tfevents.1.host", content)])
    norm = reading.series["grad_norm"]
    assert list(norm.steps) == [1, 300] and norm.values[0] == 0.5 and math.isnan(norm.values[1])
    assert list(reading.series["score_mean"].values) == [0.25]
    assert reading.sources[0].format == "TensorBoard"


def test_a_tensorboard_file_that_ends_in_a_record(tmp_path):
    content = event(1, "actor/grad_norm", 0.5) + event(2, "actor/grad_norm", 0.75)[:-9]
    reading = read_logs([written(tmp_path, "events.out.tfevents.1.host", content)])
    assert list(reading.series["grad_norm"].values) == [0.5]
    assert reading.coverage["notes"] == ["the file ends in the middle of a record"]

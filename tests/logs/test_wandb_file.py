"""W&B's own file of an offline run: history, settings and console output, from bytes in LevelDB's framing."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

from grpo_guard.diagnosis.diagnose import diagnose
from grpo_guard.logs import read_logs

BLOCK = 32_768


def varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def field(number: int, content: bytes | str | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def history(step: int, **values: float | str) -> bytes:
    items = {"_step": step, **values}
    rows = b"".join(field(1, field(1, name) + field(16, json.dumps(value))) for name, value in items.items())
    return field(2, rows + field(2, field(1, step)))


def item(path: list[str], value: object) -> bytes:
    names = field(1, path[0]) if len(path) == 1 else b"".join(field(2, part) for part in path)
    return field(1, names + field(16, json.dumps(value)))


def output(text: str) -> bytes:
    return field(13, field(1, 1) + field(3, text))


def file_of(records: list[bytes]) -> bytes:
    """Records as pieces in blocks of 32 KiB, after a head of seven bytes."""
    found = b":W&B" + b"\xe1\xbe\x00"
    for record in records:
        rest, first = record, True
        while rest or first:
            room = BLOCK - len(found) % BLOCK
            if room < 7:
                found += bytes(room)
                continue
            part, rest = rest[: room - 7], rest[room - 7 :]
            kind = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[first, not rest]
            found += struct.pack("<IHB", 0, len(part), kind) + part
            first = False
    return found


def run_of(steps: int) -> list[bytes]:
    config = field(
        17, field(1, "abc") + field(4, item(["algorithm"], {"adv_estimator": "grpo"}) + item(["_wandb"], {}))
    )
    arguments = field(26, field(5, "--learning_rate") + field(5, "2e-6") + field(5, "trainer.nnodes=2"))
    later = field(5, item(["optim", "lr"], 1e-6))
    rows = [history(step, **{"actor/grad_norm": 0.5, "critic/score/mean": step / 100}) for step in range(1, steps + 1)]
    return [config, arguments, *rows, later]


def written(folder: Path, content: bytes) -> Path:
    path = folder / "run-abc.wandb"
    path.write_bytes(content)
    return path


def test_history_settings_and_arguments(tmp_path):
    reading = read_logs([written(tmp_path, file_of(run_of(3)))])
    assert list(reading.series["score_mean"].steps) == [1, 2, 3]
    assert list(reading.series["score_mean"].values) == [0.01, 0.02, 0.03]
    assert {key: row.value for key, row in reading.config.items()} == {
        "algorithm.adv_estimator": "grpo",
        "optim.lr": 1e-6,
        "learning_rate": 2e-6,
        "trainer.nnodes": 2,
    }
    assert [row.format for row in reading.sources] == ["W&B offline run"]


def test_a_record_over_several_blocks(tmp_path):
    long = history(1, note="x" * 100_000, **{"actor/grad_norm": 0.25})
    reading = read_logs(
        [written(tmp_path, file_of([long, *run_of(2000), history(2001, **{"actor/grad_norm": "NaN"})]))]
    )
    norms = reading.series["grad_norm"]
    assert (len(norms), norms.values[0], next(norms.not_finite())[0]) == (2002, 0.25, 2001)


def test_values_with_types(tmp_path):
    typed = {
        "a": field(1, "loss") + varint(6 << 3 | 1) + struct.pack("<d", 0.125),
        "b": field(1, "reward") + field(5, 3),  # zigzag: -2
        "c": field(1, "kl") + field(8, "0.5"),
    }
    (tmp_path / "x").mkdir()
    record = field(2, b"".join(field(1, row) for row in typed.values()) + field(2, field(1, 7)))
    reading = read_logs([written(tmp_path, file_of([record]))])
    values = {name: (list(row.steps), list(row.values)) for name, row in reading.series.items()}
    assert values == {"loss": ([7], [0.125]), "reward_mean": ([7], [-2.0]), "kl": ([7], [0.5])}


ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def test_the_console_output_in_the_file(tmp_path):
    traceback = "Traceback (most recent call last):\n" + '  File "/x/worker.py", line 3, in wake_up\n' + ERROR
    path = written(tmp_path, file_of([*run_of(5), output(traceback[:50]), output(traceback[50:])]))
    (event,) = read_logs([path]).events
    assert (event.kind, event.phase, event.line) == ("gpu_oom", "wake_up", 3)
    assert diagnose(logs=[path]).hypotheses[0].pattern == "colocation_handover_oom"


def test_output_that_stands_beside_as_text_is_read_once(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "output.log").write_text(ERROR)
    written(tmp_path, file_of([*run_of(5), output(ERROR)]))
    reading = read_logs([tmp_path])
    assert (len(reading.events), len(reading.series["grad_norm"])) == (1, 5)


def test_a_cut_file_is_read_as_far_as_it_goes(tmp_path):
    whole = file_of(run_of(2000))
    for size in (0, 3, 7, 10, 50, BLOCK - 1, BLOCK + 3, len(whole) - 5):
        reading = read_logs([written(tmp_path, whole[:size])])
        assert len(reading.series.get("grad_norm", ())) <= 2000
    assert len(reading.series["grad_norm"]) == 2000
    assert any("cut or damaged" in note for note in reading.coverage["notes"])


def test_damaged_bytes_never_raise(tmp_path):
    dice = random.Random(7)
    whole = bytearray(file_of(run_of(200)))
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(20):
            damaged[dice.randrange(7, len(damaged))] = dice.randrange(256)
        read_logs([written(tmp_path, bytes(damaged))])

"""Settings in Python files and notebooks."""

import json
import sys

import pytest

from grpo_guard.configs.python_calls import read_python
from grpo_guard.configs.values import InputError, Unresolved

SCRIPT = """\
import os
from trl import GRPOConfig, GRPOTrainer

os.environ["NCCL_P2P_DISABLE"] = "1"
os.environ.setdefault("VLLM_USE_V1", "0")
GROUP = 8
SAMPLES = GROUP * 4


def main(args):
    config = GRPOConfig(
        output_dir=f"out-{GROUP}",
        num_generations=GROUP,
        per_device_train_batch_size=SAMPLES // 2,
        learning_rate=1e-6,
        beta=args.beta,
        bf16=not False,
        reward_weights=[1.0, -0.5],
        model_init_kwargs={"dtype": torch.bfloat16, "attn": {"x": y}},
        **extra,
    )
    config.temperature = 0.7
    trainer = GRPOTrainer("Qwen/Qwen3-0.6B", args=config, peft_config=LoraConfig(r=16, target_modules="all-linear"))
    llm = vllm.LLM("m", tensor_parallel_size=2 if GROUP > 4 else 1)
"""


def calls(text, **kwargs):
    return {
        document.name: [(entry.line, entry.key, entry.value) for entry in document.entries]
        for document in read_python(text, "train.py", **kwargs)
    }


def test_a_training_script():
    assert calls(SCRIPT) == {
        "GRPOConfig": [
            (12, "output_dir", "out-8"),
            (13, "num_generations", 8),
            (14, "per_device_train_batch_size", 16),
            (15, "learning_rate", 1e-6),
            (16, "beta", Unresolved("args.beta", ("args.beta",))),
            (17, "bf16", True),
            (18, "reward_weights", [1.0, -0.5]),
            (19, "model_init_kwargs.dtype", "bfloat16"),
            (19, "model_init_kwargs.attn.x", Unresolved("y", ("y",))),
            (22, "temperature", 0.7),
        ],
        "GRPOTrainer": [
            (23, "model", "Qwen/Qwen3-0.6B"),
            (23, "args", Unresolved("config", ("config",))),
            (
                23,
                "peft_config",
                Unresolved(
                    'LoraConfig(r=16, target_modules="all-linear")', ('LoraConfig(r=16, target_modules="all-linear")',)
                ),
            ),
        ],
        "LoraConfig": [(23, "r", 16), (23, "target_modules", "all-linear")],
        "LLM": [(24, "model", "m"), (24, "tensor_parallel_size", 2)],
        "os.environ": [(4, "NCCL_P2P_DISABLE", "1"), (5, "VLLM_USE_V1", "0")],
    }


def test_notes_and_data():
    document = read_python(SCRIPT, "train.py")[0]
    assert document.notes == ["line 20: `**extra` adds settings that the text does not show"]
    assert document.data["model_init_kwargs"] == {"dtype": "bfloat16", "attn": {"x": Unresolved("y", ("y",))}}
    assert (document.format, document.path) == ("python", "train.py")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2**10", 1024),
        ("-1", -1),
        ("1e-6 * 2", 2e-6),
        ("'a' + 'b'", "ab"),
        ("f'{N}-{N + 1}'", "4-5"),
        ("int('7')", 7),
        ("float('inf')", float("inf")),
        ("len([1, 2, 3])", 3),
        ("max(N, 9)", 9),
        ("(1, 2)", [1, 2]),
        ("dict(a=1)", {"a": 1}),
        ("{**{'a': 1}, 'b': N}", {"a": 1, "b": 4}),
        ("None", None),
        ("N == 4", True),
        ("torch.float16", "float16"),
        # left open: unknown names, attributes, calls, twice-assigned names, and what could grow
        ("os.environ['X']", Unresolved("os.environ['X']", ("os.environ['X']",))),
        ("TWICE", Unresolved("TWICE", ("TWICE",))),
        ("LOOP", Unresolved("LOOP", ("LOOP",))),
        ("x if y else z", Unresolved("x if y else z", ("x if y else z",))),
        ("[1, x]", Unresolved("[1, x]", ("[1, x]",))),
        ("f'{x}-{N}'", Unresolved("{x}-4", ("x",))),
        ("'a' * 3", Unresolved("'a' * 3", ("'a' * 3",))),
        ("2**1000", Unresolved("2**1000", ("2**1000",))),
        ("1 / 0", Unresolved("1 / 0", ("1 / 0",))),
        ("__import__('os')", Unresolved("__import__('os')", ("__import__('os')",))),
        ("IntervalStrategy.STEPS", Unresolved("IntervalStrategy.STEPS", ("IntervalStrategy.STEPS",))),
    ],
)
def test_what_the_text_decides(expression, value):
    text = f"N = 4\nTWICE = 1\nTWICE = 2\nfor LOOP in []: pass\nXConfig(v={expression})\n"
    (document,) = read_python(text, "x.py")
    assert document.data == {"v": value}


def test_nothing_is_run(tmp_path):
    target = tmp_path / "made"
    read_python(f"open({str(target)!r}, 'w')\nXConfig(v=open({str(target)!r}, 'w'))\n", "x.py")
    assert not target.exists()


def test_only_the_named_calls():
    assert list(calls("A(x=1)\nBConfig(y=2)\nm.A(z=3)\n", names={"A"})) == ["A"]
    assert [document.data for document in read_python("A(x=1)\nm.A(z=3)\n", "x", {"A"})] == [{"x": 1}, {"z": 3}]


def test_positional_arguments_are_noted():
    (document,) = read_python("GRPOConfig('out', beta=0)\n", "x.py")
    assert document.notes == ["line 1: positional arguments of GRPOConfig are not read; name them"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = (\n", "line 2: not Python 3.{}, '(' was never closed; correct that line"),
        ("a = 1\n  b = 2\n", "line 2: not Python 3.{}, unexpected indent; correct that line"),
    ],
)
def test_a_syntax_error_says_where(text, message):
    with pytest.raises(InputError) as raised:
        read_python(text, "x.py")
    assert str(raised.value) == "x.py " + message.format(sys.version_info.minor)


def test_a_notebook_counts_the_lines_of_its_file():
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["GRPOConfig(beta=9)\n"]},
            {"cell_type": "code", "source": ["%pip install trl\n", "!nvidia-smi\n", "%env NCCL_DEBUG=INFO\n"]},
            {"cell_type": "code", "source": "%%bash\nls"},
            {"cell_type": "code", "source": ["plain words here\n"]},
            {"cell_type": "code", "source": ["config = GRPOConfig(\n", "    beta=0.1,\n", "    lr=x,\n", ")"]},
        ]
    }
    text = json.dumps(notebook, indent=1)
    lines = text.split("\n")
    config, environment = read_python(text, "train.ipynb")
    assert [(entry.key, entry.value) for entry in config.entries] == [("beta", 0.1), ("lr", Unresolved("x", ("x",)))]
    assert "beta=0.1" in lines[config.entries[0].line - 1]
    assert config.notes == ["the cell at line 24 is not Python; it is not read"]
    assert "plain words" in lines[24 - 1]
    assert (environment.name, environment.data) == ("os.environ", {"NCCL_DEBUG": "INFO"})
    assert "NCCL_DEBUG" in lines[environment.entries[0].line - 1]


def test_json_that_is_no_notebook():
    with pytest.raises(InputError, match="JSON without notebook cells"):
        read_python('{"a": 1}', "x.ipynb")

"""Reading settings out of Python source without importing it."""

import ast
import sys
from pathlib import Path

import pytest

SCRIPTS = str(Path(__file__).resolve().parents[2] / "scripts")


@pytest.fixture(scope="module", autouse=True)
def scripts_on_path():
    sys.path.insert(0, SCRIPTS)
    yield
    sys.path.remove(SCRIPTS)


def fields(text, name="Config", extra=""):
    from extract.source import class_fields, constants

    module = ast.parse(extra + text)
    known = {node.name: node for node in ast.walk(module) if isinstance(node, ast.ClassDef)}
    return class_fields(name, known, constants(module))


def test_dataclass_fields_with_bases_overrides_and_factories():
    found = fields(
        "class Base:\n"
        "    beta: float = 0.04\n"
        "    names: list[str] = field(default_factory=lambda: ['a'])\n"
        "class Config(Base, TrainingArguments):\n"
        "    beta: float = field(default=0.0, metadata={'help': 'KL'})\n"
        "    mode: str = field(default='a', metadata={'choices': ['a', 'b']})\n"
        "    size: int\n"
        "    kwargs: dict | str | None = None\n"
        "    loss: Literal['x', 'y'] = 'x'\n"
        "    path: str = os.path.join('a', 'b')\n"
        "    _private: int = 1\n"
        "    VALID: ClassVar[list] = []\n"
    )
    assert {name: field.default for name, field in found.items()} == {
        "beta": 0.0,
        "names": ["a"],
        "mode": "a",
        "size": {"required": True},
        "kwargs": None,
        "loss": "x",
        "path": {"expr": "os.path.join('a', 'b')"},
    }
    assert (found["kwargs"].type, found["beta"].type) == ("dict|str", "float")
    assert (found["mode"].choices, found["loss"].choices) == (("a", "b"), ("x", "y"))


def test_names_and_arithmetic_are_followed_calls_are_not():
    found = fields(
        "class Config(Model):\n"
        "    bucket: int = Field(pp_int(5e8), gt=0, alias='stage3_bucket')\n"
        "    block: int = 10 * 1024 * 1024\n"
        "    tag: str = Mode.WARN\n"
        "    clip: float = CLIP_DEFAULT\n"
        "    seed: int = random()\n",
        extra="CLIP_DEFAULT = 1.0\nclass Mode:\n    WARN = 'WARN'\n",
    )
    assert [field.default for field in found.values()] == [500_000_000, 10_485_760, "WARN", 1.0, {"expr": "random()"}]
    assert found["bucket"].alias == "stage3_bucket"


def test_a_default_that_a_branch_may_change_stays_code():
    found = fields(
        "class Config:\n"
        "    default_optim = 'adamw'\n"
        "    if newer():\n"
        "        default_optim = 'fused'\n"
        "    fixed = 'cosine'\n"
        "    optim: str = field(default=default_optim)\n"
        "    schedule: str = field(default=fixed)\n"
    )
    assert found["optim"].default == {"expr": "default_optim"}
    assert found["schedule"].default == "cosine"


def test_argparse_loops_and_prefixes_are_unrolled():
    from extract.source import options

    body = ast.parse(
        "for prefix in ('actor', 'critic'):\n"
        "    parser.add_argument(f'--{prefix}.lr', type=float, default=1e-6 if prefix == 'actor' else 9e-6)\n"
        "group.add_argument('-t', '--tee', '--tee_all', action='store_true')\n"
        "parser.add_argument('script')\n"
        "parser.add_argument('--mode', required=True, choices=['a', 'b'])\n"
    ).body
    found = list(options(body))
    assert [option.names for option in found] == [("actor.lr",), ("critic.lr",), ("tee", "tee_all"), ("mode",)]
    assert [option.field.default for option in found] == [1e-6, 9e-6, False, {"required": True}]
    assert found[2].group == "group"
    assert found[3].field.choices == ("a", "b")


def test_change_points_of_keys_that_come_go_and_come_back():
    from extract.history import Snapshot, decode, encode

    states = [{"a": 1}, {"a": True, "b": []}, {"b": []}, {"a": 2, "b": {}}]
    snapshots = [Snapshot(f"0.{index}", {"t": keys}) for index, keys in enumerate(states)]
    data = encode(snapshots)
    assert data["tables"]["t"] == {
        "a": [["0.0", 1], ["0.1", True], ["0.2"], ["0.3", 2]],
        "b": [["0.1", []], ["0.3", {}]],
    }
    assert [snapshot.tables["t"] for snapshot in decode(data)] == states


def test_a_table_stored_as_difference_comes_back_whole():
    from extract.history import Snapshot, decode, encode

    base = [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 1, "c": 3}]
    late = [{"a": 2, "d": 5}, {"a": 2, "c": 3, "d": 5}]
    snapshots = [Snapshot("1", {"base": base[0]}), *(
        Snapshot(str(index + 2), {"base": base[index + 1], "late": late[index]}) for index in range(2)
    )]  # fmt: skip
    data = encode(snapshots, "base")
    assert data["tables"]["late"] == {"b": [], "d": [["2", 5]]}
    assert (data["first"], data["like"]) == ({"late": "2"}, {"late": "base"})
    assert [snapshot.tables.get("late") for snapshot in decode(data)] == [None, *late]


def test_a_table_that_ends_early_comes_back_whole():
    from extract.history import Snapshot, decode, encode

    base = [{"a": 1}, {"a": 2}, {"a": 3}]
    early = [{"a": 1, "x": 0}, {"a": 2, "x": 0}]
    snapshots = [
        Snapshot("1", {"base": base[0], "early": early[0]}),
        Snapshot("2", {"base": base[1], "early": early[1]}),
        Snapshot("3", {"base": base[2]}),
    ]
    data = encode(snapshots, "base")
    assert data["tables"]["early"] == {"x": [["1", 0]]}
    assert data["last"] == {"early": "2"}
    assert [snapshot.tables.get("early") for snapshot in decode(data)] == [*early, None]


def test_types_of_literals_are_those_of_their_values():
    found = fields("class Config:\n    rank: Literal[8, 16] = 8\n    mode: Literal['a', 'b'] | None = None\n")
    assert (found["rank"].type, found["rank"].choices, found["mode"].type) == ("int", (8, 16), "str")


def test_options_have_their_short_names_beside_the_long_ones():
    from extract.source import option

    call = ast.parse('parser.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)').body[0].value
    made = option(call)
    assert (made.names, made.short, made.field.default) == (("tensor-parallel-size",), ("tp",), 1)


def test_vllm_options_take_types_and_choices_from_the_configuration_class(tmp_path):
    from extract import vllm

    files = {
        "config.py": "Runner = Literal['pooling', 'draft']\nOption = Literal['auto', Runner]\n"
        "class ModelConfig:\n    runner: Option = 'auto'\n    seed: int = 0\n",
        "engine/arg_utils.py": "class EngineArgs:\n    runner: Option = ModelConfig.runner\n"
        "    seed: int = get_field(ModelConfig, 'seed')\n"
        "    def add_cli_args(parser):\n        kwargs = get_kwargs(ModelConfig)\n"
        "        parser.add_argument('--runner', '-r', **kwargs['runner'])\n"
        "        parser.add_argument('--seed', **kwargs['seed'])\n",
        "entrypoints/openai/cli_args.py": "class FrontendArgs:\n    host: str | None = None\n",
        "entrypoints/llm.py": "class LLM:\n"
        "    def __init__(self, model: str, *, seed: int = 0, extra: bool = False): ...\n",
        "sampling_params.py": "class SamplingParams:\n    temperature: float = 1.0\n",
    }
    for name, text in files.items():
        (tmp_path / "vllm" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "vllm" / name).write_text(text)
    found = vllm.read("1.0", tmp_path)
    assert found.tables["EngineArgs"] == {"runner": "auto", "seed": 0}
    assert found.choices["EngineArgs"] == {"runner": ["auto", "pooling", "draft"]}
    assert found.types["EngineArgs"] == {"runner": "str", "seed": "int"}
    assert found.aliases["EngineArgs"] == {"r": "runner"}
    assert found.tables["serve"] == {"host": None}
    assert found.tables["LLM"] == {"model": {"required": True}, "extra": False}


def test_sglang_options_of_annotations_and_of_calls_belong_to_one_field(tmp_path):
    from extract import sglang

    (tmp_path / "sglang" / "srt" / "arg_groups").mkdir(parents=True)
    (tmp_path / "sglang" / "srt" / "server_args.py").write_text(
        "class ServerArgs:\n"
        "    tp_size: A[int, Arg(help='x', cli_name='--tensor-parallel-size', aliases=['--tp-size'])] = 1\n"
        "    mode: A[Optional[str], 'help'] = None\n    hidden: A[bool, Arg(no_cli=True)] = False\n"
        "    def add_cli_args(parser):\n        parser.add_argument('--mode', choices=['a', 'b'])\n"
        "        parser.add_argument('--config', type=str)\n"
    )
    found = sglang.read("1.0", tmp_path)
    assert found.tables == {"ServerArgs": {"tp_size": 1, "mode": None, "hidden": False}, "server": {"config": None}}
    assert found.aliases["ServerArgs"] == {"tensor_parallel_size": "tp_size"}
    assert found.types["ServerArgs"]["tp_size"] == "int"

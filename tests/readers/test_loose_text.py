"""Flat pairs, package versions, and fragments as people paste them."""

import pytest

from grpo_guard.configs.flat_text import read_pairs
from grpo_guard.configs.fragment import read_fragment
from grpo_guard.configs.requirements import canonical, read_requirements, read_versions
from grpo_guard.configs.values import Unresolved


class TestPairs:
    @pytest.mark.parametrize(
        "text",
        [
            "zero_stage=2 | clip_grad=1.0 | use_lora=true | engine=sglang | ref=None",
            "zero_stage=2, clip_grad=1.0, use_lora=True, engine='sglang', ref=null",
            "# comment\nzero_stage = 2\nclip_grad = 1.0\n\nuse_lora=TRUE\nengine=sglang\nref=none\n",
        ],
    )
    def test_the_three_separators(self, text):
        assert read_pairs(text, "x").data == {
            "zero_stage": 2,
            "clip_grad": 1.0,
            "use_lora": True,
            "engine": "sglang",
            "ref": None,
        }

    def test_brackets_and_quotes_hold_together(self):
        document = read_pairs("a=[1, 2], b='x, y', c=1e-6", "x")
        assert document.data == {"a": [1, 2], "b": "x, y", "c": 1e-6}

    def test_lines_and_duplicates(self):
        document = read_pairs("a=1 | b=2\nb=3", "x")
        assert [(entry.key, entry.line) for entry in document.entries] == [("a", 1), ("b", 1), ("b", 2)]
        assert [(lint.rule, lint.line) for lint in document.lints] == [("duplicate-key", 2)]

    @pytest.mark.parametrize("text", ["", "hello", "a.b=1", "--a=1", "a: 1", "a=1 | hello", "a==1", "python x.py a=1"])
    def test_other_texts_are_left_to_other_readers(self, text):
        assert read_pairs(text, "x") is None


# The same two versions in every form that is read.
FORMS = {
    "freeze.txt": """
torch==2.6.0+cu124
vllm==0.8.5
""",
    "pip_list.txt": """
Package    Version      Editable project location
---------- ------------ -------------------------
torch      2.6.0+cu124
vllm       0.8.5        /src/vllm
""",
    "conda_list.txt": """
# packages in environment:
#
# Name   Version      Build   Channel
torch    2.6.0+cu124  py3     x
vllm     0.8.5        pypi_0  pypi
""",
    "list.json": """
[{"name": "torch", "version": "2.6.0+cu124"},
 {"name": "vllm", "version": "0.8.5"}]
""",
    "inspect.json": """
{"installed": [{"metadata": {"name": "torch", "version": "2.6.0+cu124"}},
               {"metadata": {"name": "vllm", "version": "0.8.5"}}]}
""",
    "Pipfile.lock": """
{"default": {"torch": {"version": "==2.6.0+cu124"}},
 "develop": {"vllm": {"version": "==0.8.5"}}}
""",
    "uv.lock": """
version = 1

[[package]]
name = "torch"
version = "2.6.0+cu124"
source = { registry = "x" }

[package.metadata]
version = "9"

[[package]]
name = "vllm"
version = "0.8.5"
""",
    "pylock.toml": """
[[packages]]
name = "torch"
version = "2.6.0+cu124"
[[packages]]
name = "vllm"
version = "0.8.5"
""",
    "pyproject.toml": """
[project]
name = "x"
dependencies = ["torch==2.6.0+cu124"]
[project.optional-dependencies]
rl = ["vllm==0.8.5"]
""",
    "poetry/pyproject.toml": """
[tool.poetry.dependencies]
python = "^3.10"
torch = "2.6.0+cu124"
vllm = {version = "0.8.5", optional = true}
""",
    "environment.yml": """
name: x
dependencies:
  - pytorch::pytorch==2.6.0+cu124
  - pip:
    - vllm==0.8.5
""",
    "Dockerfile": """
FROM ubuntu
RUN pip install -U "torch==2.6.0+cu124" && \\
    pip install vllm[all]==0.8.5; echo done
""",
    "issue.txt": """
[pip3] torch==2.6.0+cu124
[pip3] vllm==0.8.5
""",
    "show.txt": """
Name: torch
Version: 2.6.0+cu124
---
Name: vllm
Version: 0.8.5
""",
    "wheels.txt": """
https://x/torch-2.6.0%2Bcu124-cp311-cp311-linux_x86_64.whl
./vllm-0.8.5-cp38-abi3-linux.whl
""",
}


class TestVersions:
    def test_requirements(self):
        text = (
            "torch==2.6.0+cu124\nvllm>=0.8,<0.9  # range\nFlash_Attn===2.7.4.post1\n"
            'trl[vllm,peft]==0.17.0 ; python_version > "3.9"\ncolorama==0.4.6 ; sys_platform == "win32"\n'
            "numpy==1.*\n-r other.txt\n-e .\nverl @ git+https://example.com/x\nray\n"
            "deepspeed==0.16.5 \\\n    --hash=sha256:abc\n"
        )
        found = read_requirements(text, "requirements.txt")
        assert found.pins == {
            "torch": "2.6.0+cu124",
            "flash-attn": "2.7.4.post1",
            "trl": "0.17.0",
            "deepspeed": "0.16.5",
        }
        assert found.bounds == {"vllm": ">=0.8,<0.9", "numpy": "==1.*"}

    @pytest.mark.parametrize(("name", "text"), FORMS.items())
    def test_every_form(self, name, text):
        assert read_versions(text, name) == {"torch": "2.6.0+cu124", "vllm": "0.8.5"}

    def test_two_pins_of_a_package_decide_nothing(self):
        found = read_requirements("vllm==0.8.5\nvllm==0.9.0\nvllm==0.8.5\n", "requirements.txt")
        assert found.pins == {}
        assert found.notes == ["vllm is pinned to 0.8.5 and to 0.9.0: undecided"]

    def test_the_same_release_with_and_without_its_build(self):
        assert read_versions("torch==2.6.0\ntorch==2.6.0+cu124\n", "x") == {"torch": "2.6.0+cu124"}

    def test_a_conda_prefix_is_a_bound(self):
        found = read_requirements("dependencies:\n  - python=3.11\n  - numpy>=1.26\n", "environment.yaml")
        assert (found.pins, found.bounds) == ({}, {"python": "=3.11", "numpy": ">=1.26"})

    def test_names(self):
        assert canonical("Flash__Attn.X") == "flash-attn-x"


class TestFragment:
    def test_prose_omissions_and_several_syntaxes(self):
        document = read_fragment(
            "Here is what I run:\n"
            "```yaml\n"
            "actor_rollout_ref:\n"
            "  rollout:\n"
            "    n: 8\n"
            "    ...\n"
            "  actor:\n"
            "    lr: 1e-6   # small\n"
            "    files: [a,\n"
            "      b]\n"
            "```\n"
            "and then with\n"
            "python3 -m verl.trainer.main_ppo trainer.nnodes=2 +trainer.x=True \\\n"
            "  actor_rollout_ref.model.path=...\n"
            "vllm serve m --data-parallel-size 2 --enforce-eager\n"
            'GRPOConfig(use_vllm=True, vllm_mode="colocate")\n'
            '{"zero_optimization": {"stage": 2}}\n'
            "trainer.dir=<node-local disk>\n",
            "<text>",
        )
        assert [(entry.line, entry.op + entry.key, entry.value) for entry in document.entries] == [
            (5, "actor_rollout_ref.rollout.n", 8),
            (8, "actor_rollout_ref.actor.lr", 1e-6),
            (9, "actor_rollout_ref.actor.files", ["a", "b"]),
            (13, "trainer.nnodes", 2),
            (13, "+trainer.x", True),
            (14, "actor_rollout_ref.model.path", Unresolved("...", ("...",))),
            (15, "--data-parallel-size", 2),
            (15, "--enforce-eager", True),
            (16, "use_vllm", True),
            (16, "vllm_mode", "colocate"),
            (17, "zero_optimization.stage", 2),
            (18, "trainer.dir", Unresolved("<node-local disk>", ("<node-local disk>",))),
        ]
        assert document.notes == ["line 1 is no setting: Here is what I run:", "line 12 is no setting: and then with"]
        assert document.data["actor_rollout_ref"]["rollout"] == {"n": 8}
        assert document.data["--enforce-eager"] is True

    def test_a_whole_document_keeps_its_format(self):
        assert read_fragment('{"a": {"b": 1}}', "x").format == "json"
        assert read_fragment("a:\n  b: 1\n  ...\n", "x").format == "yaml"

    def test_text_without_settings(self):
        document = read_fragment("the loss is NaN after step 3\n", "x")
        assert (document.entries, document.notes) == ([], ["line 1 is no setting: the loss is NaN after step 3"])

    def test_many_lines_of_prose_are_counted(self):
        document = read_fragment("prose\n" * 50, "x")
        assert len(document.notes) == 21
        assert document.notes[-1] == "30 more lines are no settings"

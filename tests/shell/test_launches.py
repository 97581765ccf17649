"""Which commands start a trainer or a rollout server, and what is taken off in front of them."""

from __future__ import annotations

import pytest

from grpo_guard.configs.shell.launches import is_launch

MAIN = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo"


def launch(script):
    (found,) = script.launches
    return [word.text for word in found.argv]


@pytest.mark.parametrize(
    "command",
    [
        MAIN,
        "python -u -m verl.trainer.main_ppo",
        "python3 train.py --a 1 --b 2 --c 3",
        "python3 examples/run_grpo.py --config x.yaml",
        "torchrun --nproc_per_node 8 -m verl.trainer.sft_trainer",
        "accelerate launch --config_file zero3.yaml train.py --beta 0.04",
        "deepspeed --module openrlhf.cli.train_ppo_ray --n_samples_per_prompt 8",
        "trl grpo --config grpo.yaml",
        "trl vllm-serve --model Qwen/Qwen3-8B",
        "swift rlhf --rlhf_type grpo",
        "megatron rlhf --rlhf_type grpo",
        "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2",
        "python -m sglang.launch_server --model-path x",
        "python -m openrlhf.cli.train_ppo_ray",
        "llamafactory-cli train x.yaml",
        "axolotl train x.yaml",
        "/opt/conda/bin/python -m verl.trainer.main_ppo",
        "${PYTHON} -m verl.trainer.main_ppo",
    ],
)
def test_launches(command):
    assert is_launch(command.split())


@pytest.mark.parametrize(
    "command",
    [
        "echo python3 -m verl.trainer.main_ppo a.b=1 c.d=2 e.f=3",
        "python3 examples/data_preprocess/gsm8k.py --local_dir x --a 1 --b 2",
        "python -m verl.model_merger merge --backend fsdp --local_dir x --target_dir y",
        "python -c import_torch",
        "pip install vllm --a --b --c",
        "swift export --model x --a 1 --b 2",
        "vllm bench --a --b --c",
        "ray start --head --port 6379 --num-gpus 8",
        "tee log",
        "--actor.lr 1e-6 --b 2 --c 3",
        "trainer.nnodes=1 trainer.a=2 trainer.b=3",
    ],
)
def test_other_commands(command):
    assert not is_launch(command.split())


@pytest.mark.parametrize(
    "prefix",
    [
        "nohup",
        "exec",
        "sudo -E -u ray",
        "stdbuf -oL -eL",
        "timeout -k 5 3600",
        "numactl --membind=0",
        "env A=b C=d",
        "srun --nodes=1 -w node1 --container-image img",
        "mpirun -np 8 --mca btl tcp -x PATH",
        "ray job submit --address http://127.0.0.1:8265 --no-wait --",
        "uv run --frozen --extra vllm",
        "conda run -n rl --no-capture-output",
        "apptainer run --nv --bind /a image.sif",
        "A=1 nohup uv run --with x env B=2",
    ],
)
def test_wrappers_are_taken_off(prefix, read):
    script = read(f"{prefix} {MAIN}")
    assert launch(script) == MAIN.split()
    (found,) = script.launches
    start = found.argv[0].text
    assert [word.text for word in found.wrapper] == [w for w in prefix.split() if w != "A=1"] and start == "python3"


def test_time_is_a_word_of_the_shell(read):
    script = read(f"time {MAIN}")
    assert (launch(script), script.launches[0].wrapper) == (MAIN.split(), ())


def test_programs_that_launch_stay_in_front(read):
    command = "accelerate launch --num_processes 7 src/open_r1/grpo.py --config recipes/grpo.yaml"
    assert launch(read(f"nohup {command} > log 2>&1 &")) == command.split()


def test_uv_runs_modules_and_scripts(read):
    assert launch(read("uv run --isolated --extra fsdp -m skyrl.train.main_base trainer.a=1")) == [
        "python", "-m", "skyrl.train.main_base", "trainer.a=1",
    ]  # fmt: skip
    assert launch(read("uv run rl @ grpo.toml --trainer.lr 1e-6")) == ["rl", "@", "grpo.toml", "--trainer.lr", "1e-6"]


def test_pipes_redirections_and_background(read):
    for tail in ("2>&1 | tee run.log", "> run.log 2>&1 &", "&> run.log", "|| exit 1", "&& echo done", "; wait"):
        assert launch(read(f"{MAIN} {tail}")) == MAIN.split()


def test_shell_text_is_read_with_its_own_lines(read):
    script = read(f'export TP=2\nX=3\nsrun -N 1 bash -lc "cd /work && \\\n  {MAIN} \\\n  tp=\\$TP x=\\$X"')
    assert launch(script) == [*MAIN.split(), "tp=2", "x=${X}"]
    assert [word.line for word in script.launches[0].argv] == [4, 4, 4, 4, 5, 5]


def test_here_documents_for_a_shell(read):
    assert launch(read(f"n=4\nbash <<EOF\n{MAIN} \\\n  n=$n\nEOF")) == [*MAIN.split(), "n=4"]
    assert launch(read(f"sbatch <<'EOF'\n#!/bin/bash\n#SBATCH -N 2\nsrun {MAIN}\nEOF")) == MAIN.split()


def test_batch_jobs(read):
    assert launch(read(f'sbatch -N 1 --wrap="{MAIN}"')) == MAIN.split()
    assert launch(read(f'COMMAND="{MAIN}" CONTAINER=x sbatch --nodes=2 ray.sub')) == MAIN.split()


def test_environment_of_a_launch(read):
    script = read(
        "export NCCL_DEBUG=WARN\n"
        "HIDDEN=1\n"
        "VLLM_USE_V1=1 \\\n"
        f'ray job submit --runtime-env-json=\'{{"env_vars": {{"PYTHONPATH": "/x", "N": 1, "H": "$HOME"}}}}\' -- {MAIN}'
    )
    env = {name: word.text for name, word in script.launches[0].env.items()}
    assert env == {"NCCL_DEBUG": "WARN", "VLLM_USE_V1": "1", "PYTHONPATH": "/x", "N": "1", "H": "$HOME"}
    assert script.launches[0].env["NCCL_DEBUG"].line == 1
    assert script.launches[0].env["VLLM_USE_V1"].line == 3


def test_unknown_values_in_the_runtime_environment(read):
    script = read(
        'J="{\n  \\"env_vars\\": {\\"CUDA_DEVICE_MAX_CONNECTIONS\\": \\"1\\", \\"NVLS\\": \\"${HAS_NVLINK}\\"}\n}"\n'
        f'ray job submit --runtime-env-json="$J" -- {MAIN}'
    )
    env = script.launches[0].env
    assert (env["CUDA_DEVICE_MAX_CONNECTIONS"].text, env["CUDA_DEVICE_MAX_CONNECTIONS"].unknown) == ("1", ())
    assert (env["NVLS"].text, env["NVLS"].unknown) == ("${HAS_NVLINK}", ("HAS_NVLINK",))


def test_several_launches(read):
    script = read(f"CUDA_VISIBLE_DEVICES=0 vllm serve m &\nfor lr in 1e-6 1e-5; do {MAIN} lr=$lr; done")
    assert [found.argv[-1].text for found in script.launches] == ["m", "lr=1e-6", "lr=1e-5"]


def test_a_launch_behind_a_false_condition_is_found(read):
    script = read(f'n=8\nif [ "$NODE_RANK" = 0 ]; then\n  n=4\n  {MAIN} n=$n\nfi')
    assert launch(script) == [*MAIN.split(), "n=4"]


def test_the_false_branch_counts_when_both_launch(read):
    script = read(f'if [ "$MODE" = a ]; then {MAIN} a=1; else {MAIN} a=2; fi')
    assert launch(script) == [*MAIN.split(), "a=2"]


def test_a_script_that_calls_a_script(read, tmp_path):
    (tmp_path / "base.sh").write_text(f'{MAIN} tp=${{TP:-1}} x=${{X:-1}} "$@"\n')
    script = read('export TP=2\nX=2\nbash base.sh trainer.nnodes=2 "$@"', root=tmp_path)
    assert launch(script) == [*MAIN.split(), "tp=2", "x=1", "trainer.nnodes=2"]
    assert (script.launches[0].file, script.launches[0].line, script.sources) == ("base.sh", 1, ["base.sh"])
    assert script.takes_arguments


def test_flags_of_a_file_that_launches_nothing(read):
    script = read(
        'MODEL_ARGS=(\n  --num-layers 48\n  --swiglu\n  --hidden-size 2048\n)\nOPT="--lr 1e-6\n --adam --wd 0.1"'
    )
    assert not script.launches
    assert {name: [word.text for word in words] for name, words in script.flags.items()} == {
        "MODEL_ARGS": ["--num-layers", "48", "--swiglu", "--hidden-size", "2048"],
        "OPT": ["--lr", "1e-6", "--adam", "--wd", "0.1"],
    }
    assert [word.line for word in script.flags["OPT"]] == [6, 6, 7, 7, 7]

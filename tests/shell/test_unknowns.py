"""What the script alone does not decide stays unknown, with the names that would decide it. Nothing is guessed."""

from __future__ import annotations


def words(command):
    return [(word.text, word.unknown) for word in command.argv[1:]]


def test_a_name_that_is_never_set_is_unknown(show):
    assert words(show("show a=$MODEL --x b")) == [("a=${MODEL}", ("MODEL",)), ("--x", ()), ("b", ())]


def test_unknown_parts_travel_through_variables(show):
    script = "root=${HOME}/data\nfiles=\"['$root/a', '$root/b']\"\nshow x=\"$files\""
    assert words(show(script)) == [("x=['${HOME}/data/a', '${HOME}/data/b']", ("HOME",))]


def test_a_name_of_the_login_shell_is_set_but_unknown(show):
    assert words(show("show ${HOME:-/root} ${USER:+u}")) == [("${HOME}", ("HOME",)), ("u", ())]


def test_output_of_programs_is_unknown(show):
    command = show("stamp=$(date +%Y%m%d)\nshow run_$stamp $(nproc)")
    assert words(command) == [("run_$(date +%Y%m%d)", ("$(date +%Y%m%d)",)), ("$(nproc)", ("$(nproc)",))]


def test_text_functions_of_unknown_text_name_the_unknown(show):
    assert words(show("show $(echo $X | tr a-z A-Z) ${#X}")) == [("$(echo $X | tr a-z A-Z)", ("X",)), ("0", ())]


def test_arithmetic_with_an_unknown_name_is_unknown(show):
    assert words(show("n=2; show $((n * GPUS))")) == [("$((n * GPUS))", ("GPUS",))]


def test_a_known_end_is_cut_from_an_unknown_path(show):
    script = "p=$ROOT/models/Qwen3-8B.tar\nshow ${p##*/} $(basename $p .tar) ${p%.tar}"
    assert words(show(script)) == [
        ("Qwen3-8B.tar", ()),
        ("Qwen3-8B", ()),
        ("${ROOT}/models/Qwen3-8B", ("ROOT",)),
    ]


def test_placeholders_of_a_guide_are_unknown(show):
    command = show("show --host <node1_ip> --model <your/model path>")
    assert words(command) == [
        ("--host", ()),
        ("<node1_ip>", ("node1_ip",)),
        ("--model", ()),
        ("<your/model path>", ("your/model path",)),
    ]


def test_an_array_with_an_unknown_number_of_items(show):
    script = "nodes=($NODES)\nshow ${nodes[0]} ${#nodes[@]}"
    assert words(show(script)) == [("${nodes[0]}", ("NODES",)), ("${#nodes[@]}", ("NODES",))]


# --- conditions -----------------------------------------------------------------------------------------------------


def test_a_name_never_set_counts_as_empty_in_a_test_for_it(show, read):
    script = 'if [ -z "$TP" ]; then TP=2; fi\n[ -n "$PP" ] && PP=8 || PP=1\nshow $TP $PP'
    assert words(show(script)) == [("2", ()), ("1", ())]
    assert read(script).assumptions == []


def test_probes_count_as_false_and_are_told(show, read):
    script = (
        "DEVICE=$(python3 -c 'import torch_npu' 2>/dev/null && echo npu || echo gpu)\n"
        "if command -v uv >/dev/null; then RUN=uv; else RUN=python; fi\n"
        "[ -f .env ] && source .env\n"
        "show $DEVICE $RUN"
    )
    assert words(show(script)) == [("gpu", ()), ("python", ())]
    assert read(script).assumptions == [
        "line 1: `python3 -c 'import torch_npu' 2>/dev/null` taken as false",
        "line 2: `command -v uv >/dev/null` taken as false",
        "line 3: `[ -f .env ]` taken as false",
    ]


def test_an_open_condition_leaves_its_variables_unknown(show, read):
    script = 'n=8\nk=1\nif [ "$NODE" = a ]; then\n  n=4\nelse\n  k=1\nfi\nshow $n $k'
    assert words(show(script)) == [("${n}", ("NODE",)), ("1", ())]
    assert read(script).assumptions == ['line 3: `[ "$NODE" = a ]` taken as false']


def test_an_open_condition_on_an_array_keeps_what_is_common(show):
    script = 'a=(x=1 y=2)\nif [[ $ENGINE == sglang ]]; then a+=(z=3); fi\nshow "${a[@]}"'
    assert words(show(script)) == [("x=1", ()), ("y=2", ()), ("${a[@]}", ("ENGINE",))]


def test_an_open_list_leaves_its_variable_unknown(show):
    assert words(show('[ "$RANK" -eq 0 ] && n=1\nshow ${n:-2}')) == [("${n}", ("RANK",))]
    assert words(show('n=2\n[ "$RANK" -eq 0 ] || n=1\nshow $n')) == [("${n}", ("RANK",))]


def test_an_open_case_tries_every_branch(show):
    script = "case $GPU in\n  h100) mem=80; tp=2 ;;\n  *) mem=24; tp=2 ;;\nesac\nshow $mem $tp"
    assert words(show(script)) == [("${mem}", ("GPU",)), ("2", ())]


def test_a_branch_that_exits_does_not_count(show):
    script = 'case "$ALGO" in\n  grpo) lr=1e-6 ;;\n  *) echo "unknown"; exit 1 ;;\nesac\nshow $lr'
    assert words(show(script)) == [("1e-6", ())]


def test_an_early_return_is_another_way_through_the_function(show):
    script = 'f() { if [ "$RANK" = 0 ]; then x=1; return; fi; x=2; }\nf\nshow $x'
    assert words(show(script)) == [("${x}", ("RANK",))]


def test_comparisons_that_the_known_part_decides(show):
    script = 'p=/data/$RUN\n[ "$p" = /models/x ] && a=1\n[ -n "$p" ] && b=2\nshow ${a:-0} $b'
    assert words(show(script)) == [("0", ()), ("2", ())]


def test_loops_that_only_the_outside_ends_are_left(show, read):
    script = "while ! curl -s localhost:8000/health; do sleep 5; tries=$((tries+1)); done\nshow end"
    assert words(show(script)) == [("end", ())]
    assert words(show("while true; do if curl -s x; then break; fi; i=$((i+1)); done\nshow end")) == [("end", ())]


def test_a_loop_over_unknown_items_runs_once_and_leaves_its_results_unknown(show, read):
    script = "n=0\nfor host in $HOSTS; do n=$((n+1)); start $host; done\nshow $n"
    assert words(show(script)) == [("${n}", ("HOSTS",))]
    start = read(script).commands[0]
    assert [(word.text, word.unknown) for word in start.argv] == [("start", ()), ("${host}", ("HOSTS",))]


def test_a_guarded_exit_does_not_end_the_reading(show, read):
    script = (
        'if [ $# -lt 1 ]; then echo usage; exit 1; fi\n[ -z "$MODEL" ] && { echo "set MODEL"; exit 1; }\nshow $MODEL'
    )
    assert words(show(script)) == [("${MODEL}", ("MODEL",))]
    assert [(lint.rule, lint.line) for lint in read(script).lints] == [
        ("shell-required-variable", 2),
        ("shell-unset-variable", 3),
    ]


def test_a_known_exit_ends_the_script(read):
    assert [command.argv[0].text for command in read("MODE=a\nrun\n[ $MODE = a ] && exit 0\nnever").commands] == ["run"]


def test_arguments_are_empty_and_their_use_is_told(show, read):
    script = 'engine=${1:-vllm}\nshow rollout.name=$engine "$@" $2 a=$3'
    assert words(show(script)) == [("rollout.name=vllm", ()), ("a=", ())]
    assert read(script).takes_arguments
    assert not read("[ $# -gt 0 ] && x=1\nshow a").takes_arguments


def test_in_a_batch_job_slurm_decides_and_not_the_default(show):
    script = "#!/bin/bash\n{}\nGPUS=${{SLURM_GPUS_ON_NODE:-${{GPUS:-2}}}}\nshow n=$GPUS m=${{MODE:-a}}"
    assert words(show(script.format("#SBATCH --gres=gpu:4"))) == [
        ("n=${SLURM_GPUS_ON_NODE:-${GPUS:-2}}", ("SLURM_GPUS_ON_NODE",)),
        ("m=a", ()),
    ]
    assert words(show(script.format("# no batch job"))) == [("n=2", ()), ("m=a", ())]


def test_what_a_command_prints_is_not_read_as_a_script(read):
    script = """eval "$(python3 - <<'EOF'\nprint(f"x={len('(')}")\nEOF\n)"\nshow a\n"""
    found = read(script)
    assert found.lints == []
    assert [line.split(":")[0] for line in found.assumptions] == ["line 1"]

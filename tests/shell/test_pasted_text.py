"""Text as people paste it: from Windows, from a terminal, from a chat, from a slurm script."""

from __future__ import annotations

import pytest

COMMAND = "python3 -m verl.trainer.main_ppo \\\n  algorithm.adv_estimator=grpo \\\n  trainer.nnodes=1\n"
EXPECTED = ["python3", "-m", "verl.trainer.main_ppo", "algorithm.adv_estimator=grpo", "trainer.nnodes=1"]


@pytest.mark.parametrize(
    ("text", "first_line"),
    [
        (COMMAND, 1),
        (COMMAND.replace("\n", "\r\n"), 1),
        ("\ufeff" + COMMAND, 1),
        ("\t" + COMMAND.replace("  ", "\t"), 1),
        ("#!/bin/zsh\n" + COMMAND, 2),
        ("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:8\n\nsrun " + COMMAND, 5),
        ("$ " + COMMAND, 1),
        ("$ " + COMMAND.replace("\n  ", "\n> "), 1),
        ("(rl) $ cd verl\n(rl) $ " + COMMAND, 2),
        ("Run this:\n\n```bash\n" + COMMAND + "```\n\nIt isn't slow.\n", 4),
        ("```\n" + COMMAND + "```", 2),
        ("Config:\n```yaml\na: b\n```\nthen\n```sh\n" + COMMAND + "```\n", 7),
        ("```bash\n" + COMMAND, 2),
        (COMMAND.strip(), 1),
    ],
)
def test_a_launch_is_read(text, first_line, read):
    (found,) = read(text).launches
    assert [word.text for word in found.argv] == EXPECTED
    assert [word.line for word in found.argv] == [first_line] * 3 + [first_line + 1, first_line + 2]


def test_fences_inside_a_script_are_text(shown):
    assert shown("#!/bin/bash\ncat > README <<EOF\n```\nEOF\nshow a\n# ```\n") == ["a"]


def test_a_key_that_looks_like_a_prompt_is_none(shown):
    assert shown("show $ a") == ["$", "a"]

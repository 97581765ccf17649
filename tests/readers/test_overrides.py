"""Override words as entries, composition of files, interpolation: what Hydra's own answers cannot say."""

import pytest

from grpo_guard.configs.hydra import (
    ProjectLoader,
    compose,
    interpolate,
    parse_omegaconf_cli,
    parse_override,
    read_overrides,
)
from grpo_guard.configs.interpolation import NEMO_RL_RESOLVERS
from grpo_guard.configs.values import Document, Entry, Lint, Unresolved, Word
from grpo_guard.configs.yaml_text import read_yaml


def words(*texts):
    return [Word(text, line, "run.sh") for line, text in enumerate(texts, start=1)]


def test_words_become_entries_in_order():
    entries, lints = read_overrides(
        words("trainer.nnodes=2", "+actor.x=[a,'b c']", "++actor.y={k:1}", "~data.z", "actor@worker: x", "data.f=")
    )
    assert entries == [
        Entry("trainer.nnodes", 2, "run.sh", 1, "", "2"),
        Entry("actor.x", ["a", "b c"], "run.sh", 2, "+", "[a,'b c']"),
        Entry("actor.y", {"k": 1}, "run.sh", 3, "++", "{k:1}"),
        Entry("data.z", None, "run.sh", 4, "~", ""),
        Entry("data.f", "", "run.sh", 6, "", ""),
    ]
    assert lints == [
        Lint("hydra-syntax", "Hydra cannot parse `actor@worker: x`: there is no `key=value`", "run.sh", 5, "error")
    ]


def test_a_value_that_hydra_refuses_keeps_its_key():
    entries, (lint,) = read_overrides(words('actor.kwargs={"a": 1}'))
    assert entries == [Entry("actor.kwargs", Unresolved('{"a": 1}'), "run.sh", 1, "", '{"a": 1}')]
    assert lint.message == 'Hydra cannot parse `actor.kwargs={"a": 1}`: unexpected `"a"`'


def test_a_sweep_is_a_warning():
    override = parse_override("data.files=a,b")
    assert (override.value, override.rule, override.severity) == (Unresolved("a,b"), "hydra-sweep", "warning")


@pytest.mark.parametrize(
    ("text", "unknown", "value"),
    [
        ("actor.lr=${LR}", ("LR",), Unresolved("${LR}", ("LR",))),
        ("data.train_files=['$DATA/a.parquet','b']", ("DATA",), Unresolved("['$DATA/a.parquet','b']", ("DATA",))),
        ("trainer.n=$((A * 2)), x", ("A",), Unresolved("$((A * 2)), x", ("A",))),  # not parsed: the text is not final
    ],
)
def test_what_the_shell_left_open_stays_open(text, unknown, value):
    override = parse_override(text, unknown)
    assert (override.value, override.problem) == (value, "")


def test_a_key_that_the_shell_left_open():
    override = parse_override("$KEY.x=1", ("KEY",))
    assert (override.rule, override.severity) == ("hydra-key-unknown", "info")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a=${trainer.n}", ("${trainer.n}",)),
        ("a=[${x},${y.z}]", ("${x}", "${y.z}")),
        ("a=${x}/${x}", ("${x}",)),
        ("a=???", ("a",)),
    ],
)
def test_references_name_what_decides_them(text, names):
    assert parse_override(text).value.names == names


def test_the_package_of_a_group():
    override = parse_override("actor@actor_rollout_ref.actor=megatron_actor")
    assert (override.key, override.package, override.value) == (
        "actor@actor_rollout_ref.actor",
        "actor_rollout_ref.actor",
        "megatron_actor",
    )
    assert parse_override("a.b=1").package is None


@pytest.mark.parametrize(
    ("text", "hydra", "omegaconf"),
    [
        ("a=yes", "yes", True),
        ("a=010", "010", 8),
        ("a=", "", None),
        ("a=~", Unresolved("~"), None),
        ("a=None", "None", "None"),
        ("a=1e-6", 1e-6, 1e-6),
        ("a=x,y", Unresolved("x,y"), "x,y"),
        ("a=Null", None, None),
        ("a=tRuE", True, "tRuE"),
        ("a=[x, y]", ["x", "y"], ["x", "y"]),
    ],
)
def test_hydra_and_omegaconf_read_the_same_word_differently(text, hydra, omegaconf):
    assert parse_override(text).value == hydra
    assert parse_omegaconf_cli(text).value == omegaconf


class TestProject:
    @pytest.fixture
    def project(self, tmp_path):
        def write(**files):
            for name, text in files.items():
                path = tmp_path / name.replace("__", "/").replace("_yaml", ".yaml")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return tmp_path

        return write

    def composed(self, root, name, **choices):
        path = root / name
        document = read_yaml(path.read_text(), str(path))
        return compose(document, ProjectLoader(root, document), choices)

    def test_entries_keep_the_file_and_line_where_they_are_written(self, project):
        root = project(
            config_yaml="defaults:\n  - actor: dp\n  - _self_\nactor:\n  lr: 5\nn: 1\n",
            actor__dp_yaml="lr: 1\nname: dp\n",
        )
        composed = self.composed(root, "config.yaml")
        assert [
            (entry.key, entry.value, entry.file.removeprefix(f"{root}/"), entry.line) for entry in composed.entries
        ] == [
            ("actor.lr", 5, "config.yaml", 5),
            ("actor.name", "dp", "actor/dp.yaml", 2),
            ("n", 1, "config.yaml", 6),
        ]
        assert composed.files == [str(root / "config.yaml"), str(root / "actor/dp.yaml")]
        assert composed.choices == {"actor": "dp"}

    def test_a_parent_from_the_installed_package_is_named(self, project):
        """verl-recipe's DAPO config: verl's own ppo_trainer is not part of the recipe."""
        root = project(
            config_yaml="hydra:\n  searchpath:\n    - pkg://verl.trainer.config\n"
            "defaults:\n  - ppo_trainer\n  - _self_\nreward: {name: dapo}\n"
        )
        document = read_yaml((root / "config.yaml").read_text(), str(root / "config.yaml"))
        loader = ProjectLoader(root, document)
        composed = compose(document, loader)
        assert composed.missing == ["ppo_trainer"]
        assert composed.notes == [
            "`ppo_trainer` of the defaults list is not in the project; its settings are not known here"
        ]
        assert loader.outside == ["pkg://verl.trainer.config"]
        assert composed.data["reward"] == {"name": "dapo"}

    @pytest.mark.parametrize("place", ["pkg://verl.trainer.config", "file://verl/trainer/config"])
    def test_a_search_path_inside_the_project(self, project, place):
        root = project(
            recipe__dapo_yaml=f"hydra: {{searchpath: ['{place}']}}\ndefaults: [ppo_trainer, _self_]\na: 1\n",
            verl__trainer__config__ppo_trainer_yaml="a: 0\nb: 2\n",
        )
        composed = self.composed(root, "recipe/dapo.yaml")
        assert (composed.data["a"], composed.data["b"], composed.missing) == (1, 2, [])

    def test_nemo_rl_parents_are_files(self, project):
        root = project(
            base_yaml="grpo: {n: 1, k: 1}\npolicy:\n  optimizer: {lr: 1.0, eps: 2.0}\n  gen: {a: 1}\n",
            mid_yaml="defaults: base.yaml\ngrpo: {n: 2}\n",
            recipes__llm__child_yaml="defaults: ../../mid.yaml\npolicy:\n  optimizer: null\n  gen: {b: 2}\n",
        )
        composed = self.composed(root, "recipes/llm/child.yaml")
        assert composed.data == {"grpo": {"n": 2, "k": 1}, "policy": {"optimizer": None, "gen": {"a": 1, "b": 2}}}
        assert composed.missing == []

    def test_nemo_rl_sections_that_start_anew(self, project):
        root = project(
            base_yaml="grpo: {n: 1, k: 1}\npolicy: {a: 1}\n",
            child_yaml="defaults: [base.yaml]\ngrpo: {_override_: true, n: 2}\n",
        )
        assert self.composed(root, "child.yaml").data == {"grpo": {"n": 2}, "policy": {"a": 1}}

    def test_without_defaults_nothing_changes(self, project):
        root = project(config_yaml="a: 1\nb: {c: [1]}\n")
        document = read_yaml("a: 1\nb: {c: [1]}\n", str(root / "config.yaml"))
        composed = compose(document, ProjectLoader(root, document))
        assert isinstance(composed, Document)
        assert (composed.data, composed.entries, composed.lints) == (document.data, document.entries, document.lints)

    def test_any_function_can_load(self):
        document = read_yaml("defaults: [x]\na: 1\n", "config.yaml")
        composed = compose(document, lambda name: read_yaml("b: 2\n", f"{name}.yaml") if name == "x" else None)
        assert composed.data == {"b": 2, "a": 1}


def test_nemo_rl_arithmetic_is_known_to_those_who_pass_it():
    tree = {"a": 4096, "b": "${mul:${a}, 2}", "c": "${div:${a},8}", "d": "${max:1,${a}}", "e": "${mul:${nope},2}"}
    assert interpolate(tree, NEMO_RL_RESOLVERS) == tree | {
        "b": 8192,
        "c": 512.0,
        "d": 4096,
        "e": Unresolved("mul:${nope},2", ("${nope}",)),
    }
    assert interpolate(tree)["b"] == Unresolved("${mul:${a}, 2}", ("${mul:${a}, 2}",))


def test_overrides_that_refer_to_the_tree_are_resolved_in_it():
    value = parse_override("trainer.dir=out/${trainer.name}").value
    assert interpolate({"trainer": {"dir": value, "name": "x"}})["trainer"]["dir"] == "out/x"


def test_a_shell_variable_is_never_taken_for_a_reference():
    value = parse_override("trainer.dir=${name}", unknown=("name",)).value
    assert interpolate({"name": "x", "dir": value})["dir"] == Unresolved("${name}", ("name",))


def test_the_environment_is_never_read(monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    text = "${oc.env:SECRET}"
    assert interpolate({"a": text})["a"] == Unresolved(text, (text,))


def test_interpolation_leaves_its_input_alone():
    tree = {"a": "${b}", "b": [1], "c": {"d": "${a}"}}
    assert interpolate(tree) == {"a": [1], "b": [1], "c": {"d": [1]}}
    assert tree == {"a": "${b}", "b": [1], "c": {"d": "${a}"}}
